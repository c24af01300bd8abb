"""Atoms: bundles of rows that no algorithm of this library can tell apart.

Rows with the same combination of groups and the same start level always move together; such a bundle is an atom. Its labels are
kept as entries, one per label bin, each with exact sums Σw·t_k(y) that merge by addition. From here on, cost does not depend on
the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.groups.membership import Bits, distinct
from multivalid.properties.base import Array

Index = NDArray[np.intp]


@dataclass(frozen=True)
class AtomTable:
    """Atoms and their entries.

    Attributes
    ----------
    bits : (atoms, bytes) uint8
        Groups of each atom, packed; bit g is group g.
    level, combination : (atoms,)
        Start level of each atom, and the number of its combination of groups; atoms are sorted by level, then combination, so that an
        update, which takes atoms of one level, reads memory in order.
    atom, bin : (entries,)
        Atom and label bin of each entry, sorted by atom, then bin; no pair twice.
    sums : (entries, K)
        Σw·t_k(y) of each entry; column 0 is the weight (t_0 = 1).
    groups : int
        Number of groups.
    """

    bits: Bits
    level: Index
    combination: Index
    atom: Index
    bin: Index
    sums: Array
    groups: int

    def __len__(self) -> int:
        return int(self.level.size)

    @cached_property
    def weight(self) -> Array:
        """Total weight of each atom."""
        return totals(self.atom, self.sums[:, 0], len(self))

    @cached_property
    def offset(self) -> Index:
        """Entries of atom a are offset[a]:offset[a + 1]."""
        return np.searchsorted(self.atom, np.arange(len(self) + 1))

    def by_label(self, bins: int) -> Array:
        """Σw·t_k(y) of all rows in every label bin: (bins, K)."""
        return np.stack([totals(self.bin, column, bins) for column in self.sums.T], axis=1)

    def merge(self, other: AtomTable) -> AtomTable:
        """The table of both sets of rows; any order and any grouping of merges gives the same atoms."""
        both = Patterned.of(np.concatenate([self.bits, other.bits]), np.concatenate([self.level, other.level]))
        atom = both.row_atom[np.concatenate([self.atom, other.atom + len(self)])]
        return _with_entries(
            both, atom, np.concatenate([self.bin, other.bin]), np.concatenate([self.sums, other.sums]), self.groups
        )


class Atoms(NamedTuple):
    """The atoms of all rows, which one each row belongs to (None where rows are not seen), and sums that do not depend on any move.

    `constant` is Σw of the part of the score that the moments leave out, `best` Σw of the least score of each label by itself.
    """

    table: AtomTable
    row_atom: Index | None
    constant: float
    best: float


@dataclass(frozen=True)
class Patterned:
    """Distinct (combination of groups, level) pairs and, for each row, which one it is."""

    bits: Bits
    level: Index
    combination: Index
    row_atom: Index

    @classmethod
    def of(cls, by_row: Bits, level: Index) -> Patterned:
        """Bundle rows given as packed bits and levels."""
        code, bits = distinct(by_row)
        combinations, levels = bits.shape[0], int(level.max()) + 1
        key, row_atom = compress(level * combinations + code, levels * combinations)
        level, combination = np.divmod(key, combinations)
        return cls(bits[combination], level, combination, row_atom)


def totals(index: Index, values: Array, size: int) -> Array:
    """Sum of the values that share an index, for every index below `size`."""
    return np.bincount(index, weights=values, minlength=size).astype(np.float64, copy=False)


def compress(key: Index, space: int) -> tuple[Index, Index]:
    """Sorted distinct keys and the position of each row's key among them."""
    if space <= 4 * key.size + 1024:  # counting is linear and beats sorting when keys are dense
        seen = np.bincount(key, minlength=space) > 0
        return np.flatnonzero(seen), (np.cumsum(seen) - 1)[key]
    kept, position = np.unique(key, return_inverse=True)
    return kept, position.reshape(-1)


def build(by_row: Bits, level: Index, bin: Index, sums: Array, groups: int) -> tuple[AtomTable, Index]:
    """Atoms of rows that each bring a label bin and sums; also the atom of every row."""
    patterned = Patterned.of(by_row, level)
    return _with_entries(patterned, patterned.row_atom, bin, sums, groups), patterned.row_atom


def _with_entries(patterned: Patterned, atom: Index, bin: Index, sums: Array, groups: int) -> AtomTable:
    bins = int(bin.max()) + 1
    key, entry = compress(atom * bins + bin, patterned.level.size * bins)
    total = np.stack([totals(entry, column, key.size) for column in sums.T], axis=1)
    return AtomTable(patterned.bits, patterned.level, patterned.combination, key // bins, key % bins, total, groups)
