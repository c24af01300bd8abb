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
    prediction: options.Predictions,
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV or Parquet file to write.")],
    column: Annotated[str | None, typer.Option("--column", help="Name of the new column; commas between several.")] = None,
    json: options.Json = False,
) -> None:
    """Add calibrated predictions to new rows.

    Example: multivalid apply flights.csv --model m.json --prediction p --output better.csv
    """
    check_output(output, ".csv", ".parquet", ".pq")
    made = mv.load(model)
    columns = prediction_columns(prediction, made.property)
    names = made.output_names(
        None if column is None else [name.strip() for name in column.split(",")] if len(columns) > 1 else column
    )
    with data.open(numbers=columns) as store, tables.busy("applying …", json), outputs() as out:
        rows = store.rows
        for name in names:
            if name in rows.columns:
                raise usage(f"--column {name!r} is already a column of the data; choose another name.")
        count = rows.count("*").fetchall()[0][0]
        predicted = columns if len(columns) > 1 else columns[0]
        write_rows(made.predict(predicted, data=rows, output=names if len(names) > 1 else names[0]), out.place(output))
    if json:
        print_json({"rows": count, "output": str(output)})
    else:
        typer.echo(f"{count:,} rows with {', '.join(map(repr, names))} written to {output}")
