"""One table over (level⁰, level¹) × group: where every atom stands, and ΣwV of both coordinates that follow from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.table import AtomTable
from multivalid.audit.cells import tabulate
from multivalid.groups.membership import unpack
from multivalid.joint.sides import Index, Side
from multivalid.properties.base import Array


class JointCell(NamedTuple):
    """The atoms of one cell, which of those at its place they are, and the cell's V and S on one side's grid."""

    atoms: Index
    inside: NDArray[np.bool_]
    weight: float
    identify: Array
    score: Array


class JointState:
    """Places of the atoms with the cell table; all sums are shares of the total weight.

    While one coordinate is worked on, only its own sums are kept up to date; `refresh` makes the whole table anew.

    Attributes
    ----------
    place : (atoms,)
        first·m¹ + second.
    mass, identification : (places, groups), (2, places, groups)
        p, and p·v of both coordinates.
    stale : bool
        Whether atoms have moved since the last `refresh`.
    """

    def __init__(self, table: AtomTable, sides: tuple[Side, Side]) -> None:
        self.table, self.sides = table, sides
        self.width = len(sides[1].grid)
        self.places = len(sides[0].grid) * self.width
        self.total = float(table.weight.sum())
        # Rows of weight zero move along with the others but make no cell: what they hold is nothing, exactly.
        self.counts = (table.weight > 0).astype(np.float64)
        self.replay(())

    def replay(self, patches: Iterable[tuple[int, int, int, int, int]]) -> None:
        """Put every atom where these patches (side, group, level⁰, level¹, target) lead it from its start place."""
        self.place = self.table.level.copy()
        for side, group, first, second, target in patches:
            place = first * self.width + second
            inside = (self.table.bits[:, group >> 3] >> (group & 7)) & 1 == 1
            self.place[(self.place == place) & inside] = self.moved_to(side, place, target)
        order = np.argsort(self.place, kind="stable")
        cuts = np.searchsorted(self.place[order], np.arange(self.places + 1))
        self._here: list[Index] = [order[cuts[j] : cuts[j + 1]] for j in range(self.places)]
        self.refresh()

    def refresh(self) -> None:
        """Recompute the table from the atoms, so that rounding of many updates never decides anything."""
        self.sides[1].prepare(self.place)
        columns = [self.table.weight, *(side.everywhere(self.place) for side in self.sides)]
        sums = np.column_stack([self.counts, np.stack(columns, axis=1) / self.total])
        cells = tabulate(self.table.bits, self.place, sums, self.places, self.table.groups)
        self.atoms, self.mass, *both = np.ascontiguousarray(np.moveaxis(cells, 2, 0))
        self.identification = np.stack(both)
        self.stale = False

    def level(self, side: int, place: int) -> int:
        """Level of this place on one side's own grid."""
        return place // self.width if side == 0 else place % self.width

    def moved_to(self, side: int, place: int, level: int) -> int:
        """The place after one side moves to `level`."""
        return level * self.width + place % self.width if side == 0 else place // self.width * self.width + level

    def cell(self, side: int, place: int, group: int) -> JointCell:
        """The atoms of one cell, with this side's mean V and mean S at every level of its grid."""
        here = self._here[place]
        inside = (self.table.bits[here, group >> 3] >> (group & 7)) & 1 == 1
        atoms = here[inside]
        weight = float(self.table.weight[atoms].sum())
        identify, score = self.sides[side].on_grid(atoms, place)
        return JointCell(atoms, inside, weight / self.total, identify / weight, score / weight)

    def move(self, side: int, cell: JointCell, place: int, to: int) -> None:
        """Move the atoms of a cell; two rows of the table change."""
        bits = unpack(self.table.bits[cell.atoms], self.table.groups)
        before, after = (self.sides[side].identify(cell.atoms, at) for at in (place, to))
        count = self.counts[cell.atoms] @ bits
        weight, left, come = np.stack([self.table.weight[cell.atoms], before, after]) @ bits / self.total
        for at, sign, share in ((place, -1, left), (to, 1, come)):
            self.atoms[at] += sign * count
            self.mass[at] += sign * weight
            self.identification[side, at] += sign * share
        # Subtraction leaves dust behind; a cell without atoms is empty, exactly.
        empty = self.atoms[place] == 0
        self.mass[place, empty] = self.identification[side, place, empty] = 0.0
        self._here[place] = self._here[place][~cell.inside]
        # Kept sorted, so that later moves add atoms up in an order that depends on nothing but the data.
        self._here[to] = np.sort(np.concatenate([self._here[to], cell.atoms]))
        self.place[cell.atoms] = to
        self.stale = True
