"""Algorithm 1 in rounds on raw rows, all rows of a round moved at the same moment: slow and obvious."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.reference.batch_naive import NaiveFit, _destination, _score, cell_table, worst_error


def run(
    prop: Any, points: Any, y: Any, w: Any, masks: Any, level: Any, *, threshold: float, reach: float, least_drop: float
) -> tuple[NaiveFit, int]:
    """The fit and the number of rounds. In a round every level moves its worst cell with p·v² ≥ threshold and |v| > reach that can be
    improved; of moves that chase each other in a circle, the one with the least p·v² stays."""
    level = level.copy()
    fit, rounds = NaiveFit(level, [], [_score(prop, points, y, w, level)], []), 0
    while True:
        fit.errors.append(worst_error(prop, points, y, w, masks, level))
        moves, fit.blocked = wanted(prop, points, y, w, masks, level, threshold, reach, least_drop)
        if not moves:
            fit.levels = level
            return fit, rounds
        before, rounds = level.copy(), rounds + 1
        for source, (_, group, target) in without_circles(moves).items():
            rows = masks[:, group] & (before == source)
            level[rows] = target
            fit.patches.append((set(same_rows(masks, rows, before == source)), source, target))
        fit.potential.append(_score(prop, points, y, w, level))


def wanted(
    prop: Any, points: Any, y: Any, w: Any, masks: Any, level: Any, threshold: float, reach: float, least_drop: float
) -> tuple[dict[int, tuple[float, int, int]], list[tuple[int, int]]]:
    """Per level the size, group and target of its best move; and the cells that ought to move but cannot."""
    mass, mean = cell_table(prop, points, y, w, masks, level)
    size = mass * mean**2
    moves: dict[int, tuple[float, int, int]] = {}
    blocked = []
    for j in range(len(points)):
        for g in sorted(range(masks.shape[1]), key=lambda g: -size[j, g]):
            if size[j, g] < threshold or abs(mean[j, g]) <= reach:
                continue
            rows = masks[:, g] & (level == j)
            to, drop = _destination(prop, points, y[rows], w[rows], j, "theorem")
            if to == j or mass[j, g] * drop < least_drop * (1 - 1e-9):
                blocked.append((g, j))
                continue
            moves[j] = (float(size[j, g]), g, to)
            break
    return moves, blocked


def without_circles(moves: dict[int, tuple[float, int, int]]) -> dict[int, tuple[float, int, int]]:
    """Let moves in by size, largest first, each unless it closes a circle with those already in."""
    kept: dict[int, tuple[float, int, int]] = {}
    for source in sorted(moves, key=lambda j: -moves[j][0]):
        at, seen = moves[source][2], {source}
        while at in kept and at not in seen:
            seen.add(at)
            at = kept[at][2]
        if at != source:
            kept[source] = moves[source]
    return kept


def same_rows(masks: Any, rows: Any, here: Any) -> list[int]:
    """Groups that hold the same rows of a level are one cell."""
    return [g for g in range(masks.shape[1]) if np.array_equal(masks[:, g] & here, rows)]
