"""Where every atom stands, and the table ΣwV over (level × group) that follows from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.response import Index, Response
from multivalid.atoms.table import AtomTable
from multivalid.audit.cells import group_sums, tabulate
from multivalid.batch.label_sums import label_sums
from multivalid.grid import Grid
from multivalid.properties.base import Array


class Patch(NamedTuple):
    """Rows of `group` that stand at level `source` move to level `target`."""

    group: int
    source: int
    target: int


class Target(NamedTuple):
    """V and S of one cell on the whole grid, the atoms in it, and the others of its level."""

    atoms: Index
    others: Index
    weight: float
    identify: Array
    score: Array


class State:
    """Levels of the atoms with the cell table kept up to date; all sums are shares of the total weight."""

    def __init__(self, table: AtomTable, response: Response, grid: Grid, constant: float = 0.0) -> None:
        self.table, self.response, self.grid = table, response, grid
        self.constant = constant  # Σw·κ(y): what the atoms' sums leave out of the score
        self.labels = label_sums(table, response)
        self.total = float(table.sums[:, 0].sum())
        self.steepness = 1 / np.diff(grid.points)
        # Rows of weight zero move along with the others but make no cell: what they hold is nothing, exactly.
        self.counts = (table.weight > 0).astype(np.float64)
        self._bytes = np.ascontiguousarray(table.bits.T)  # eight groups of all atoms side by side: a test reads one short line
        self.replay(())

    def replay(self, patches: Iterable[Patch]) -> None:
        """Put every atom where these patches lead it from its start level."""
        self.level = self.table.level.copy()
        for group, source, target in patches:
            self.level[(self.level == source) & self._in_group(slice(None), group)] = target
        self._by_level = [np.flatnonzero(self.level == j) for j in range(len(self.grid))]
        self.refresh()

    def _in_group(self, atoms: Index | slice, group: int) -> NDArray[np.bool_]:
        return np.asarray(self._bytes[group >> 3][atoms] & np.uint8(1 << (group & 7)) != 0)

    def refresh(self) -> None:
        """Recompute the table from the atoms, so that rounding of many updates never decides anything."""
        sums = np.empty((len(self.table), 2))
        sums[:, 0] = self.table.weight
        for j, atoms in enumerate(self._by_level):
            sums[atoms, 1] = self.labels.identify(atoms, j)
        sums = np.column_stack([self.counts, sums / self.total])
        cells = tabulate(self.table.bits, self.level, sums, len(self.grid), self.table.groups)
        self.atoms, self.mass, self.identification = np.ascontiguousarray(np.moveaxis(cells, 2, 0))

    def potential(self) -> float:
        """Mean score of the current predictions."""
        score = self.constant
        for j, atoms in enumerate(self._by_level):
            if atoms.size:
                score += float(self.response.on_grid(self.labels.total(atoms))[1][j])
        return score / self.total

    def cell(self, level: int, group: int) -> Target:
        """The atoms of one cell, with its mean V and mean S at every level."""
        here = self._by_level[level]
        inside = self._in_group(here, group)
        atoms = here[inside]
        sums = self.labels.total(atoms)
        weight = float(sums[:, 0].sum())
        identify, score = self.response.on_grid(sums)
        return Target(atoms, here[~inside], weight / self.total, identify / weight, score / weight)

    def move(self, cell: Target, level: int, to: int) -> None:
        """Move the atoms of a cell; only two rows of the table change."""
        atoms = cell.atoms
        sums = np.empty((4, atoms.size))
        sums[0], sums[1] = self.counts[atoms], self.table.weight[atoms]
        sums[2], sums[3] = self.labels.identify(atoms, level), self.labels.identify(atoms, to)
        count, weight, left, come = group_sums(self.table.bits.take(atoms, axis=0), sums, self.table.groups)
        for j, sign, share in ((level, -1.0, left), (to, 1.0, come)):
            self.atoms[j] += sign * count
            self.mass[j] += sign / self.total * weight
            self.identification[j] += sign / self.total * share
        # Subtraction leaves dust behind; a cell without atoms is empty, exactly.
        empty = self.atoms[level] == 0
        self.mass[level, empty] = self.identification[level, empty] = 0.0
        self._by_level[level] = cell.others
        # Kept sorted, so that later moves take atoms, and so add them up, in an order that depends on nothing but the data.
        self._by_level[to] = np.sort(np.concatenate([self._by_level[to], atoms]), kind="stable")
        self.level[atoms] = to
