"""Algorithm 1 on raw rows, every cell computed anew before every update: slow and obvious."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class NaiveFit:
    """Levels reached, moves made, mean score before each and at the end, margin by which each choice was clear.

    Groups that hold the same rows of a level are one cell: a move names all of them.
    """

    levels: np.ndarray
    patches: list[tuple[set[int], int, int]]
    potential: list[float]
    blocked: list[tuple[int, int]]
    margin: float = np.inf
    errors: list[float] = field(default_factory=list)


def cell_table(prop: Any, points: Any, y: Any, w: Any, masks: Any, level: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mass p and mean identification v of every (level, group); v = 0 where empty."""
    v_rows = prop.identify(points[level], y)
    mass, mean = np.zeros((len(points), masks.shape[1])), np.zeros((len(points), masks.shape[1]))
    for j in range(len(points)):
        for g in range(masks.shape[1]):
            rows = masks[:, g] & (level == j)
            if w[rows].sum() > 0:
                mass[j, g] = w[rows].sum() / w.sum()
                mean[j, g] = np.average(v_rows[rows], weights=w[rows])
    return mass, mean


def worst_error(prop: Any, points: Any, y: Any, w: Any, masks: Any, level: Any) -> float:
    """max over groups of Σ p·v²."""
    mass, mean = cell_table(prop, points, y, w, masks, level)
    return float((mass * mean**2).sum(axis=0).max())


def run(
    prop: Any, points: Any, y: Any, w: Any, masks: Any, level: Any, *, rule: str, threshold: float, reach: float = 0.0,
    least_drop: float = 0.0, most: int = 10_000,
) -> NaiveFit:  # fmt: skip
    """`rule` "theorem": move p·v² ≥ threshold, |v| > reach to least score; "printed": while an error exceeds threshold, least |V|."""
    level = level.copy()
    fit = NaiveFit(level, [], [_score(prop, points, y, w, level)], [])
    blocked: set[tuple[int, int]] = set()
    while len(fit.patches) < most:
        mass, mean = cell_table(prop, points, y, w, masks, level)
        size = mass * mean**2
        fit.errors.append(float(size.sum(axis=0).max()))
        open_cells = mass > 0
        if rule == "theorem":
            open_cells &= (size >= threshold) & (np.abs(mean) > reach)
        elif fit.errors[-1] <= threshold:
            break
        for cell in blocked:
            open_cells[cell] = False
        if not open_cells.any():
            break
        j, g = (int(i) for i in np.unravel_index(np.argmax(np.where(open_cells, size, -1.0)), size.shape))
        rows = masks[:, g] & (level == j)
        same = {h for h in range(masks.shape[1]) if np.array_equal(masks[:, h] & (level == j), rows)}
        others = open_cells.copy()
        others[j, list(same)] = False
        margin = 1 - size[others].max(initial=0.0) / size[j, g] if size[j, g] > 0 else 0.0
        to, drop = _destination(prop, points, y[rows], w[rows], j, rule)
        if to == j or w[rows].sum() / w.sum() * drop < least_drop * (1 - 1e-9) or drop <= 1e-13:
            blocked |= {(j, h) for h in same}
            continue
        fit.margin = min(fit.margin, margin)
        level[rows] = to
        blocked = {cell for cell in blocked if cell[0] not in (j, to)}
        fit.patches.append((same, j, to))
        fit.potential.append(_score(prop, points, y, w, level))
    fit.blocked = sorted(blocked)
    return fit


def _destination(prop: Any, points: Any, y: Any, w: Any, j: int, rule: str) -> tuple[int, float]:
    score = np.array([np.average(prop.score(p, y), weights=w) for p in points])
    allowed = np.ones(len(points), dtype=bool)
    if rule == "printed":
        size = np.array([abs(np.average(prop.identify(p, y), weights=w)) for p in points])
        allowed = size <= size.min() + 1e-12 * size.max()
    best = score[allowed].min()
    near = [k for k in range(len(points)) if allowed[k] and score[k] <= best + 1e-12 * np.ptp(score)]
    to = min(near, key=lambda k: (abs(k - j), k))
    return to, float(score[j] - score[to])


def _score(prop: Any, points: Any, y: Any, w: Any, level: Any) -> float:
    return float(np.average(prop.score(points[level], y), weights=w))
