"""multivalid report: a page for a colleague."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import multivalid as mv
from multivalid.cli import options, tables
from multivalid.cli.arguments import group_items, label_numbers, prediction_columns, target_named
from multivalid.cli.labels import LabelOptions
from multivalid.cli.reading import Data
from multivalid.cli.writing import check_report, outputs


def report(
    data: Data,
    label: options.Label,
    prediction: options.Predictions,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="HTML file to write; its numbers go beside it to NAME.report.json.")
    ],
    model: Annotated[Path | None, typer.Option("--model", "-m", help="Compare with the predictions of this model.")] = None,
    groups: options.Groups = None,
    missing: options.Missing = "group",
    positive: options.Positive = None,
    missing_rows: options.MissingRows = "refuse",
    property: options.Prop = "mean",
    weight: options.Weight = None,
) -> None:
    """Write a page for a colleague: what is off, for whom, and what calibration did about it.

    A pair has two columns: --prediction var,es --property quantile_cvar:0.975

    Example: multivalid report flights.csv --label delay --prediction p --groups origin --property quantile:0.9 --output r.html
    """
    check_report(output)
    target, items, labels = target_named(property), group_items(groups), LabelOptions(positive, missing_rows, missing)
    fitted = None if model is None else mv.load(model)
    target = target if fitted is None else fitted.property
    columns = prediction_columns(prediction, target)
    with (
        data.open(numbers=[*labels.numeric(label_numbers(label, target)), *columns, weight]) as store,
        tables.busy("writing …", False),
        outputs() as out,
    ):
        predicted = columns[0] if len(columns) == 1 else columns
        rows, asked = labels.accept(store.rows, label, items)
        rows = rows if len(columns) == 1 else rows.to_arrow_table()  # pairs are audited in memory
        if fitted is None:
            found = mv.audit(label, predicted, groups=asked, data=rows, property=target, sample_weight=weight)
            found.report(out.place(output), settings=data.settings)
        else:
            fitted.report(
                out.place(output),
                label,
                predicted,
                data=rows,
                sample_weight=weight,
                settings={**data.settings, "model": str(model)},
            )
    typer.echo(f"Report: {output}")
