"""multivalid audit: for which groups predictions are off."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import multivalid as mv
from multivalid.cells.sentences import unknown_lines
from multivalid.cli import gates, options, tables
from multivalid.cli.arguments import group_items, label_numbers, limit, prediction_columns, target_named
from multivalid.cli.exits import usage
from multivalid.cli.json_output import print_json
from multivalid.cli.labels import LabelOptions
from multivalid.cli.reading import Data
from multivalid.cli.writing import check_report, outputs


def audit(
    data: Data,
    label: options.Label,
    prediction: options.Predictions,
    groups: options.Groups = None,
    missing: options.Missing = "group",
    positive: options.Positive = None,
    missing_rows: options.MissingRows = "refuse",
    property: options.Prop = "mean",
    weight: options.Weight = None,
    model: Annotated[Path | None, typer.Option("--model", "-m", help="Audit the predictions of this model instead.")] = None,
    cluster: options.Cluster = None,
    fail_above: options.Fail = None,
    fail_if_off: options.FailIfOff = False,
    report: options.Report = None,
    top: options.Top = 10,
    json: options.Json = False,
) -> None:
    """For which groups are the predictions off, by how much, and is it noise?

    Example: multivalid audit flights.csv --label delay --prediction p --groups origin --groups "hour >= 18" --property quantile:0.9
    """
    if model is not None and groups:
        raise usage("--model brings its own groups; leave --groups out.")
    fitted = None if model is None else mv.load(model)
    target = target_named(property) if fitted is None else fitted.property
    items, most, labels = group_items(groups), limit(fail_above), LabelOptions(positive, missing_rows, missing)
    columns = prediction_columns(prediction, target)
    check_report(report)
    with (
        data.open(numbers=[*labels.numeric(label_numbers(label, target)), *columns, weight]) as store,
        tables.busy("auditing …", json),
        outputs() as out,
    ):
        predicted = columns if len(columns) > 1 else columns[0]
        rows, asked = labels.accept(store.rows, label, items)
        if fitted is not None:
            found = fitted.audit(label, predicted, data=rows, sample_weight=weight, cluster=cluster)
        else:
            found = mv.audit(label, predicted, groups=asked, data=rows, property=target, sample_weight=weight, cluster=cluster)
        if report is not None:
            found.report(out.place(report), settings=data.settings)
    remarks = list(dict.fromkeys([*asked.notes, *found.groups.notes]))
    notes = [*remarks, *([f"Report: {report}"] if report else [])]
    if json:
        print_json(
            {
                "error": found.error,
                "verdict": found.verdict,
                "off": found.off,
                "said": found.headlines,
                "groups": found.table,
                "notes": remarks,
            }
        )
    else:
        _print(found, f"{property} of {label}, predicted by {prediction}", top, notes)
    gates.error_above(found, most)
    gates.any_off(found.off, fail_if_off)


def _print(found: Any, title: str, top: int, notes: list[str]) -> None:
    if len(found.coordinates) > 1:
        tables.lines([*found.summary(widest=tables.widest()).splitlines(), *notes])
        return
    sentences = [*found.headlines[:top], *unknown_lines(found.table, found.coordinates[0].units)]
    tables.lines([f"{title}: {found.table['rows'][0]:,} rows", found.verdict, *sentences])
    tables.console().print(tables.audit_table(found, top))
    tables.lines(notes)
