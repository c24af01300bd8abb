"""Stage 1: Algorithm 1 on (group × level) cells, with a guard against noise and shifts that keep the order inside a level.

The levels condition; the predictions stay as fine as they are. A cell whose mean V is beyond chance is shifted on the link scale by
one Newton step, the most significant cell of a level first, until no cell of the level is beyond chance. Rounds repeat with levels
of the new predictions, because a shift can carry rows over a level's edge.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.groups.membership import Coded, Membership
from multivalid.practical.blocks import CodeBlock
from multivalid.practical.data import LinkRows, Matching, Outcomes
from multivalid.practical.shift_round import ShiftRound as ShiftRound
from multivalid.practical.start import PRIOR_ROWS, chance_limit
from multivalid.properties.base import Array

MOST_PER_LEVEL = 10


def shift_round(eta: Array, rows: LinkRows, loss: Matching, edges: Array, most: int | None = None) -> ShiftRound:
    """Shift the cells that are off beyond chance, level by level."""
    level = np.searchsorted(edges, eta, side="left")
    order = np.argsort(level.astype(np.uint16) if edges.size < 1 << 16 else level, kind="stable")  # short keys are not compared
    members, outcomes = rows.membership.take(order), rows.pick(order)
    starts = np.searchsorted(level[order], np.arange(edges.size + 2))
    limit = chance_limit(members.groups * (edges.size + 1))
    floor = max(PRIOR_ROWS * float(np.mean(loss.identify(eta, rows) ** 2)), 1e-30)  # above zero in single precision too
    made: list[tuple[int, int, float]] = []
    for k, (start, stop) in enumerate(pairwise(starts)):
        room = MOST_PER_LEVEL if most is None else min(MOST_PER_LEVEL, most - len(made))
        if stop > start and room > 0:
            inside = _Inside(members, int(start), int(stop))
            here = _level_shifts(eta[order[start:stop]], inside, outcomes.pick(slice(start, stop)), loss, limit, floor, room)
            made += [(group, k, amount) for group, amount in here]
    return ShiftRound(edges, made)


def _level_shifts(
    eta: Array, inside: _Inside, rows: Outcomes, loss: Matching, limit: float, floor: float, room: int
) -> list[tuple[int, float]]:
    made = []
    for _ in range(room):
        v = loss.identify(eta, rows)
        total = inside.sums(v)
        z = np.abs(total) / np.sqrt(inside.sums(v**2) + floor)
        group = int(np.argmax(z))
        if z[group] <= limit:
            break
        cell = np.flatnonzero(inside.holds(group))
        amount = _step(eta[cell], rows.pick(cell), float(total[group]), loss)
        if amount == 0.0:
            break
        made.append((group, amount))
        eta = eta + amount * inside.holds(group)
    return made


class _Inside:
    """Groups of the rows of one level, to be summed over again and again."""

    def __init__(self, members: Membership, start: int, stop: int) -> None:
        self._parts = [
            CodeBlock(0, part.size, part.codes[start:stop])
            if isinstance(part, Coded)
            else part.dense(start, stop).astype(np.float32)
            for part in members.parts
        ]

    def sums(self, values: Array) -> Array:
        """Σ of values over each group."""
        short = values.astype(np.float32)
        return np.concatenate([part.sums(values) if isinstance(part, CodeBlock) else part @ short for part in self._parts])

    def holds(self, group: int) -> NDArray[Any]:
        """Whether each row is in a group."""
        for part in self._parts:
            size = part.size if isinstance(part, CodeBlock) else len(part)
            if group < size:
                return np.asarray(part.codes == group + 1 if isinstance(part, CodeBlock) else part[group])
            group -= size
        raise IndexError(group)


def _step(eta: Array, rows: Outcomes, total: float, loss: Matching) -> float:
    """A Newton shift of one cell, halved until it does not overshoot."""
    amount = float(np.clip(-total / max(loss.slope(eta, rows).sum(), 1e-9 * len(rows)), -1, 1))
    for _ in range(10):
        if np.sum(loss.identify(eta + amount, rows)) * np.sign(total) >= -0.25 * abs(total):
            return amount
        amount /= 2
    return 0.0
