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

    def on_grid(self, atoms: Index) -> tuple[Array, Array]:
        """ΣwV and ΣwS over all these atoms together, at every level."""


def label_sums(table: AtomTable, response: Response) -> LabelSums:
    """Running sums over label bins where there are some and they fit, else the entries themselves."""
    if isinstance(response, Piecewise) and response.bins > 1 and RunningSums.fit(table, response):
        return RunningSums(table, response)
    return EntrySums(table, response)


class RunningSums:
    """Running sums over label bins per atom: V at any level costs a few look-ups, however many labels an atom has."""

    def __init__(self, table: AtomTable, response: Piecewise) -> None:
        running = np.zeros((len(table), response.bins, response.width))
        running[table.atom, table.bin] = table.sums
        np.cumsum(running, axis=1, out=running)
        self.shape = response.bins, response.width
        self.running = running.reshape(len(table), -1)
        self.response = response
        self._operator = None if response.operator is None else _of_running(response.operator, response.width)
        self._looks = [_looks(*response.marks(level)) for level in range(response.levels)]

    @staticmethod
    def fit(table: AtomTable, response: Piecewise) -> bool:
        """Whether they take at most a quarter of a gigabyte."""
        return bool(len(table) * response.bins * response.width * 8 <= LARGEST_DENSE)

    def identify(self, atoms: Index, level: int) -> Array:
        columns, coefficients = self._looks[level]
        return np.asarray(self.running[atoms[:, None], columns] @ coefficients)

    def on_grid(self, atoms: Index) -> tuple[Array, Array]:
        running = np.ones(atoms.size) @ self.running.take(atoms, axis=0)
        if self._operator is not None:
            both = self._operator @ running
            return both[: both.size // 2], both[both.size // 2 :]
        running = running.reshape(self.shape)
        return self.response.on_grid(np.diff(running, axis=0, prepend=0.0))

    def join(self, atoms: Index, others: Index) -> None:
        """Add the labels of atoms to those of others, no one of them twice."""
        self.running[others] += self.running[atoms]


def _looks(marks: Index, coefficients: Array) -> tuple[Index, Array]:
    """Columns of the running sums, and their coefficients, that make up V at one level.

    V has coefficients c_r between marks r and r + 1, which sums by parts to (c_r − c_{r+1}) times the running sum at mark r + 1.
    """
    change = coefficients - np.concatenate([coefficients[1:], np.zeros((1, coefficients.shape[1]))])
    change[marks[1:] == 0] = 0.0  # nothing lies before the first bin
    piece, moment = np.nonzero(change)
    return (marks[1:][piece] - 1) * coefficients.shape[1] + moment, change[piece, moment]


def _of_running(operator: Array, width: int) -> Array:
    """The matrix that makes of running sums what `operator` makes of sums: sums are differences of neighbours."""
    out = operator.copy()
    out[:, :-width] -= operator[:, width:]
    return out


class EntrySums:
    """The entries as they are: right when atoms are nearly as many as rows, and for properties without moments."""

    def __init__(self, table: AtomTable, response: Response) -> None:
        self.table, self.response = table, response
        self.single = len(table) == table.atom.size  # one entry per atom: no gathering needed

    def identify(self, atoms: Index, level: int) -> Array:
        entries, owner = self._entries(atoms)
        values = self.response.identify(self.table.bin[entries], self.table.sums[entries], level)
        return values if self.single else totals(owner, values, atoms.size)

    def on_grid(self, atoms: Index) -> tuple[Array, Array]:
        entries, _ = self._entries(atoms)
        bins, sums = self.table.bin[entries], self.table.sums[entries]
        return self.response.on_grid(np.stack([totals(bins, column, self.response.bins) for column in sums.T], axis=1))

    def _entries(self, atoms: Index) -> tuple[Index, Index]:
        """Entries of these atoms, and for each the position of its atom in `atoms`."""
        if self.single:
            return atoms, atoms
        start = self.table.offset[atoms]
        size = self.table.offset[atoms + 1] - start
        owner = np.repeat(np.arange(atoms.size), size)
        return np.arange(owner.size) + np.repeat(start - (np.cumsum(size) - size), size), owner
