"""Algorithms 1 and 2: move the worst cell to a better level, again and again, until no cell is worth moving.

Deviations from the printed Algorithm 1, each for a reason (docs/errata.md):

* the destination is the level of least score, not of least |V|: the potential then never rises and the loop always ends;
* the threshold per cell is free of the grid size, which turns α = 4L²/m into 8L²/m²;
* cells that no level improves are blocked and reported instead of visited for ever; a change of their level unblocks them.

Algorithm 2 is the same loop with a threshold for each cell and groups that may change from call to call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from multivalid.batch.rules import Rule, violation
from multivalid.batch.state import State
from multivalid.properties.base import Array

Progress = Callable[[int, float, float], None]
REPORT_EVERY = 50


class Patch(NamedTuple):
    """Rows of `group` that stand at level `source` move to level `target`."""

    group: int
    source: int
    target: int


class Blocked(NamedTuple):
    """A cell that violates the goal but that no level improves: where V jumps, no prediction is calibrated."""

    group: int
    level: int
    weight: float
    identification: float
    lipschitz: float
    jump: float


@dataclass
class Trace:
    """What a run did."""

    patches: list[Patch] = field(default_factory=list)
    potential: list[float] = field(default_factory=list)
    blocked: list[Blocked] = field(default_factory=list)
    status: str = "converged"
    steepest: float = 0.0  # the largest slope of V between neighbouring levels in any visited cell

    @property
    def drops(self) -> Array:
        """How much each update lowered the potential."""
        return -np.diff(np.asarray(self.potential))


def run(state: State, rule: Rule, *, max_updates: int | None = None, progress: Progress | None = None) -> Trace:
    """Apply `rule` to `state` until it is satisfied, every violating cell is blocked, or the budget is used up.

    Ctrl-C ends the run early: what is done stays done, and the status says `budget`.
    """
    trace = Trace(potential=[state.potential()])
    queue = _Queue(state, rule)
    try:
        while True:
            level, group = queue.first()
            if level < 0 or rule.satisfied(state.mass, state.identification):
                # Rounding of many small changes must not decide: the end is judged on a table made anew from the atoms.
                state.refresh()
                if not queue.reset():
                    break
                continue
            if max_updates is not None and len(trace.patches) >= max_updates:
                trace.status = "budget"
                break
            _visit(state, rule, queue, trace, level, group)
            if progress and len(trace.patches) % REPORT_EVERY == 0:
                progress(
                    len(trace.patches), float(violation(state.mass, state.identification).sum(axis=0).max()), trace.potential[-1]
                )
    except KeyboardInterrupt:
        trace.status = "budget"
    trace.blocked = _blocked(state, queue)
    if trace.status == "converged" and trace.blocked and not rule.satisfied(state.mass, state.identification):
        trace.status = "blocked"
    return trace


def _visit(state: State, rule: Rule, queue: _Queue, trace: Trace, level: int, group: int) -> None:
    cell = state.cell(level, group)
    trace.steepest = max(trace.steepest, _slopes(state, cell.identify)[0])
    to = rule.destination(cell, level)
    if to is None:
        queue.block(level, group)
        return
    state.move(cell, level, to)
    trace.patches.append(Patch(group, level, to))
    trace.potential.append(trace.potential[-1] - cell.weight * float(cell.score[level] - cell.score[to]))
    queue.changed(level, to)


class _Queue:
    """Priorities of all cells, with the best of each level kept: an update changes two levels only."""

    def __init__(self, state: State, rule: Rule) -> None:
        self.state, self.rule = state, rule
        self.blocked = np.zeros(state.mass.shape, dtype=bool)
        self.priority = np.empty(state.mass.shape)
        self.best = np.empty(len(state.grid))
        self._update(range(len(state.grid)))

    def _update(self, levels: range | tuple[int, ...]) -> None:
        for j in levels:
            row = self.rule.priority(self.state.mass[j], self.state.identification[j])
            self.priority[j] = np.where(self.blocked[j], -1.0, row)
            self.best[j] = self.priority[j].max()

    def first(self) -> tuple[int, int]:
        """The most urgent cell; (-1, -1) when there is none."""
        level = int(np.argmax(self.best))
        return (level, int(np.argmax(self.priority[level]))) if self.best[level] >= 0 else (-1, -1)

    def block(self, level: int, group: int) -> None:
        self.blocked[level, group] = True
        self._update((level,))

    def changed(self, *levels: int) -> None:
        """Cells of these levels hold other rows now: whatever blocked them is gone."""
        self.blocked[list(levels)] = False
        self._update(levels)

    def reset(self) -> bool:
        """After the table was made anew: is anything left to do?"""
        self._update(range(len(self.state.grid)))
        return self.first()[0] >= 0 and not self.rule.satisfied(self.state.mass, self.state.identification)


def _slopes(state: State, identify: Array) -> tuple[float, float]:
    """The largest slope and the largest step of V between neighbouring levels."""
    steps = np.diff(identify)
    return (float((steps / np.diff(state.grid.points)).max()), float(steps.max())) if steps.size else (0.0, 0.0)


def _blocked(state: State, queue: _Queue) -> list[Blocked]:
    found = []
    for level, group in np.argwhere(queue.blocked):
        cell = state.cell(int(level), int(group))
        slope, jump = _slopes(state, cell.identify)
        found.append(Blocked(int(group), int(level), cell.weight, float(cell.identify[level]), slope, jump))
    return found
