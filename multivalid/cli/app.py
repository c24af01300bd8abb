"""The commands, one function each; what they do is in `run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from multivalid.cli import more, options, run
from multivalid.cli.exits import CODES, guarded

app = typer.Typer(
    name="multivalid", no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    help=f"Predictions that are right on average for every group you name.\n\n{CODES}",
)  # fmt: skip
online = typer.Typer(no_args_is_help=True, help="One outcome at a time.", rich_markup_mode=None)
app.add_typer(online, name="online")


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False) -> None:
    if show:
        import multivalid

        typer.echo(f"multivalid {multivalid.__version__}")
        raise typer.Exit


@app.command("audit")
@guarded
def audit(
    data: options.Files,
    label: options.Label,
    prediction: options.Prediction,
    groups: options.Groups = None,
    property: options.Prop = "mean",
    weight: options.Weight = None,
    fail_above: options.Fail = None,
    report: options.Report = None,
    top: options.Top = 10,
    json: options.Json = False,
    memory: options.Memory = "1GB",
) -> None:
    """For which groups are the predictions off, by how much, and is it noise?

    Example: multivalid audit flights.csv --label delay --prediction p --groups origin --groups "hour >= 18" --property quantile:0.9
    """
    run.audit(data, label, prediction, groups, property, weight, fail_above, report, top, json, memory)


@app.command("fit")
@guarded
def fit(
    data: options.Files,
    label: options.Label,
    prediction: options.Prediction,
    model: Annotated[Path | None, typer.Option("--model", "-m", help="Write the fitted model here (JSON).")] = None,
    groups: options.Groups = None,
    property: options.Prop = "mean",
    weight: options.Weight = None,
    holdout: options.Holdout = None,
    mode: Annotated[str, typer.Option("--mode", help="practical, theorem or paper.")] = "practical",
    alpha: Annotated[float | None, typer.Option("--alpha", help="Error to reach.")] = None,
    levels: Annotated[int | None, typer.Option("--levels", help="Number of levels.", min=1)] = None,
    batched: Annotated[
        bool,
        typer.Option(
            "--batched",
            help="With --mode theorem: rounds of updates, each a pass over the rows; for groups with too many combinations.",
        ),
    ] = False,
    fail_above: options.Fail = None,
    report: options.Report = None,
    top: options.Top = 8,
    seed: options.Seed = 0,
    json: options.Json = False,
    memory: options.Memory = "1GB",
) -> None:
    """Make the predictions right for every group, and say what is guaranteed.

    Example: multivalid fit flights.csv --label delay --prediction p --groups origin --property quantile:0.9 --holdout 0.3 --model m.json
    """
    settings = run.Settings(label, prediction, groups, property, weight, holdout, mode, alpha, levels, seed, batched)
    run.fit(data, settings, model, fail_above, report, top, json, memory)


@app.command("apply")
@guarded
def apply(
    data: options.Files,
    model: Annotated[Path, typer.Option("--model", "-m", help="A model that fit wrote.")],
    prediction: options.Prediction,
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV or Parquet file to write.")],
    column: Annotated[str, typer.Option("--column", help="Name of the new column.")] = "calibrated",
    json: options.Json = False,
    memory: options.Memory = "1GB",
) -> None:
    """Add calibrated predictions to new rows.

    Example: multivalid apply flights.csv --model m.json --prediction p --output better.csv
    """
    run.apply(data, model, prediction, output, column, json, memory)


@app.command("backtest")
@guarded
def backtest(
    data: options.Files,
    label: options.Label,
    var: Annotated[str, typer.Option("--var", help="Column with value at risk.")],
    es: Annotated[str, typer.Option("--es", help="Column with expected shortfall.")],
    tau: Annotated[float, typer.Option("--tau", help="Confidence level.")],
    groups: options.Groups = None,
    weight: options.Weight = None,
    returns: Annotated[bool, typer.Option("--returns", help="Labels are returns, not losses.")] = False,
    lags: Annotated[int, typer.Option("--lags", help="Neighbours in time that may be related.", min=0)] = 0,
    json: options.Json = False,
    memory: options.Memory = "1GB",
) -> None:
    """Are value at risk and expected shortfall right together, for every group?

    Example: multivalid backtest losses.csv --label loss --var var --es es --tau 0.975 --groups desk
    """
    more.backtest(data, label, var, es, tau, groups, weight, not returns, lags, json, memory)


@app.command("scope")
@guarded
def scope(
    property: Annotated[str, typer.Argument(help="A property, such as quantile:0.9, variance, cvar:0.9.")],
    json: options.Json = False,
) -> None:
    """Can this property be calibrated alone, only with a partner, or not at all?

    Example: multivalid scope variance
    """
    more.scope(property, json)


@online.command("replay")
@guarded
def replay(
    data: options.Files,
    label: options.Label,
    groups: options.Groups = None,
    property: options.Prop = "mean",
    base: Annotated[str | None, typer.Option("--prediction", "-p", help="Column with a model's predictions to start from.")] = None,
    time: Annotated[str | None, typer.Option("--time", help="Column to sort by.")] = None,
    levels: Annotated[int | None, typer.Option("--levels", help="Number of levels.", min=1)] = None,
    low: Annotated[float | None, typer.Option("--low", help="Least label; that of the data when not given.")] = None,
    high: Annotated[float | None, typer.Option("--high", help="Greatest label; that of the data when not given.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="CSV or Parquet file with the predictions.")] = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    memory: options.Memory = "1GB",
) -> None:
    """Run through history one row at a time, each prediction made before its outcome is known.

    Example: multivalid online replay flights.csv --label delay --groups origin --property quantile:0.9 --levels 20
    """
    more.replay(data, label, groups, property, base, time, levels, (low, high), output, seed, json, memory)


@app.command("report")
@guarded
def report(
    data: options.Files,
    label: options.Label,
    prediction: options.Predictions,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")],
    model: Annotated[Path | None, typer.Option("--model", "-m", help="Compare with the predictions of this model.")] = None,
    groups: options.Groups = None,
    property: options.Prop = "mean",
    weight: options.Weight = None,
    memory: options.Memory = "1GB",
) -> None:
    """Write a page for a colleague: what is off, for whom, and what calibration did about it.

    A pair has two columns: --prediction var,es --property quantile_cvar:0.975

    Example: multivalid report flights.csv --label delay --prediction p --groups origin --property quantile:0.9 --output r.html
    """
    more.report(data, label, prediction, output, model, groups, property, weight, memory)


@app.command("demo")
@guarded
def demo() -> None:
    """Run the demonstration on real flights.

    Example: multivalid demo
    """
    more.demo()
