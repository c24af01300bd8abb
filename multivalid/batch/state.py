"""Where every atom stands, and the table ΣwV over (level × group) that follows from it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multivalid.atoms.response import Index, Response
from multivalid.atoms.table import AtomTable
from multivalid.audit.cells import tabulate
from multivalid.batch.label_sums import label_sums
from multivalid.grid import Grid
from multivalid.groups.membership import unpack
from multivalid.properties.base import Array


class Target(NamedTuple):
    """V and S of one cell on the whole grid, and the atoms in it."""

    atoms: Index
    weight: float
    identify: Array
    score: Array


class State:
    """Levels of the atoms with the cell table kept up to date; all sums are shares of the total weight."""

    def __init__(self, table: AtomTable, response: Response, grid: Grid) -> None:
        self.table, self.response, self.grid = table, response, grid
        self.labels = label_sums(table, response)
        self.level = table.level.copy()
        self.total = float(table.sums[:, 0].sum())
        self._by_level = [np.flatnonzero(self.level == j) for j in range(len(grid))]
        self.refresh()

    def refresh(self) -> None:
        """Recompute the table from the atoms, so that rounding of many updates never decides anything."""
        sums = np.empty((len(self.table), 2))
        sums[:, 0] = self.table.weight
        for j, atoms in enumerate(self._by_level):
            sums[atoms, 1] = self.labels.identify(atoms, j)
        sums = np.column_stack([np.ones(len(self.table)), sums / self.total])
        cells = tabulate(self.table.bits, self.level, sums, len(self.grid), self.table.groups)
        self.atoms, self.mass, self.identification = np.ascontiguousarray(np.moveaxis(cells, 2, 0))

    def potential(self) -> float:
        """Mean score of the current predictions, up to the constant of the labels."""
        score = 0.0
        for j, atoms in enumerate(self._by_level):
            if atoms.size:
                score += float(self.response.score_grid(self.labels.total(atoms))[j])
        return score / self.total

    def cell(self, level: int, group: int) -> Target:
        """The atoms of one cell, with its mean V and mean S at every level."""
        here = self._by_level[level]
        atoms = here[(self.table.bits[here, group >> 3] >> (group & 7)) & 1 == 1]
        sums = self.labels.total(atoms)
        weight = float(sums[:, 0].sum())
        return Target(
            atoms, weight / self.total, self.response.identify_grid(sums) / weight, self.response.score_grid(sums) / weight
        )

    def move(self, cell: Target, level: int, to: int) -> None:
        """Move the atoms of a cell; only two rows of the table change."""
        bits = unpack(self.table.bits[cell.atoms], self.table.groups)
        before, after = self.labels.identify(cell.atoms, level), self.labels.identify(cell.atoms, to)
        count = bits.sum(axis=0)
        weight, left, come = np.stack([self.table.weight[cell.atoms], before, after]) @ bits / self.total
        for j, sign, share in ((level, -1, left), (to, 1, come)):
            self.atoms[j] += sign * count
            self.mass[j] += sign * weight
            self.identification[j] += sign * share
        # Subtraction leaves dust behind; a cell without atoms is empty, exactly.
        empty = self.atoms[level] == 0
        self.mass[level, empty] = self.identification[level, empty] = 0.0
        here = self._by_level[level]
        stay = np.ones(here.size, dtype=bool)
        stay[np.searchsorted(here, cell.atoms)] = False
        self._by_level[level] = here[stay]
        # Kept sorted, so that later moves take atoms, and so add them up, in an order that depends on nothing but the data.
        self._by_level[to] = np.sort(np.concatenate([self._by_level[to], cell.atoms]))
        self.level[cell.atoms] = to
