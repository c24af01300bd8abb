"""multivalid audit: for which groups predictions are off."""

from __future__ import annotations

from typing import Any

import multivalid as mv
from multivalid.cli import gates, options, tables
from multivalid.cli.arguments import group_items, limit, prediction_columns, target_named
from multivalid.cli.json_output import print_json
from multivalid.cli.reading import Data
from multivalid.cli.writing import check_report, outputs


def audit(
    data: Data,
    label: options.Label,
    prediction: options.Predictions,
    groups: options.Groups = None,
    property: options.Prop = "mean",
    weight: options.Weight = None,
    fail_above: options.Fail = None,
    report: options.Report = None,
    top: options.Top = 10,
    json: options.Json = False,
) -> None:
    """For which groups are the predictions off, by how much, and is it noise?

    Example: multivalid audit flights.csv --label delay --prediction p --groups origin --groups "hour >= 18" --property quantile:0.9
    """
    target, items, most = target_named(property), group_items(groups), limit(fail_above)
    columns = prediction_columns(prediction, target)
    check_report(report)
    with data.open(numbers=[label, *columns, weight]) as store, tables.busy("auditing …", json), outputs() as out:
        predicted = columns if len(columns) > 1 else columns[0]
        found = mv.audit(label, predicted, groups=items, data=store.rows, property=target, sample_weight=weight)
        if report is not None:
            found.report(out.place(report))
    notes = [*found.groups.notes, *([f"Report: {report}"] if report else [])]
    if json:
        print_json({"error": found.error, "verdict": found.verdict, "groups": found.table, "notes": found.groups.notes})
    else:
        _print(found, f"{property} of {label}, predicted by {prediction}", top, notes)
    gates.error_above(found.error, most)


def _print(found: Any, title: str, top: int, notes: list[str]) -> None:
    if isinstance(found, mv.PairAudit):
        tables.lines([*found.summary().splitlines(), *notes])
        return
    tables.lines([f"{title}: {found.table['rows'][0]:,} rows", found.verdict])
    tables.console().print(tables.audit_table(found, top))
    tables.lines(notes)
