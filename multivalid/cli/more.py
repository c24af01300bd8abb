"""Backtest, scope, online replay, report and demo: thin faces of the library."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import typer

import multivalid as mv
from multivalid.cli import run, show
from multivalid.cli.exits import bad_data, usage
from multivalid.cli.files import check_output, store, write
from multivalid.cli.words import any_property_named, as_json, group_item, property_named, two_columns


def needed(name: str) -> Any:
    """A public name of the library; an error in one line where this installation lacks it."""
    found = getattr(mv, name, None)
    if found is None or not callable(found):
        raise usage(f"this installation of multivalid has no {name}; install a newer version.")
    return found


def backtest(
    data: list[str],
    label: str,
    var: str,
    es: str,
    tau: float,
    groups: list[str] | None,
    weight: str | None,
    losses: bool,
    lags: int,
    json: bool,
    memory: str,
) -> None:
    """Test value at risk and expected shortfall together."""
    function, items = needed("backtest"), [group_item(text) for text in groups or []]
    with store(memory) as files, show.busy("testing …", json):
        table = files.open(data, numbers=[label, var, es, *([weight] if weight else [])]).to_arrow_table()
        found = function(label, var, es, tau=tau, groups=items, data=table, sample_weight=weight, losses=losses, lags=lags)
    typer.echo(as_json({"tau": tau, "groups": found.table}) if json else found.summary())


def scope(text: str, json: bool) -> None:
    """Say what is possible for a property."""
    function = needed("scope")
    try:
        verdict = function(text)
    except mv.MultivalidError as error:
        raise usage(str(error)) from None
    if json:
        names = ("status", "reason", "partner", "hypotheses", "cite")
        typer.echo(as_json({name: getattr(verdict, name, None) for name in names}))
        return
    typer.echo(verdict.summary() if hasattr(verdict, "summary") else str(verdict))


def replay(
    data: list[str],
    label: str,
    groups: list[str] | None,
    property: str,
    base: str | None,
    time: str | None,
    levels: int | None,
    ends: tuple[float | None, float | None],
    output: Path | None,
    seed: int,
    json: bool,
    memory: str,
) -> None:
    """Run an online learner through the rows."""
    learner, prop, items = needed("OnlineMulticalibrator"), property_named(property), [group_item(text) for text in groups or []]
    check_output(output, ".csv", ".parquet", ".pq")
    with store(memory) as files, show.busy("replaying …", json):
        rows = files.open(data, numbers=[label, base])
        if label not in rows.columns:
            raise bad_data(f"--label {label!r} is not a column of the data; columns: {', '.join(rows.columns[:20])}.")
        table = rows.to_arrow_table()
        low, high = rows.aggregate(f'min("{label}"), max("{label}")').fetchall()[0]
        labels = (low if ends[0] is None else ends[0], high if ends[1] is None else ends[1])
        fitted = mv.Groups(items).fit(table)
        made = learner(prop, fitted, m=levels, labels=labels, seed=seed)
        predictions = made.replay(table, label, base=base, time=time)
        if output is not None:
            import pyarrow as pa

            extended = table.append_column("predicted", pa.array(predictions))  # noqa: F841 - the engine finds it by its name
            write(files.connection.sql("SELECT * FROM extended"), output)
    found = {"rounds": made.rounds, "error": made.error(), "bound": made.bound()}
    typer.echo(as_json(found) if json else made.summary())


def report(
    data: list[str],
    label: str,
    prediction: str,
    output: Path,
    model: Path | None,
    groups: list[str] | None,
    property: str,
    weight: str | None,
    memory: str,
) -> None:
    """Write the page."""
    check_output(output, ".html", ".json")
    prop, items = any_property_named(property), [group_item(text) for text in groups or []]
    fitted = None if model is None else mv.load(model)
    columns = two_columns(prediction) if isinstance(prop if fitted is None else fitted.property, mv.Pair) else prediction
    with store(memory) as files, show.busy("writing …", False):
        rows = files.open(data, numbers=[label, *([columns] if isinstance(columns, str) else columns), weight])
        if not isinstance(columns, str):
            rows = rows.to_arrow_table()  # pairs are audited in memory
        if fitted is None:
            found: Any = mv.audit(label, columns, groups=items, data=rows, property=prop, sample_weight=weight)
            run.write_report(found, output)
        else:
            fitted.report(output, label, columns, data=rows, sample_weight=weight)
    typer.echo(f"Report: {output}")


def demo() -> None:
    """The demonstration, where it is installed."""
    try:
        module = import_module("multivalid.demo.story")
    except ImportError:
        raise usage("the demonstration is not part of this installation; in a clone of the project run: make demo") from None
    module.main([])
