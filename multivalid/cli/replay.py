"""multivalid online replay: history, one row at a time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import multivalid as mv
from multivalid.cli import options, tables
from multivalid.cli.arguments import group_items, property_named
from multivalid.cli.engine_names import column, unused
from multivalid.cli.exits import bad_data
from multivalid.cli.json_output import print_json
from multivalid.cli.reading import Data
from multivalid.cli.writing import check_output, outputs, write_rows


def replay(
    data: Data,
    label: options.Label,
    groups: options.Groups = None,
    property: options.Prop = "mean",
    base: Annotated[str | None, typer.Option("--prediction", "-p", help="Column with a model's predictions to start from.")] = None,
    time: Annotated[str | None, typer.Option("--time", help="Column to sort by.")] = None,
    levels: Annotated[int | None, typer.Option("--levels", help="Number of buckets; 20 when not given.", min=2)] = None,
    low: Annotated[
        float | None, typer.Option("--low", help="Least label; with neither end given the range is learnt on the way.")
    ] = None,
    high: Annotated[float | None, typer.Option("--high", help="Greatest label; that of the data when only --low is given.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="CSV or Parquet file with the predictions.")] = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Run through history one row at a time, each prediction made before its outcome is known.

    Example: multivalid online replay flights.csv --label delay --groups origin --property quantile:0.9
    """
    prop, items = property_named(property), group_items(groups)
    check_output(output, ".csv", ".parquet", ".pq")
    with data.open(numbers=[label, base]) as store, outputs() as out:
        with tables.busy("reading …", json):  # not beside the bar that follows: both would write to the same line
            table = _table(store.rows, label)
            made = mv.OnlineMulticalibrator(
                prop, mv.Groups(items).fit(table), m=levels, labels=_range(store.rows, label, low, high), seed=seed
            )
        predictions = made.replay(table, label, base=base, time=time, progress=sys.stderr.isatty() and not json)
        if output is not None:
            import pyarrow as pa

            extended = table.append_column(unused("predicted", table.column_names), pa.array(predictions))
            write_rows(store.connection.from_arrow(extended), out.place(output))
    if json:
        print_json({"rounds": made.rounds, "error": made.error(), "bound": made.bound()})
    else:
        typer.echo(made.summary())


def _table(rows: Any, label: str) -> Any:
    if label not in rows.columns:
        raise bad_data(f"--label {label!r} is not a column of the data; columns: {', '.join(rows.columns[:20])}.")
    return rows.to_arrow_table()


def _range(rows: Any, label: str, low: float | None, high: float | None) -> tuple[float, float] | None:
    """An end that is not given is that of the data; with neither the range is learnt."""
    if low is None and high is None:
        return None
    least, most = rows.aggregate(f"min({column(label)}), max({column(label)})").fetchall()[0]
    return (least if low is None else low, most if high is None else high)
