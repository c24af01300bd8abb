"""A backtest in words, in a table for a terminal, and as plain data for a page."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.cells.short_names import WIDEST, short_names
from multivalid.levels import SIGNIFICANCE

Table = dict[str, NDArray[Any]]


def verdict(table: Table) -> str:
    """How many groups fail, and how many cannot be told."""
    groups = len(table["name"])
    off = int((table["p_adjusted"] <= SIGNIFICANCE).sum())
    under = int((table["one_sided_adjusted"] <= SIGNIFICANCE).sum())
    unknown = int(np.isnan(table["p_value"]).sum())
    left = f"; {unknown} cannot be told" if unknown else ""
    return f"{off} of {groups} groups miscalibrated at 5 % (two-sided), {under} with risk understated (one-sided){left}; Holm over groups."


def off(table: Table) -> list[str]:
    """Names of the groups that fail either test, worst first."""
    fails = (table["p_adjusted"] <= SIGNIFICANCE) | (table["one_sided_adjusted"] <= SIGNIFICANCE)
    return [str(table["name"][i]) for i in order(table) if fails[i]]


def order(table: Table) -> list[int]:
    """The groups, worst first; those that cannot be told last."""
    return [int(i) for i in np.lexsort((-np.nan_to_num(table["wald"]), np.nan_to_num(table["p_value"], nan=2.0)))]


def untested(table: Table, i: int) -> str | None:
    """Why the severity of a group was not tested, where it was not."""
    if not np.isnan(table["es_p"][i]):
        return None
    expected = table["expected"][i]
    return f"{table['name'][i]}: {expected:.1f} exceedances expected, {table['exceedances'][i]:g} seen; severity cannot be tested."


def findable(table: Table, i: int) -> str | None:
    """How small an error of ES would have been found."""
    share = table["detectable_es"][i]
    if not np.isfinite(share):
        return None
    return f"{table['name'][i]}: an ES too low by {100 * share:.1f} % would have been found in four cases of five."


def summary(table: Table, tau: float, losses: bool, k: int, widest: int | None = WIDEST) -> str:
    """The verdict, the k worst groups, and what could not be tested."""
    shown = order(table)[:k]
    names = short_names([str(table["name"][i]) for i in shown], widest)
    width = max([len("group"), *map(len, names)])
    lines = [
        f"Backtest of VaR and ES at {tau:g} ({'losses' if losses else 'returns'}). {verdict(table)}",
        "",
        f"{'group':<{width}} {'rows':>8} {'exceed.':>8} {'expected':>9} {'Kupiec p':>9} {'Christ. p':>9} {'severity':>9} "
        f"{'p VaR':>8} {'p ES':>8} {'p (Holm)':>9} {'p under':>8}",
    ]
    for i, name in zip(shown, names, strict=True):
        counted = table["exceedances"].dtype == np.int64
        exceeded = f"{table['exceedances'][i]:,}" if counted else f"{table['exceedances'][i]:,.1f}"
        lines.append(
            f"{name:<{width}} {table['rows'][i]:>8,} {exceeded:>8} {table['expected'][i]:>9.1f} "
            f"{_p(table['kupiec_p'][i]):>9} {_p(table['christoffersen_p'][i]):>9} {_p(table['severity'][i], '.3g'):>9} "
            f"{_p(table['var_p'][i]):>8} {_p(table['es_p'][i]):>8} {_p(table['p_adjusted'][i]):>9} {_p(table['one_sided_adjusted'][i]):>8}"
        )
    notes = [note for i in shown if (note := untested(table, i))]
    everyone = findable(table, 0)
    legend = ["severity: mean loss beyond VaR in units of ES − VaR, 1 is right.", *([everyone] if everyone else []), *notes]
    return "\n".join([*lines, "", *legend])


def _p(value: float, form: str = ".2g") -> str:
    return "–" if np.isnan(value) else format(float(value), form)


def content(table: Table, tau: float, losses: bool, title: str) -> dict[str, Any]:
    """Everything that a page shows, worst group first."""
    groups = [{name: column[i].item() for name, column in table.items()} for i in order(table)]
    notes = [note for i in order(table) for note in (untested(table, i), findable(table, i)) if note]
    return {
        "kind": "multivalid.backtest", "version": 1, "title": title, "tau": tau, "losses": losses, "verdict": verdict(table),
        "groups": groups, "notes": notes,
    }  # fmt: skip
