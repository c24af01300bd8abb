"""Sums over the labels of chosen atoms, in the layout that suits their number."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from multivalid.atoms.response import Index, Piecewise, Response
from multivalid.atoms.table import AtomTable, totals
from multivalid.properties.base import Array

LARGEST_DENSE = 1 << 28  # bytes


class LabelSums(Protocol):
    """What an update asks of the labels of the atoms it moves."""

    def identify(self, atoms: Index, level: int) -> Array:
        """ΣwV(γ_level, ·) of each of these atoms."""

    def total(self, atoms: Index) -> Array:
        """Σw·t_k over all these atoms: shape (bins, K)."""


def label_sums(table: AtomTable, response: Response) -> LabelSums:
    """Running sums over label bins where there are some and they fit into a quarter of a gigabyte, else the entries themselves."""
    if (
        isinstance(response, Piecewise)
        and response.bins > 1
        and len(table) * (response.bins + 1) * response.width * 8 <= LARGEST_DENSE
    ):
        return RunningSums(table, response)
    return EntrySums(table, response)


class RunningSums:
    """Running sums over label bins per atom: V at any level costs a few look-ups, however many labels an atom has."""

    def __init__(self, table: AtomTable, response: Piecewise) -> None:
        self.response = response
        self.running = np.zeros((len(table), response.bins + 1, response.width))
        self.running[table.atom, table.bin + 1] = table.sums
        np.cumsum(self.running, axis=1, out=self.running)
        self.flat = self.running.reshape(len(table), -1)

    def identify(self, atoms: Index, level: int) -> Array:
        marks, coefficients = self.response.marks(level)
        at = self.running[atoms[:, None], marks]
        return np.asarray(np.einsum("ark,rk->a", at[:, 1:] - at[:, :-1], coefficients))

    def total(self, atoms: Index) -> Array:
        running = (np.ones(atoms.size) @ self.flat.take(atoms, axis=0)).reshape(self.running.shape[1:])
        return np.asarray(running[1:] - running[:-1])


class EntrySums:
    """The entries as they are: right when atoms are nearly as many as rows, and for properties without moments."""

    def __init__(self, table: AtomTable, response: Response) -> None:
        self.table, self.response = table, response
        self.single = len(table) == table.atom.size  # one entry per atom: no gathering needed

    def identify(self, atoms: Index, level: int) -> Array:
        entries, owner = self._entries(atoms)
        values = self.response.identify(self.table.bin[entries], self.table.sums[entries], level)
        return values if self.single else totals(owner, values, atoms.size)

    def total(self, atoms: Index) -> Array:
        entries, _ = self._entries(atoms)
        bins, sums = self.table.bin[entries], self.table.sums[entries]
        return np.stack([totals(bins, column, self.response.bins) for column in sums.T], axis=1)

    def _entries(self, atoms: Index) -> tuple[Index, Index]:
        """Entries of these atoms, and for each the position of its atom in `atoms`."""
        if self.single:
            return atoms, atoms
        start = self.table.offset[atoms]
        size = self.table.offset[atoms + 1] - start
        owner = np.repeat(np.arange(atoms.size), size)
        return np.arange(owner.size) + np.repeat(start - (np.cumsum(size) - size), size), owner
