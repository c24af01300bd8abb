"""The commands put together; each has a file of its own, with its options and what it does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from multivalid.cli.apply import apply
from multivalid.cli.audit import audit
from multivalid.cli.backtest import backtest
from multivalid.cli.demo import demo
from multivalid.cli.discover import discover
from multivalid.cli.exits import CODES, end, guarded
from multivalid.cli.export_sql import sql
from multivalid.cli.fit import fit
from multivalid.cli.monitor import monitor
from multivalid.cli.options import reads_data
from multivalid.cli.replay import replay
from multivalid.cli.report import report
from multivalid.cli.scope import scope

app = typer.Typer(
    name="multivalid", no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    help=f"Predictions that are right on average for every group you name.\n\n{CODES}",
)  # fmt: skip
online = typer.Typer(no_args_is_help=True, help="One outcome at a time.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False) -> None:
    if show:
        import multivalid
        from multivalid.kernels import library

        loops = "compiled" if library.available() else "in NumPy: no compiled library here"
        typer.echo(f"multivalid {multivalid.__version__} (inner loops {loops})")
        raise typer.Exit


def add(command: Callable[..., Any], to: typer.Typer = app) -> None:
    """A command under its own name; one with a parameter `data` gets the options that say what to read."""
    wanted = reads_data(command) if "data" in command.__annotations__ else command
    to.command(command.__name__)(guarded(wanted))


for one in (audit, discover, fit, apply, sql, backtest, monitor, scope, report, demo):
    add(one)
add(replay, to=online)
app.add_typer(online, name="online")


def run(words: Sequence[str] | None = None) -> None:
    """Run the command line and end with its code."""
    try:
        app(None if words is None else list(words), prog_name="multivalid")
    except SystemExit as stop:
        if isinstance(stop.__context__, OSError):  # help that nobody reads: not a finding
            end(stop.__context__)
        raise
