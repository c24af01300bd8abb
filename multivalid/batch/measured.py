"""The sums of all rows on the levels of a grid, and Algorithm 1 run on them: cell by cell on atoms, or in rounds of passes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.response import Response
from multivalid.batch.algorithm import Patch, Trace, run
from multivalid.batch.batched import Cells, LabelTable, affordable, run_batched
from multivalid.batch.control import Control
from multivalid.batch.default_levels import trivial_error
from multivalid.batch.predictor import LevelPredictor
from multivalid.batch.rules import Rule, worst_error
from multivalid.batch.state import State
from multivalid.cells.tabulate import tabulate
from multivalid.grid import Grid
from multivalid.properties.base import Array, Property
from multivalid.sources.open import Source

LARGEST_TABLE = 1 << 24  # numbers: where labels are tabulated value by value, (label × group) may not fit


class CellTable(Protocol):
    """Mass and ΣwV of every (level, group), as shares of the total weight."""

    mass: Array
    identification: Array


class Start(NamedTuple):
    """Errors before the first update: of the best constant prediction, and of the input."""

    trivial: float | None
    before: float


class Finished(NamedTuple):
    """What was done, the table at the end, what held before, and the final level of each row where rows are seen."""

    trace: Trace
    cells: CellTable
    start: Start
    levels: NDArray[np.intp] | None


class Measured(Protocol):
    """Rows measured on a grid, ready to be run on."""

    answer: Response
    best: float  # Σw of the least score of each label by itself

    @property
    def everyone(self) -> Array:
        """Σw·t_k(y) of all rows in every label bin."""

    @property
    def trivial(self) -> float | None:
        """The error of the best constant prediction, see `trivial_error`; None where the table is too large."""

    def run(self, rule: Rule, control: Control) -> Finished:
        """Algorithm 1 with this rule."""


def measure(source: Source, prop: Property, grid: Grid, *, batched: bool) -> Measured:
    """The sums that a run on this grid starts from."""
    return Passes(source, prop, grid) if batched else AtomSums(source, prop, grid)


class AtomSums:
    """One table of atoms, on which every move is made in memory."""

    def __init__(self, source: Source, prop: Property, grid: Grid) -> None:
        self.grid, self.answer = grid, source.response(prop, grid)
        self.atoms = source.atoms(prop, grid, self.answer)
        self.best = self.atoms.best

    @property
    def everyone(self) -> Array:
        return self.atoms.table.by_label(self.answer.bins)

    @cached_property
    def trivial(self) -> float | None:
        table, answer = self.atoms.table, self.answer
        if answer.bins * table.groups * answer.width > LARGEST_TABLE:
            return None
        by_label = tabulate(table.bits[table.atom], table.bin, table.sums, answer.bins, table.groups)
        return trivial_error(by_label, answer, float(table.weight.sum()))

    def run(self, rule: Rule, control: Control) -> Finished:
        state = State(self.atoms.table, self.answer, self.grid, self.atoms.constant)
        start = Start(self.trivial, worst_error(state.mass, state.identification))
        trace, row_atom = run(state, rule, control), self.atoms.row_atom
        return Finished(trace, state, start, None if row_atom is None else state.level[row_atom])


class Passes:
    """No atoms are made: every round is a pass over the rows, which replays the patches so far."""

    def __init__(self, source: Source, prop: Property, grid: Grid) -> None:
        self.source, self.grid, self.answer = source, grid, source.response(prop, grid)
        affordable(grid, self.answer, len(source.groups))
        self.constant, self.best = source.score_sums(prop, self.answer)
        self.first = self._measured(())

    def _measured(self, patches: Sequence[Patch]) -> Array:
        return self.source.fold(LabelTable(self.answer, self.grid, patches))

    @property
    def everyone(self) -> Array:
        return np.asarray(self.first[:, :, 0].sum(axis=0))

    @cached_property
    def trivial(self) -> float | None:
        return trivial_error(self.first.sum(axis=0), self.answer, float(self.everyone[:, 0].sum()))

    def run(self, rule: Rule, control: Control) -> Finished:
        before = Cells(self.first, self.answer, self.grid, self.constant)
        start = Start(self.trivial, worst_error(before.mass, before.identification))
        trace, cells = run_batched(
            self.first, self._measured, self.answer, self.grid, rule, constant=self.constant, control=control
        )
        return Finished(trace, cells, start, self.source.levels_after(LevelPredictor(self.grid, trace.patches)))
