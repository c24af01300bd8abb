"""Where every atom stands, and the table ΣwV over (level × group) that follows from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.response import Index, Piecewise, Response
from multivalid.atoms.table import AtomTable
from multivalid.audit.cells import group_sums, tabulate
from multivalid.batch.bundles import Bundles
from multivalid.batch.label_sums import Chosen, ChosenRunning, LabelSums, RunningSums, label_sums
from multivalid.batch.moves import Patch as Patch
from multivalid.grid import Grid
from multivalid.groups.membership import unpack
from multivalid.properties.base import Array

MOST_MEMBERS = 1 << 18  # numbers: 2 MB, so that they stay in cache
_BIT = [np.uint8(1 << bit) for bit in range(8)]


class Target(NamedTuple):
    """The atoms of one cell, which of its level's atoms they are, their labels, and V and S of the cell on the whole grid."""

    atoms: Index
    inside: NDArray[np.bool_]
    labels: Chosen
    weight: float
    identify: Array
    score: Array


class State:
    """Levels of the atoms with the cell table kept up to date; all sums are shares of the total weight."""

    def __init__(self, table: AtomTable, response: Response, grid: Grid, constant: float = 0.0) -> None:
        self.table, self.response, self.grid = table, response, grid
        self.constant = constant  # Σw·κ(y): what the atoms' sums leave out of the score
        self.total = float(table.sums[:, 0].sum())
        self.steepness = 1 / np.diff(grid.points)
        self._bytes = np.ascontiguousarray(table.bits.T)  # eight groups of all atoms side by side: a test reads one short line
        self._members = _members(table)
        self.replay(())

    def replay(self, patches: Iterable[Patch]) -> None:
        """Put every atom where these patches lead it from its start level."""
        self._level = self.table.level.copy()
        for group, source, target in patches:
            self._level[(self._level == source) & self._in_group(slice(None), group)] = target
        self._by_level = [np.flatnonzero(self._level == j) for j in range(len(self.grid))]
        self.weight = self.table.weight.copy()
        # Rows of weight zero move along with the others but make no cell: what they hold is nothing, exactly.
        self.counts = (self.weight > 0).astype(np.float64)
        self._stand()
        self.refresh()

    def _stand(self) -> None:
        """Let atoms that meet move as one where many will, and their labels can be added up."""
        table, response = self.table, self.response
        self.bundles: Bundles | None = None
        if isinstance(response, Piecewise) and RunningSums.fit(table, response):
            self.bundles = Bundles.of(table, self._level, len(self.grid))
        if self.bundles is None or not isinstance(response, Piecewise):
            self.labels: LabelSums = label_sums(table, response)
        else:
            self.labels = RunningSums(table, response)

    @property
    def level(self) -> Index:
        """Level of every atom of the table."""
        return self._level if self.bundles is None else self.bundles.level_of_all(self._level)

    def _in_group(self, atoms: Index | slice, group: int) -> NDArray[np.bool_]:
        return np.asarray(self._bytes[group >> 3][atoms] & _BIT[group & 7] != 0)

    def refresh(self) -> None:
        """Recompute the table from the atoms, so that rounding of many updates never decides anything."""
        identification = np.zeros(len(self.table))
        for j, atoms in enumerate(self._by_level):
            identification[atoms] = self.labels.of(atoms).identify(j)
        sums = np.column_stack([self.counts, self.weight / self.total, identification / self.total])
        standing = slice(None) if self.bundles is None else np.sort(np.concatenate(self._by_level))
        cells = tabulate(self.table.bits[standing], self._level[standing], sums[standing], len(self.grid), self.table.groups)
        self.cells = np.ascontiguousarray(np.moveaxis(cells, 2, 1))  # (levels, [atoms, mass, identification], groups)
        self.mass, self.identification = self.cells[:, 1], self.cells[:, 2]

    def potential(self) -> float:
        """Mean score of the current predictions."""
        score = self.constant
        for j, atoms in enumerate(self._by_level):
            if atoms.size:
                score += float(self.labels.of(atoms).on_grid().score[j])
        return score / self.total

    def cell(self, level: int, group: int) -> Target:
        """The atoms of one cell, with its mean V and mean S at every level."""
        here = self._by_level[level]
        inside = self._in_group(here, group)
        atoms = here[inside]
        labels = self.labels.of(atoms)
        weight, identify, score = labels.on_grid()
        return Target(atoms, inside, labels, weight / self.total, identify / weight, score / weight)

    def _group_sums(self, atoms: Index, sums: Array) -> Array:
        """Σ over the atoms of each group, for every line of `sums`."""
        if self._members is None:
            return group_sums(self.table.bits.take(atoms, axis=0), sums, self.table.groups)
        return np.asarray(sums @ self._members.take(self.table.combination.take(atoms), axis=0))

    def move(self, cell: Target, level: int, to: int) -> NDArray[np.bool_]:
        """Move the atoms of a cell; only two lines of the table change, and there only these groups."""
        atoms = cell.atoms
        sums = np.empty((4, atoms.size))
        sums[0], sums[1] = self.counts.take(atoms), self.weight.take(atoms)
        sums[2], sums[3] = cell.labels.identify(level), cell.labels.identify(to)
        change = self._group_sums(atoms, sums)
        change[1:] /= self.total
        left, come = self.cells[level], self.cells[to]
        left -= change[:3]
        left *= np.minimum(left[0], 1.0)  # subtraction leaves dust behind; a cell without atoms is empty, exactly
        come[:2] += change[:2]
        come[2] += change[3]
        self._level[atoms] = to
        stay = atoms if self.bundles is None else self._join(self.bundles, cell, level, to)
        self._by_level[level] = self._by_level[level][~cell.inside]
        if stay.size:
            # Kept sorted, so that later moves take atoms, and so add them up, in an order that depends on nothing but the data.
            self._by_level[to] = np.sort(np.concatenate([self._by_level[to], stay]), kind="stable")
        return np.asarray(change[0] > 0)

    def _join(self, bundles: Bundles, cell: Target, level: int, to: int) -> Index:
        """Add atoms to those that stand for their combination of groups on the level they come to; the others stay themselves."""
        assert isinstance(self.labels, RunningSums)
        assert isinstance(cell.labels, ChosenRunning)
        there, joins = bundles.move(cell.atoms, level, to)
        stay, joining, others, running = cell.atoms[~joins], cell.atoms, there, cell.labels.running
        if stay.size:
            joining, others, running = joining[joins], others[joins], running[joins]
        running += self.labels.running.take(others, axis=0)
        self.labels.running[others] = running
        self.weight[others] += self.weight[joining]
        self.counts[others] += self.counts[joining]
        return stay


def _members(table: AtomTable) -> Array | None:
    """Groups of each combination as zeros and ones, ready for a matrix product; None where the combinations are many."""
    combinations = int(table.combination.max()) + 1
    if combinations * table.groups > MOST_MEMBERS:
        return None
    bits = np.zeros((combinations, table.bits.shape[1]), dtype=np.uint8)
    bits[table.combination] = table.bits
    return unpack(bits, table.groups)
