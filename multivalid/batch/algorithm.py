"""Algorithms 1 and 2: move the worst cell to a better level, again and again, until no cell is worth moving.

Deviations from the printed Algorithm 1, each for a reason (docs/errata.md):

* the destination is the level of least score, not of least |V|: the potential then never rises and the loop always ends;
* the threshold per cell is free of the grid size, which turns α = 4L²/m into 8L²/m²;
* cells that no level improves are blocked and reported instead of visited for ever; a change of their level unblocks them.

Algorithm 2 is the same loop with a threshold for each cell and groups that may change from call to call.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from multivalid.batch.control import INTERRUPTED, UNLIMITED, Control
from multivalid.batch.control import Progress as Progress
from multivalid.batch.moves import Blocked as Blocked
from multivalid.batch.rules import Rule, worst_error
from multivalid.batch.state import Patch as Patch
from multivalid.batch.state import State, Target
from multivalid.properties.base import Array

REPORT_EVERY = 50
CELLS_AT_A_TIME = 64


@dataclass
class Trace:
    """What a run did."""

    patches: list[Patch] = field(default_factory=list)
    potential: list[float] = field(default_factory=list)
    blocked: list[Blocked] = field(default_factory=list)
    status: str = "converged"
    steepest: float = 0.0  # the largest slope of V between neighbouring levels in any visited cell
    note: str = ""  # what a person should know of how it was done

    @property
    def drops(self) -> Array:
        """How much each update lowered the potential."""
        return -np.diff(np.asarray(self.potential))


def run(state: State, rule: Rule, control: Control = UNLIMITED) -> Trace:
    """Apply `rule` to `state` until it is satisfied, every violating cell is blocked, or the budget is used up.

    Where `control` keeps interrupted runs, Ctrl-C ends the run early: what is done stays done, and the status says `budget`. The
    status `blocked` says that blocked cells are all that is left; whether the goal is met nevertheless is for the caller to judge.
    """
    trace = Trace(potential=[state.potential()])
    queue, seen = _Queue(state, rule), _Slopes(state.steepness)
    try:
        while True:
            level, group = queue.first()
            if level < 0 or rule.satisfied(state.mass, state.identification):
                # Rounding of many small changes must not decide: the end is judged on a table made anew from the atoms.
                state.refresh()
                if not queue.reset():
                    break
                continue
            cell = state.cell(level, group)
            seen.add(cell.identify)
            to = rule.destination(cell, level)
            if to is None:
                queue.block(level, group)
            elif not control.room(len(trace.patches)):
                trace.status = "budget"
                break
            else:
                _update(state, queue, trace, cell, Patch(group, level, to))
                if control.progress and len(trace.patches) % REPORT_EVERY == 0:
                    _report(control, state, trace)
        if control.progress:
            _report(control, state, trace)
    except KeyboardInterrupt:
        if not control.keep_interrupted:
            raise
        trace.status, trace.note = "budget", INTERRUPTED
        _roll_back(state, trace)
    trace.steepest = seen.steepest()
    trace.blocked = _blocked(state, rule, queue)
    if trace.status == "converged" and trace.blocked and not rule.satisfied(state.mass, state.identification):
        trace.status = "blocked"
    return trace


def _update(state: State, queue: _Queue, trace: Trace, cell: Target, patch: Patch) -> None:
    touched = state.move(cell, patch.source, patch.target)
    trace.patches.append(patch)
    trace.potential.append(trace.potential[-1] - cell.weight * float(cell.score[patch.source] - cell.score[patch.target]))
    queue.changed([patch.source, patch.target], touched)


def _report(control: Control, state: State, trace: Trace) -> None:
    control.tell(len(trace.patches), worst_error(state.mass, state.identification), trace.potential[-1])


def _roll_back(state: State, trace: Trace) -> None:
    """After an interruption, which may fall between any two statements: keep the updates that were recorded in full."""
    done = min(len(trace.patches), len(trace.potential) - 1)
    del trace.patches[done:], trace.potential[done + 1 :]
    state.replay(trace.patches)


class _Queue:
    """Priorities of all cells, with the best of each level kept: an update changes two levels only."""

    def __init__(self, state: State, rule: Rule) -> None:
        self.state, self.rule = state, rule
        self.blocked = np.zeros(state.mass.shape, dtype=bool)
        self.priority = np.empty(state.mass.shape)
        self.best = np.empty(len(state.grid))
        self.all = list(range(len(state.grid)))
        self._update(self.all)

    def _update(self, levels: list[int]) -> None:
        cells = self.state.cells.take(levels, axis=0)
        rows = self.rule.priority(cells[:, 1], cells[:, 2])
        np.putmask(rows, self.blocked.take(levels, axis=0), -1.0)
        self.priority[levels] = rows
        self.best[levels] = rows.max(axis=1)

    def first(self) -> tuple[int, int]:
        """The most urgent cell; (-1, -1) when there is none."""
        level = int(self.best.argmax())
        return (level, int(self.priority[level].argmax())) if self.best[level] >= 0 else (-1, -1)

    def block(self, level: int, group: int) -> None:
        self.blocked[level, group] = True
        self.priority[level, group] = -1.0
        self.best[level] = self.priority[level].max()

    def changed(self, levels: list[int], groups: NDArray[np.bool_]) -> None:
        """Cells of these levels and groups hold other rows now: whatever blocked them is gone."""
        others = ~groups
        for level in levels:
            self.blocked[level] &= others
        self._update(levels)

    def reset(self) -> bool:
        """After the table was made anew: is anything left to do?"""
        self._update(self.all)
        return self.first()[0] >= 0 and not self.rule.satisfied(self.state.mass, self.state.identification)


class _Slopes:
    """The largest slope of V between neighbouring levels in any cell seen, worked out for many cells at a time."""

    def __init__(self, steepness: Array) -> None:
        self.steepness, self.largest = steepness, 0.0
        self.kept, self.count = np.empty((CELLS_AT_A_TIME, steepness.size + 1)), 0

    def add(self, identify: Array) -> None:
        if self.count == CELLS_AT_A_TIME:
            self.steepest()
        self.kept[self.count] = identify
        self.count += 1

    def steepest(self) -> float:
        steps = np.diff(self.kept[: self.count], axis=1) * self.steepness
        self.largest, self.count = float(steps.max(initial=self.largest)), 0
        return self.largest


def slopes(steepness: Array, identify: Array) -> tuple[float, float]:
    """The largest slope and the largest step of V between neighbouring levels."""
    steps = np.diff(identify)
    return (float((steps * steepness).max()), float(steps.max())) if steps.size else (0.0, 0.0)


def _blocked(state: State, rule: Rule, queue: _Queue) -> list[Blocked]:
    """Cells that violate the goal and that no level improves, as things stand now."""
    found = []
    for level, group in np.argwhere(queue.blocked & (rule.priority(state.mass, state.identification) > 0)):
        cell = state.cell(int(level), int(group))
        if rule.destination(cell, int(level)) is None:
            slope, jump = slopes(state.steepness, cell.identify)
            found.append(Blocked(int(group), int(level), cell.weight, float(cell.identify[level]), slope, jump))
    return found
