"""A backtest for people: one page with its numbers beside it, and a figure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.report import files
from multivalid.report.content import plain
from multivalid.report.page import TEMPLATES, environment, need
from multivalid.report.plots import LINE, axis


def write(content: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the page of a backtest, and its numbers beside it."""
    return files.write(plain(content), path, render)


def render(content: dict[str, Any]) -> str:
    """The page for a backtest's dict."""
    made = environment().get_template("backtest.html.j2")
    return str(made.render(report=content, style=(TEMPLATES / "report.css").read_text("utf-8")))


def plot(table: Mapping[str, NDArray[Any]], tau: float, ax: Any = None) -> Any:
    """Exceedances over expected ones, each group with the interval that its rows allow."""
    need("matplotlib.pyplot", "a figure")
    ax = axis(ax)
    names = [str(name) for name in table["name"]][::-1]
    rows, seen = table["rows"][::-1].astype(float), table["exceedances"][::-1].astype(float)
    scale = table["expected"][::-1] / np.maximum((1 - tau) * rows, 1e-300)  # weight per row
    low, high = _exact(seen / np.maximum(scale, 1e-300), rows)
    share = np.divide(seen, table["expected"][::-1], out=np.full(rows.size, np.nan), where=rows > 0)
    place = np.arange(len(names))
    for i in np.flatnonzero(rows > 0):
        ax.plot([low[i] / (1 - tau), high[i] / (1 - tau)], [place[i], place[i]], color=LINE, linewidth=1.5)
    ax.plot(share, place, "s", color=LINE, markersize=5)
    ax.axvline(1.0, color="black", linestyle="--", linewidth=1)
    ax.set_yticks(place, names)
    ax.set(xlabel="exceedances / expected (95 % interval each)", title=f"VaR {tau:g}")
    return ax


def _exact(count: NDArray[np.float64], rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Clopper and Pearson's limits of a rate, each missed with probability 2.5 %."""
    from scipy.special import betaincinv

    some = np.maximum(rows, 1)
    count = np.clip(count, 0, some)
    low = np.where(count > 0, betaincinv(np.maximum(count, 1e-9), some - count + 1, 0.025), 0.0)
    high = np.where(count < some, betaincinv(count + 1, np.maximum(some - count, 1e-9), 0.975), 1.0)
    return low, high
