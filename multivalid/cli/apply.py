"""multivalid apply: a fitted model on new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import multivalid as mv
from multivalid.cli import options, tables
from multivalid.cli.arguments import prediction_columns
from multivalid.cli.exits import usage
from multivalid.cli.json_output import print_json
from multivalid.cli.reading import Data
from multivalid.cli.writing import check_output, outputs, write_rows


def apply(
    data: Data,
    model: Annotated[Path, typer.Option("--model", "-m", help="A model that fit wrote.")],
    prediction: options.Prediction,
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV or Parquet file to write.")],
    column: Annotated[str, typer.Option("--column", help="Name of the new column.")] = "calibrated",
    json: options.Json = False,
) -> None:
    """Add calibrated predictions to new rows.

    Example: multivalid apply flights.csv --model m.json --prediction p --output better.csv
    """
    check_output(output, ".csv", ".parquet", ".pq")
    made = mv.load(model)
    columns = prediction_columns(prediction, made.property)
    if len(columns) > 1:
        raise usage(f"{model} is a model of a pair; apply it in Python, with mv.load(...).predict(...).")
    with data.open(numbers=columns) as store, tables.busy("applying …", json), outputs() as out:
        rows = store.rows
        if column in rows.columns:
            raise usage(f"--column {column!r} is already a column of the data; choose another name.")
        count = rows.count("*").fetchall()[0][0]
        write_rows(made.predict(prediction, data=rows, output=column), out.place(output))
    if json:
        print_json({"rows": count, "output": str(output)})
    else:
        typer.echo(f"{count:,} rows with {column!r} written to {output}")
