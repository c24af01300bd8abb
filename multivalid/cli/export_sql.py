"""multivalid sql: a fitted model as one SELECT."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import multivalid as mv
from multivalid.cli.exits import usage
from multivalid.cli.writing import check_output
from multivalid.sql.dialects import DIALECTS
from multivalid.storage import write_text


def sql(
    model: Annotated[Path, typer.Argument(help="A model that fit wrote.")],
    table: Annotated[str, typer.Option("--table", "-t", help="Table or view to read, with its schema if need be.")],
    prediction: Annotated[
        str, typer.Option("--prediction", "-p", help="Column with the model's predictions; commas between several.")
    ] = "prediction",
    dialect: Annotated[str, typer.Option("--dialect", help="duckdb, sqlite, postgres or spark.")] = "duckdb",
    column: Annotated[str | None, typer.Option("--column", help="Name of the new column; commas between several.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write; printed when not given.")] = None,
) -> None:
    """Write one SELECT that adds calibrated predictions to a table, for a database without this library.

    Example: multivalid sql m.json --table scores --prediction p --dialect postgres
    """
    check_output(output)
    if dialect not in DIALECTS:
        raise usage(f"--dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}.")
    made = mv.load(model)
    if not isinstance(made, mv.Calibration):
        raise usage(f"{model} is not a calibration; sql takes a model that fit wrote.")
    names = None if column is None else column.split(",")
    text = made.to_sql(table, prediction.split(","), dialect=dialect, output=names) + "\n"
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_text(output, text)
