"""Sums over the labels of chosen atoms, in the layout that suits their number."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from multivalid.atoms.response import Index, Piecewise, Response
from multivalid.atoms.table import AtomTable, totals
from multivalid.properties.base import Array

LARGEST_DENSE = 1 << 28  # bytes


class Answer(NamedTuple):
    """Σw, and ΣwV and ΣwS at every level."""

    weight: float
    identify: Array
    score: Array


class Chosen(Protocol):
    """The labels of chosen atoms."""

    def identify(self, level: int) -> Array:
        """ΣwV(γ_level, ·) of each atom."""

    def on_grid(self) -> Answer:
        """All these atoms together."""


class LabelSums(Protocol):
    """Where the labels of the atoms are."""

    def of(self, atoms: Index) -> Chosen:
        """The labels of these atoms."""


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
        self.running = running.reshape(len(table), -1)
        self.response, self.ones = response, np.ones(len(table))
        self.operator = None if response.operator is None else _of_running(response.operator, response.width)
        self.looks = [_looks(*response.marks(level)) for level in range(response.levels)]

    @staticmethod
    def fit(table: AtomTable, response: Piecewise) -> bool:
        """Whether they take at most a quarter of a gigabyte."""
        return bool(len(table) * response.bins * response.width * 8 <= LARGEST_DENSE)

    def of(self, atoms: Index) -> ChosenRunning:
        return ChosenRunning(self, self.running.take(atoms, axis=0))


class ChosenRunning:
    """One line of running sums for each chosen atom."""

    def __init__(self, labels: RunningSums, running: Array) -> None:
        self.labels, self.running = labels, running

    def identify(self, level: int) -> Array:
        columns, coefficients = self.labels.looks[level]
        return np.asarray(self.running.take(columns, axis=1) @ coefficients)

    def on_grid(self) -> Answer:
        operator, response = self.labels.operator, self.labels.response
        running = self.labels.ones[: self.running.shape[0]] @ self.running
        weight = float(running[-response.width])  # the first moment, up to the last bin
        if operator is not None:
            both = operator @ running
            return Answer(weight, both[: response.levels], both[response.levels :])
        sums = np.diff(running.reshape(response.bins, response.width), axis=0, prepend=0.0)
        return Answer(weight, *response.on_grid(sums))


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

    def of(self, atoms: Index) -> ChosenEntries:
        entries, owner = (atoms, None) if self.single else self._entries(atoms)
        return ChosenEntries(self.response, self.table.bin[entries], self.table.sums[entries], owner, atoms.size)

    def _entries(self, atoms: Index) -> tuple[Index, Index]:
        """Entries of these atoms, and for each the position of its atom in `atoms`."""
        start = self.table.offset[atoms]
        size = self.table.offset[atoms + 1] - start
        owner = np.repeat(np.arange(atoms.size), size)
        return np.arange(owner.size) + np.repeat(start - (np.cumsum(size) - size), size), owner


class ChosenEntries:
    """Entries of chosen atoms, each with the position of its atom (none where every atom has just one)."""

    def __init__(self, response: Response, bins: Index, sums: Array, owner: Index | None, size: int) -> None:
        self.response, self.bins, self.sums, self.owner, self.size = response, bins, sums, owner, size

    def identify(self, level: int) -> Array:
        values = self.response.identify(self.bins, self.sums, level)
        return values if self.owner is None else totals(self.owner, values, self.size)

    def on_grid(self) -> Answer:
        by_bin = np.stack([totals(self.bins, column, self.response.bins) for column in self.sums.T], axis=1)
        return Answer(float(by_bin[:, 0].sum()), *self.response.on_grid(by_bin))
