"""Stage 1: Algorithm 1 on (group × level) cells, with a guard against noise and shifts that keep the order inside a level.

The levels condition; the predictions stay as fine as they are. A cell whose mean V is beyond chance is shifted on the link scale by
one Newton step, the most significant cell of a level first, until no cell of the level is beyond chance. Rounds repeat with levels
of the new predictions, because a shift can carry rows over a level's edge.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from multivalid.evaluators import DenseMembers
from multivalid.practical.data import LinkRows, Matching
from multivalid.practical.shift_round import ShiftRound as ShiftRound
from multivalid.practical.start import PRIOR_ROWS, chance_limit
from multivalid.properties.base import Array

MOST_PER_LEVEL = 10


def shift_round(eta: Array, rows: LinkRows, loss: Matching, edges: Array, most: int | None = None) -> ShiftRound:
    """Shift the cells that are off beyond chance, level by level."""
    level = np.searchsorted(edges, eta, side="left")
    order = np.argsort(level.astype(np.uint16) if edges.size < 1 << 16 else level, kind="stable")  # short keys are not compared
    sorted_rows, sorted_eta = rows.take(order), eta[order]
    starts = np.searchsorted(level[order], np.arange(edges.size + 2))
    limit = chance_limit(rows.membership.groups * (edges.size + 1))
    floor = max(PRIOR_ROWS * float(np.mean(loss.identify(eta, rows) ** 2)), 1e-30)  # above zero in single precision too
    made: list[tuple[int, int, float]] = []
    for k, (start, stop) in enumerate(pairwise(starts.tolist())):
        room = MOST_PER_LEVEL if most is None else min(MOST_PER_LEVEL, most - len(made))
        if stop > start and room > 0:
            here = _level_shifts(sorted_eta[start:stop], sorted_rows, slice(start, stop), loss, limit, floor, room)
            made += [(group, k, amount) for group, amount in here]
    return ShiftRound(edges, made)


def _level_shifts(
    eta: Array, rows: LinkRows, level: slice, loss: Matching, limit: float, floor: float, room: int
) -> list[tuple[int, float]]:
    made = []
    members, place = DenseMembers(rows.membership, level.start, level.stop), np.arange(level.start, level.stop)
    for _ in range(room):
        v = loss.identify(eta, rows, level)
        total, squares = members.sums(np.stack([v, v**2]))
        z = np.abs(total) / np.sqrt(squares + floor)
        group = int(np.argmax(z))
        if z[group] <= limit:
            break
        cell = np.flatnonzero(members.holds(group))
        amount = _step(eta[cell], rows, place[cell], float(total[group]), loss)
        if amount == 0.0:
            break
        made.append((group, amount))
        eta = eta + amount * members.holds(group)
    return made


def _step(eta: Array, rows: LinkRows, cell: NDArray[np.intp], total: float, loss: Matching) -> float:
    """A Newton shift of one cell, halved until it does not overshoot."""
    amount = float(np.clip(-total / max(loss.slope(eta, rows, cell).sum(), 1e-9 * cell.size), -1, 1))
    for _ in range(10):
        if np.sum(loss.identify(eta + amount, rows, cell)) * np.sign(total) >= -0.25 * abs(total):
            return amount
        amount /= 2
    return 0.0
