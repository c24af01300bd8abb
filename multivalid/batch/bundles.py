"""Atoms that meet: those of one combination of groups on one level move together from then on, so one of them stands for all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.table import AtomTable, Index

MOST_PLACES = 4  # per atom: (level, combination) pairs beyond this are mostly empty, and atoms that never meet need no table


class Bundles:
    """Which atom stands on each (level, combination of groups), and which atom stands for every other.

    Without this, atoms pile up on popular levels, and an update costs more the longer a run lasts.
    """

    def __init__(self, combination: Index, level: Index, levels: int) -> None:
        self.combination = combination
        self.leader = np.arange(level.size)
        self.standing = np.full((levels, int(combination.max()) + 1), -1)
        self.standing[level, combination] = self.leader

    @classmethod
    def of(cls, table: AtomTable, level: Index, levels: int) -> Bundles | None:
        """None where few atoms could ever meet."""
        combinations = int(table.combination.max()) + 1
        return cls(table.combination, level, levels) if levels * combinations <= MOST_PLACES * len(table) else None

    def move(self, atoms: Index, source: int, target: int) -> tuple[Index, NDArray[np.bool_]]:
        """The atom that stands where each of these comes to, and whether it was there before: if not, it is the atom itself."""
        combination = self.combination.take(atoms)
        there = self.standing[target].take(combination)
        joins = there >= 0
        there = np.where(joins, there, atoms)
        self.standing[source][combination] = -1
        self.standing[target][combination] = there
        self.leader[atoms] = there
        return there, joins

    def level_of_all(self, level: Index) -> Index:
        """Level of every atom, from the levels of those that stand for others."""
        leader = self.leader
        while np.any(leader[leader] != leader):
            leader = leader[leader]
        return np.asarray(level[leader])
