"""multivalid monitor: have the predictions of some group gone wrong, and since when."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import multivalid as mv
from multivalid.cli import gates, options, signals, tables
from multivalid.cli.arguments import group_items, prediction_columns, target_named
from multivalid.cli.exits import bad_data
from multivalid.cli.json_output import print_json
from multivalid.cli.reading import Data
from multivalid.cli.writing import check_apart, check_output, check_report, outputs


def monitor(
    data: Data,
    label: options.Label,
    prediction: options.Predictions,
    groups: options.Groups = None,
    property: Annotated[str | None, typer.Option("--property", help="What is predicted; mean when not given.")] = None,
    time: Annotated[str | None, typer.Option("--time", help="Column to sort by; without it rows are in order as they are.")] = None,
    low: Annotated[float | None, typer.Option("--low", help="Least label possible.")] = None,
    high: Annotated[float | None, typer.Option("--high", help="Greatest label possible; [0, 1] is meant without both.")] = None,
    delta: Annotated[
        float | None, typer.Option("--delta", help="Allowed chance of a false alarm, ever; 0.05 when not given.")
    ] = None,
    tolerance: Annotated[float | None, typer.Option("--tolerance", help="How far the mean of V may be off zero.")] = None,
    state: Annotated[Path | None, typer.Option("--state", help="Go on from this file, and keep everything in it.")] = None,
    report: options.Report = None,
    json: options.Json = False,
) -> None:
    """Have the predictions of some group gone wrong, and since when? Ends with code 1 if an alarm has been raised.

    For value at risk and expected shortfall: --prediction var,es --property quantile_cvar:0.975

    Example: multivalid monitor data.parquet --label y --prediction p --time day --groups region --groups "age >= 65"
    """
    check_report(report)
    check_output(state)
    check_apart(report, "--state", state)
    settings: dict[str, Any] = {name: value for name, value in (("delta", delta), ("tolerance", tolerance)) if value is not None}
    if low is not None or high is not None:
        settings["labels"] = (low, high)
    going_on = state is not None and state.exists() and not (settings or groups or property)
    items, target = group_items(groups), target_named(property or "mean")
    columns = [name.strip() for name in prediction.split(",")] if going_on else prediction_columns(prediction, target)
    with data.open(numbers=[label, *columns]) as store, tables.busy("watching …", json), outputs() as out, ExitStack() as stack:
        table, moments = _sort(store.rows.to_arrow_table(), time)
        what = () if going_on else (target, mv.Groups(items).fit(table))
        if state is None:
            made: mv.Monitor = mv.Monitor(*what, **settings)
        else:  # once the rows are in the file the command cannot say that nothing was written: it goes on to its end
            stack.enter_context(signals.current.deferred())
            signals.current.check()
            made = stack.enter_context(mv.Monitor.open(state, *what, **settings))
        made.update_many(table, columns if len(columns) > 1 else columns[0], label, time=moments)
        if state is not None:
            signals.current.finish()
        if report is not None:
            made.report(out.place(report), settings={**data.settings, "outcome": label, "prediction": prediction})
        alarms = made.alarms
        answer = {"rounds": made.rounds, "alarms": [alarm.to_json() for alarm in alarms], "groups": made.table()}
        lines = [*made.summary().splitlines(), *([f"Report: {report}"] if report else [])]
    if json:
        print_json(answer)
    else:
        tables.lines(lines)
    if alarms:
        gates.fail(f"{len(alarms)} alarm{'s' if len(alarms) > 1 else ''}; the first is that of {alarms[0].group}.")


def _sort(table: Any, name: str | None) -> tuple[Any, Any]:
    """The rows in the order of their times, and the times."""
    if name is None:
        return table, None
    if name not in table.column_names:
        raise bad_data(f"--time {name!r} is not a column of the data; columns: {', '.join(table.column_names[:20])}.")
    column = table.column(name)
    if column.null_count:
        raise bad_data(f"--time {name!r} has {column.null_count} missing values; drop those rows or fill them in.")
    moments = np.asarray(column.to_numpy())
    if moments.dtype.kind not in "iufM":
        raise bad_data(f"--time {name!r} must hold numbers or dates, got {column.type}.")
    order = np.argsort(moments, kind="stable")
    return table.take(order), moments[order]
