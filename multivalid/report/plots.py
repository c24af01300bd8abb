"""Each figure of the report alone, on a matplotlib axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.report import figures
from multivalid.report.page import need
from multivalid.report.readings import reading_of
from multivalid.report.sentences import number
from multivalid.report.sources import Audited

LINE = "#0068a8"


def axis(ax: Any) -> Any:
    """The axis to draw on; a new one when none is given."""
    return need("matplotlib.pyplot", "a figure").subplots(layout="constrained")[1] if ax is None else ax


def reliability(audit: Audited, group: str | None = None, *, ax: Any = None, label: str | None = None, color: str = LINE) -> Any:
    """Observed against predicted for one group (the worst when None), with a 95 % band."""
    reading = reading_of(audit.property)
    name = figures.worst_groups(audit, 1)[0] if group is None else _known(audit, group)
    found = figures.curve(audit, name)
    ax = axis(ax)
    x = np.asarray(found["prediction"])
    if reading.target is None:
        ax.axline((float(x[0]), float(x[0])), slope=1, color="black", linestyle="--", linewidth=1)
    else:
        ax.axhline(reading.target, color="black", linestyle="--", linewidth=1)
    ax.fill_between(x, found["low"], found["high"], color=color, alpha=0.18, linewidth=0)
    ax.plot(x, found["observed"], color=color, marker="s", markersize=4, label=label)
    ax.set(xlabel="prediction", ylabel=reading.axis, title=name)
    return ax


def heatmap(audit: Audited, groups: Sequence[str] | int = figures.MAP_GROUPS, *, ax: Any = None) -> Any:
    """Group × level of mean V in standard errors: orange where predictions are too high, blue where too low."""
    names = figures.worst_groups(audit, groups) if isinstance(groups, int) else [_known(audit, name) for name in groups]
    (found,) = figures.without_empty([figures.heatmap(audit, names)])
    ax = axis(ax)
    picture = ax.imshow(found["z"], cmap="PuOr_r", vmin=-5, vmax=5, aspect="auto", interpolation="nearest")
    ax.set_yticks(range(len(names)), names)
    every = max(1, len(found["levels"]) // 8)
    ax.set_xticks(range(0, len(found["levels"]), every), [number(lo) for lo, _ in found["levels"][::every]])
    ax.set(xlabel="prediction", title="mean V in standard errors")
    ax.figure.colorbar(picture, ax=ax, extend="both")
    return ax


def groups(audit: Audited, k: int = 15, *, ax: Any = None) -> Any:
    """The k largest errors as bars."""
    order = np.argsort(-audit.table["error"], kind="stable")[:k][::-1]
    ax = axis(ax)
    ax.barh([str(name) for name in audit.table["name"][order]], audit.table["error"][order], color=LINE)
    ax.set(xlabel="error", title="Groups with the largest error")
    return ax


def potential(values: NDArray[np.float64], *, ax: Any = None) -> Any:
    """The mean score after each update."""
    ax = axis(ax)
    ax.plot(np.arange(values.size), values, color=LINE, marker="s" if values.size <= 30 else None, markersize=4)
    ax.set(xlabel="update", ylabel="mean score", title="Potential")
    return ax


def _known(audit: Audited, group: str) -> str:
    if group not in set(map(str, audit.table["name"])):
        raise InputError(f"group must be the name of a group of the audit, got {group!r}; audit.table['name'] lists them.")
    return group
