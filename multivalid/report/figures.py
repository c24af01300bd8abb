"""The numbers behind each figure, without any drawing: the page and matplotlib both start here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.cells.sentences import worst_first
from multivalid.report.readings import reading_of
from multivalid.report.sources import Audited, Chapter

Z95 = 1.959963984540054
DIAGRAMS = 6  # groups with a reliability diagram
MAP_GROUPS = 24  # rows of the heat map
MAP_LEVELS = 20  # most columns; more levels are taken together in order
TRACE = 400  # points of the potential that a page draws


def worst_groups(audit: Audited, k: int) -> list[str]:
    """The k groups with the largest error."""
    order = worst_first(audit.table)[:k]
    return [str(name) for name in audit.table["name"][order]]


def shown_groups(chapter: Chapter, k: int) -> list[str]:
    """The worst groups of every audit in turn, k in all: those that were off most beside those that remain so."""
    orders = [worst_groups(audit, k) for audit in chapter.audits.values()]
    return list(dict.fromkeys(name for names in zip(*orders, strict=True) for name in names))[:k]


def group_average(audit: Audited) -> NDArray[np.float64]:
    """The reading of each whole group: its observed mean, its coverage, or its mean V."""
    names = {str(name): i for i, name in enumerate(audit.table["name"])}
    index = np.array([names[str(name)] for name in audit.cells["group"]], dtype=np.intp)
    weight, size = audit.cells["weight"], len(names)
    total = np.bincount(index, weights=weight, minlength=size)
    with np.errstate(divide="ignore", invalid="ignore"):
        v = np.bincount(index, weights=weight * audit.cells["identification"], minlength=size) / total
    return reading_of(audit.property).value(audit.table["prediction"], v)


def shows_shares(audit: Audited) -> bool:
    """Whether what is observed is a share: coverage, or how often an outcome of 0 or 1 happened."""
    reading = reading_of(audit.property)
    return reading.percent or (reading.target is None and audit.units.points)


def curve(audit: Audited, group: str) -> dict[str, list[float]]:
    """One group's line: mean prediction per level, what was observed, and a 95 % band around it."""
    inside = audit.cells["group"] == group
    order = np.argsort(audit.cells["prediction"][inside], kind="stable")
    prediction = audit.cells["prediction"][inside][order]
    value = reading_of(audit.property).value(prediction, audit.cells["identification"][inside][order])
    half = Z95 * audit.cells["standard_error"][inside][order]
    least, most = (0.0, 1.0) if shows_shares(audit) else (-np.inf, np.inf)
    return {
        "prediction": prediction.tolist(),
        "observed": value.tolist(),
        "low": np.clip(value - half, least, most).tolist(),
        "high": np.clip(value + half, least, most).tolist(),
        "rows": audit.cells["rows"][inside][order].tolist(),
    }


def reliability(chapter: Chapter, k: int = DIAGRAMS) -> dict[str, Any] | None:
    """Curves of the worst groups, before and after."""
    if chapter.first is None:
        return None
    reading = reading_of(chapter.prop)
    diagrams = [
        {"group": name, "curves": {when: curve(audit, name) for when, audit in chapter.audits.items()}}
        for name in shown_groups(chapter, k)
    ]
    return {"axis": reading.axis, "target": reading.target, "percent": shows_shares(chapter.first), "diagrams": diagrams}


def heatmap(audit: Audited, names: Sequence[str], levels: int = MAP_LEVELS) -> dict[str, Any]:
    """How surprising mean V is, as a normal deviate, for each group and level that has rows; too many levels are joined in order."""
    points = audit.grid.points
    column_of = np.arange(points.size) * min(levels, points.size) // points.size
    columns = int(column_of[-1]) + 1
    row_of = {name: i for i, name in enumerate(names)}
    kept = np.array([str(name) in row_of for name in audit.cells["group"]], dtype=np.bool_)
    row = np.array([row_of[str(name)] for name in audit.cells["group"][kept]], dtype=np.intp)
    column = column_of[np.searchsorted(points, audit.cells["level"][kept])]
    at = row * columns + column
    weight, size = audit.cells["weight"][kept], len(names) * columns
    # Levels taken together: their deviates count as much as their spread.
    spread = np.maximum(weight * audit.cells["standard_error"][kept], 1e-300)
    sum_v = np.bincount(at, weights=spread * np.nan_to_num(audit.cells["z"][kept]), minlength=size)
    variance = np.bincount(at, weights=np.where(np.isnan(audit.cells["z"][kept]), 0.0, spread**2), minlength=size)
    rows = np.bincount(at, weights=audit.cells["rows"][kept], minlength=size).astype(np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(variance > 0, sum_v / np.sqrt(variance), np.nan).reshape(len(names), columns)
    edges = [[float(points[column_of == j][0]), float(points[column_of == j][-1])] for j in range(columns)]
    return {"groups": list(names), "levels": edges, "z": z, "rows": rows.reshape(z.shape)}


def without_empty(maps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The maps without the levels that have rows in none of them; all are on the same levels."""
    filled = np.flatnonzero(np.any([one["rows"].any(axis=0) for one in maps], axis=0))
    return [
        one | {"levels": [one["levels"][j] for j in filled], "z": one["z"][:, filled], "rows": one["rows"][:, filled]}
        for one in maps
    ]


def heatmaps(chapter: Chapter) -> dict[str, Any]:
    """A heat map per audit, the same groups and levels in each, so that one sees cell by cell what changed."""
    if chapter.first is None:
        return {}
    names = shown_groups(chapter, MAP_GROUPS)
    made = {when: heatmap(audit, names) for when, audit in chapter.audits.items()}
    same = all(one["levels"] == made[next(iter(made))]["levels"] for one in made.values())
    kept = without_empty(list(made.values())) if same else [without_empty([one])[0] for one in made.values()]
    return dict(zip(made, kept, strict=True))


def thin(potential: NDArray[np.float64], most: int = TRACE) -> list[list[float]]:
    """(update, mean score) of at most `most` steps, the first and the last among them."""
    steps = np.arange(potential.size)
    if steps.size > most:
        steps = np.unique(np.linspace(0, potential.size - 1, most).round().astype(np.intp))
    return [[int(step), float(potential[step])] for step in steps]
