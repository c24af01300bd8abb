"""multivalid backtest: value at risk and expected shortfall together."""

from __future__ import annotations

from typing import Annotated

import typer

import multivalid as mv
from multivalid.cli import gates, options, tables
from multivalid.cli.arguments import group_items, option
from multivalid.cli.json_output import print_json
from multivalid.cli.reading import Data
from multivalid.cli.writing import check_report, outputs
from multivalid.validate import fraction


def backtest(
    data: Data,
    label: options.Label,
    var: Annotated[str, typer.Option("--var", help="Column with value at risk.")],
    es: Annotated[str, typer.Option("--es", help="Column with expected shortfall.")],
    tau: Annotated[float, typer.Option("--tau", help="Confidence level.")],
    groups: options.Groups = None,
    weight: options.Weight = None,
    returns: Annotated[bool, typer.Option("--returns", help="Labels are returns, not losses.")] = False,
    lags: Annotated[int, typer.Option("--lags", help="Neighbours in time that may be related.", min=0)] = 0,
    cluster: options.Cluster = None,
    fail_if_off: options.FailIfOff = False,
    report: options.Report = None,
    json: options.Json = False,
) -> None:
    """Are value at risk and expected shortfall right together, for every group?

    Example: multivalid backtest losses.csv --label loss --var var --es es --tau 0.975 --groups desk
    """
    level, items = option(fraction, tau, "--tau"), group_items(groups)
    check_report(report)
    with data.open(numbers=[label, var, es, weight]) as store, tables.busy("testing …", json), outputs() as out:
        table = store.rows.to_arrow_table()
        found = mv.backtest(
            label,
            var,
            es,
            tau=level,
            groups=items,
            data=table,
            sample_weight=weight,
            losses=not returns,
            lags=lags,
            cluster=cluster,
        )
        if report is not None:
            found.report(out.place(report))
    if json:
        print_json({"tau": tau, "verdict": found.verdict, "groups": found.table})
    else:
        typer.echo(found.summary(widest=tables.widest()))
        tables.lines([f"Report: {report}"] if report else [])
    gates.any_off(found.off, fail_if_off)
