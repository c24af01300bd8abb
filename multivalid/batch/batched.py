"""Algorithm 1 in rounds: one pass over the rows, then the best cell of every level moves.

A deviation from the paper, which moves one worst cell at a time: here a pass over the data is dear and a move is cheap. The theorem
does not mind. It asks of each update that its cell have p·v² ≥ θ and |v| > 2Lg when it moves, not that it be the worst; and rows of
different levels are different rows, so what a pass measured still holds when the moves of its round are made:

* each level moves at most one cell, so nobody has left a cell before its turn;
* moves are put in an order where a level is left before others arrive in it, so nobody has come either. Moves that chase each other in
  a circle have no such order: the least urgent of them waits for the next round.

Drops of the potential, bounds on the number of updates and the error at the end are those of the theorem; the patches are others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from multivalid.atoms.response import Response
from multivalid.audit.cells import tabulate
from multivalid.batch.algorithm import Blocked, Trace, slopes
from multivalid.batch.control import INTERRUPTED, UNLIMITED, Control
from multivalid.batch.patches import replay
from multivalid.batch.rules import Rule, worst_error
from multivalid.batch.state import Patch
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.properties.base import Array
from multivalid.sources.memory import MemorySource as Rows

MOST_NUMBERS = 50_000_000  # of the table that a pass makes: 400 MB
Measure = Callable[[Sequence[Patch]], Array]


@dataclass(frozen=True)
class LabelTable:
    """Rows → Σw·t_k(y) of every (level after the patches, label bin, group): all that a round needs to know, by one pass."""

    response: Response
    grid: Grid
    patches: Sequence[Patch] = ()

    def __call__(self, rows: Rows) -> Array:
        level = replay(self.patches, self.grid.round(rows.predictions), len(self.grid), rows.membership)
        bins, moments = self.response.encode(rows.labels)
        shape = len(self.grid), self.response.bins, rows.membership.groups, self.response.width
        at = level * self.response.bins + bins
        sums = moments * rows.weights[:, None]
        return tabulate(rows.membership.by_row(), at, sums, shape[0] * shape[1], shape[2]).reshape(shape)


class CellCurves(NamedTuple):
    """Mean V and mean S of one cell on the whole grid, and its share of the weight."""

    weight: float
    identify: Array
    score: Array


class Cells:
    """The table of a pass, with the same questions answered as by `State`; all sums are shares of the total weight."""

    def __init__(self, sums: Array, response: Response, grid: Grid, constant: float) -> None:
        self.sums, self.response, self.grid, self.constant = sums, response, grid, constant
        self.total = float(sums[:, :, 0, 0].sum())
        self.steepness = 1 / np.diff(grid.points)
        self.mass = sums[..., 0].sum(axis=1) / self.total
        levels, bins, groups, width = sums.shape
        bin = np.repeat(np.arange(bins), groups)
        per_bin = [response.identify(bin, sums[j].reshape(-1, width), j).reshape(bins, groups) for j in range(levels)]
        self.identification = np.stack([values.sum(axis=0) for values in per_bin]) / self.total

    def potential(self) -> float:
        """Mean score of the current predictions."""
        everyone = (float(self.response.on_grid(self.sums[j, :, 0])[1][j]) for j in range(len(self.grid)))
        return (self.constant + sum(everyone)) / self.total

    def cell(self, level: int, group: int) -> CellCurves:
        """V and S of one cell at every level."""
        sums = self.sums[level, :, group]
        weight = float(sums[:, 0].sum())
        identify, score = self.response.on_grid(sums)
        return CellCurves(weight / self.total, identify / weight, score / weight)


class Move(NamedTuple):
    """A patch, how urgent it is, and by how much it lowers the potential."""

    patch: Patch
    urgency: float
    drop: float


def run_batched(
    first: Array,
    measure: Measure,
    response: Response,
    grid: Grid,
    rule: Rule,
    *,
    constant: float = 0.0,
    control: Control = UNLIMITED,
) -> tuple[Trace, Cells]:
    """Rounds until no cell is worth moving; `first` is what `measure` tells before any patch.

    Where `control` keeps interrupted runs, Ctrl-C ends the run after the last round that was measured in full, with status `budget`.
    """
    cells = Cells(first, response, grid, constant)
    trace, passes = Trace(potential=[cells.potential()]), 1
    try:
        while True:
            moves, trace.blocked, steep = best_moves(cells, rule)
            trace.steepest = max(trace.steepest, steep)
            if control.progress:
                control.tell(len(trace.patches), worst_error(cells.mass, cells.identification), trace.potential[-1])
            room = control.room(len(trace.patches), len(moves))
            if trace.status == "budget" or not moves:
                break
            if room < len(moves):
                trace.status, moves = "budget", moves[:room]
            patches = [*trace.patches, *(move.patch for move in moves)]
            if moves:  # nothing is on record before a pass has measured where it leads
                cells, passes = Cells(measure(patches), response, grid, constant), passes + 1
                trace.patches, trace.potential = patches, [*trace.potential, *(trace.potential[-1] - _drops(moves))]
    except KeyboardInterrupt:
        if not control.keep_interrupted:
            raise
        trace.status, trace.note = "budget", INTERRUPTED + "\n"
    if trace.status == "converged" and trace.blocked:
        trace.status = "blocked"
    times = "1 pass" if passes == 1 else f"{passes} passes"
    trace.note += f"Batched rounds: {times} over the rows; the order of updates is not the paper's, the theorem's bounds hold."
    return trace, cells


def _drops(moves: Sequence[Move]) -> Array:
    return np.cumsum([move.drop for move in moves])


def best_moves(cells: Cells, rule: Rule) -> tuple[list[Move], list[Blocked], float]:
    """The moves of one round in the order to make them, the cells that no level improves, and the steepest V met."""
    priority = rule.priority(cells.mass, cells.identification)
    found, stuck, steepest = [], [], 0.0
    for level in range(len(cells.grid)):
        for group in np.argsort(-priority[level], kind="stable").tolist():
            if priority[level, group] < 0:
                break
            cell = cells.cell(level, group)
            slope, jump = slopes(cells.steepness, cell.identify)
            steepest = max(steepest, slope)
            to = rule.destination(cell, level)
            if to is not None:
                drop = cell.weight * float(cell.score[level] - cell.score[to])
                found.append(Move(Patch(group, level, to), float(priority[level, group]), drop))
                break
            stuck.append(Blocked(group, level, cell.weight, float(cell.identify[level]), slope, jump))
    return in_order(found), stuck, steepest


def in_order(moves: Sequence[Move]) -> list[Move]:
    """At most one move per level, so ordered that each level is left before others arrive; of a circle the least urgent is dropped.

    Examples
    --------
    >>> chase = [Move(Patch(0, 1, 2), 5.0, 1.0), Move(Patch(0, 2, 3), 3.0, 1.0), Move(Patch(0, 3, 1), 1.0, 1.0)]
    >>> [move.patch.source for move in in_order(chase)]
    [2, 1]
    """
    kept: dict[int, Move] = {}
    for move in sorted(moves, key=lambda move: -move.urgency):
        if move.patch.source not in _path(move.patch.target, kept):
            kept[move.patch.source] = move
    return sorted(kept.values(), key=lambda move: len(_path(move.patch.target, kept)))


def _path(level: int, moves: dict[int, Move]) -> list[int]:
    """The levels that moves lead through from here."""
    path = [level]
    while path[-1] in moves:
        path.append(moves[path[-1]].patch.target)
    return path


def affordable(grid: Grid, response: Response, groups: int) -> None:
    """Refuse a table that would not fit, before any row is read."""
    numbers = len(grid) * response.bins * groups * response.width
    if numbers > MOST_NUMBERS:
        raise InputError(
            f"batched=True keeps sums over {len(grid):,} levels × {response.bins:,} label bins × {groups:,} groups × "
            f"{response.width} moments = {numbers:,} numbers, more than {MOST_NUMBERS:,}; use fewer levels (m=) or fewer groups."
        )
