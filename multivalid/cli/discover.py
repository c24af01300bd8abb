"""multivalid discover: for whom predictions are off, when nobody has named the groups."""

from __future__ import annotations

from typing import Annotated

import typer

import multivalid as mv
from multivalid.cli import gates, options, tables
from multivalid.cli.arguments import group_items, prediction_columns, target_named
from multivalid.cli.json_output import print_json
from multivalid.cli.labels import LabelOptions
from multivalid.cli.reading import Data
from multivalid.cli.writing import check_report, outputs

Features = Annotated[
    str | None,
    typer.Option("--features", help="Columns to search in, with commas between; all but label and weight when not given."),
]
FailIfOff = Annotated[bool, typer.Option("--fail-if-off", help="End with code 1 when a group is off beyond chance.")]


def discover(
    data: Data,
    label: options.Label,
    prediction: options.Predictions,
    features: Features = None,
    groups: options.Groups = None,
    missing: options.Missing = "group",
    positive: options.Positive = None,
    missing_rows: options.MissingRows = "refuse",
    property: options.Prop = "mean",
    weight: options.Weight = None,
    cluster: options.Cluster = None,
    depth: Annotated[int, typer.Option("--depth", help="Most conditions in a group.", min=1, max=3)] = 3,
    most: Annotated[int, typer.Option("--most", help="Most groups to test.", min=1)] = 20,
    fail_if_off: FailIfOff = False,
    report: options.Report = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """For whom are the predictions off, when nobody has named the groups? Found on one part of the rows, tested on the other.

    Example: multivalid discover flights.csv --label delay --prediction p --features origin,hour --property quantile:0.9
    """
    target, items, labels = target_named(property), group_items(groups), LabelOptions(positive, missing_rows, missing)
    columns = prediction_columns(prediction, target)
    names = column_names(features)
    check_report(report)
    with (
        data.open(numbers=[*labels.numeric([label]), *columns, weight]) as store,
        tables.busy("searching …", json),
        outputs() as out,
    ):
        predicted = columns if len(columns) > 1 else columns[0]
        rows, asked = labels.accept(store.rows, label, items)
        rows = rows if cluster is None else rows.to_arrow_table()  # clusters are kept whole, in memory
        found = mv.discover(
            label, predicted, data=rows, features=names, property=target, groups=asked, depth=depth, most=most,
            sample_weight=weight, cluster=cluster, random_state=seed,
        )  # fmt: skip
        if report is not None:
            found.report(out.place(report), settings=data.settings)
    if json:
        print_json({
            "groups": found.groups, "table": {name: column for name, column in found.table.items() if name != "place"},
            "smallest": found.smallest, "notes": found.notes,
        })  # fmt: skip
    else:
        tables.lines([*found.summary().splitlines(), *([f"Report: {report}"] if report else [])])
    gates.any_off(found.groups, fail_if_off)


def column_names(text: str | None) -> list[str] | None:
    """Names with commas between them."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
