"""One picture: how many flights keep the limit they were promised, by group and by month."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from multivalid.demo import flights as data

COLORS = {"before": "#ad5000", "after": "#0068a8"}
WORST = 9


def draw(before: Any, after: Any, monthly: dict[str, list[float]], path: Path) -> None:
    """The groups that were farthest off with their intervals, and the year month by month."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained", dpi=120)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    order = np.argsort(-np.nan_to_num(np.abs(before.table["gap"])) * np.isin(before.table["name"], before.off), kind="stable")[
        :WORST
    ][::-1]
    places = np.arange(order.size)
    for audit, shift, (when, color) in zip((before, after), (0.16, -0.16), COLORS.items(), strict=True):
        gap, low, high = (100 * (data.TAU + audit.table[name][order]) for name in ("gap", "gap_low", "gap_high"))
        label = f"{'the model' if when == 'before' else 'corrected'}, with 95 % interval"
        left.errorbar(gap, places + shift, xerr=(gap - low, high - gap), fmt="o", color=color, label=label, markersize=4)
    left.set_yticks(places, [str(name) for name in before.table["name"][order]])
    left.set(title="July to December: the groups that were farthest off", xlabel="flights that kept their limit, %")
    months = np.arange(1, 13)
    for name, color, label in (
        ("model", COLORS["before"], "the plain model"),
        ("online", COLORS["after"], "learning flight by flight"),
    ):
        right.plot(months, 100 * np.array(monthly[name]), "o-", color=color, label=label, markersize=4)
    right.set(title="The year, one flight at a time", xlabel="month", xticks=months, ylabel="flights that kept their limit, %")
    for axes, line in ((left, left.axvline), (right, right.axhline)):
        line(100 * data.TAU, color="#555555", linewidth=1, linestyle="--")
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(path)
