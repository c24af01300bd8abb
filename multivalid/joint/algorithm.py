"""Algorithm 3: the two coordinates in turn, each calibrated on the level sets of the other, until both hold at once.

Stage 0 is Algorithm 2 on f⁰ with groups G × {f¹ = ·}; stage 1 is Algorithm 2 on f¹ with groups G × {f⁰ = ·}. Both run on one table
of cells (group, level⁰, level¹), so there is no loop over slices.

Deviations from the printed Algorithm 3, each for a reason (docs/errata.md):

* the loop is do–while: f¹ is always calibrated at least once, also where f⁰ is right from the start;
* the test on V⁰ comes after stage 1, because stage 1 moves the level sets of f¹ that V⁰ is tested on;
* cells that no level improves are blocked and left out of the test, or the loop would never end;
* the destination is the level of least score, not of least |V|.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.batch.algorithm import REPORT_EVERY
from multivalid.batch.control import INTERRUPTED, UNLIMITED, Control
from multivalid.batch.rules import Rule, violation
from multivalid.joint.state import JointState
from multivalid.properties.base import Array

Flags = NDArray[np.bool_]


class JointPatch(NamedTuple):
    """Rows of `group` at levels (first, second) move to level `target` of coordinate `side` (0 or 1)."""

    side: int
    group: int
    first: int
    second: int
    target: int


class BlockedPair(NamedTuple):
    """A cell that violates the goal of coordinate `side` although no level improves it."""

    side: int
    group: int
    first: int
    second: int
    weight: float
    identification: float


@dataclass
class JointTrace:
    """What a run did."""

    patches: list[JointPatch] = field(default_factory=list)
    drops: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    blocked: list[BlockedPair] = field(default_factory=list)
    status: str = "converged"
    passes: int = 0
    steepest: list[float] = field(default_factory=lambda: [0.0, 0.0])
    note: str = ""


class _Spent(Exception):
    """The budget of updates is used up."""


class JointRun:
    """Algorithm 3 on one state."""

    def __init__(self, state: JointState, rules: tuple[Rule, Rule], control: Control = UNLIMITED) -> None:
        self.state, self.rules, self.control = state, rules, control
        self.trace = JointTrace()
        # Blocked cells stay so, over all passes, until rows enter or leave them.
        self.blocked: tuple[Flags, Flags] = (np.zeros(state.mass.shape, dtype=bool), np.zeros(state.mass.shape, dtype=bool))

    def corrected(self) -> JointTrace:
        """Do { stage 0; stage 1 } while V⁰ is violated somewhere that is not blocked."""
        return self._finish(self._do_while)

    def printed(self) -> JointTrace:
        """While V⁰ is violated { stage 0; stage 1 }: where f⁰ is right from the start, f¹ is returned as it came."""
        return self._finish(self._while)

    def _do_while(self) -> None:
        self._both()
        self._while()

    def _while(self) -> None:
        while (self._priority(0) >= 0).any():
            self._both()

    def _finish(self, loop: Callable[[], None]) -> JointTrace:
        """Run a loop; a spent budget ends it early, and Ctrl-C where interrupted runs are kept: what is done stays done."""
        try:
            loop()
        except (_Spent, KeyboardInterrupt) as end:
            self._early(end)
        self._note_blocked()
        return self.trace

    def _early(self, end: BaseException) -> None:
        if isinstance(end, KeyboardInterrupt):
            if not self.control.keep_interrupted:
                raise end
            self.trace.note = INTERRUPTED
            del self.trace.patches[sum(map(len, self.trace.drops)) :]  # it may have come between any two statements
            self.state.replay(self.trace.patches)
        self.trace.status = "budget"
        self.state.refresh()

    def _both(self) -> None:
        self.trace.passes += 1
        self.stage(0)
        self.stage(1)

    def _priority(self, side: int) -> Array:
        found = self.rules[side].priority(self.state.mass, self.state.identification[side])
        return np.where(self.blocked[side], -1.0, found)

    def stage(self, side: int) -> None:
        """Algorithm 2 on one coordinate; the end is judged on a table made anew from the atoms."""
        if side == 1:
            self.blocked[1][:] = False  # V¹ is another function wherever f⁰ has changed
        while True:
            queue = _Queue(self._priority(side))
            while (found := queue.first()) is not None:
                self._visit(side, queue, *found)
            if not self.state.stale:
                return
            self.state.refresh()

    def _visit(self, side: int, queue: _Queue, place: int, group: int) -> None:
        state, trace = self.state, self.trace
        cell = state.cell(side, place, group)
        level = state.level(side, place)
        trace.steepest[side] = max(trace.steepest[side], _slope(state.sides[side].grid.points, cell.identify))
        target = self.rules[side].destination(cell, level)
        if target is None:
            self.blocked[side][place, group] = True
            queue.put(place, self._row(side, place))
            return
        if not self.control.room(len(trace.patches)):
            raise _Spent
        to = state.moved_to(side, place, target)
        state.move(side, cell, place, to)
        trace.patches.append(JointPatch(side, group, place // state.width, place % state.width, target))
        trace.drops[side].append(cell.weight * float(cell.score[level] - cell.score[target]))
        for at in (place, to):
            self.blocked[0][at] = self.blocked[1][at] = False
            queue.put(at, self._row(side, at))
        if self.control.progress and len(trace.patches) % REPORT_EVERY == 0:
            self.control.tell(len(trace.patches), float(violation(state.mass, state.identification[side]).max()), float("nan"))

    def _row(self, side: int, place: int) -> Array:
        found = self.rules[side].priority(self.state.mass[place], self.state.identification[side, place])
        return np.where(self.blocked[side][place], -1.0, found)

    def _note_blocked(self) -> None:
        state = self.state
        for side in (0, 1):
            for place, group in np.argwhere(self.blocked[side] & (state.mass > 0)):
                p = float(state.mass[place, group])
                v = float(state.identification[side, place, group]) / p
                spot = divmod(int(place), state.width)
                self.trace.blocked.append(BlockedPair(side, int(group), *spot, p, v))
        if self.trace.status == "converged" and self.trace.blocked:
            self.trace.status = "blocked"


class _Queue:
    """Priorities of all cells, with the best of each place kept: an update changes two places only."""

    def __init__(self, priority: Array) -> None:
        self.priority = priority
        self.best = priority.max(axis=1)

    def put(self, place: int, row: Array) -> None:
        self.priority[place] = row
        self.best[place] = row.max()

    def first(self) -> tuple[int, int] | None:
        """The most urgent cell; None when there is none."""
        place = int(np.argmax(self.best))
        return (place, int(np.argmax(self.priority[place]))) if self.best[place] >= 0 else None


def _slope(points: Array, identify: Array) -> float:
    """The steepest rise of V between neighbouring levels."""
    return float((np.diff(identify) / np.diff(points)).max()) if points.size > 1 else 0.0
