"""Sums over the last rounds and over periods, in memory that does not grow with the stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Bits = NDArray[np.bool_]
PERIODS_KEPT = 120


class Recent:
    """V and groups of the last rounds, in a ring.

    Examples
    --------
    >>> recent = Recent(size=2, groups=1, coordinates=1)
    >>> recent.add(np.array([[True], [True], [False]]), np.array([[1.0], [2.0], [4.0]]), first=0)
    >>> rows, sums = recent.sums(last=2, rounds=3)
    >>> rows.tolist(), sums.tolist()
    ([1], [[2.0]])
    """

    def __init__(self, size: int, groups: int, coordinates: int) -> None:
        self.size, self.groups = size, groups
        self.member = np.zeros((size, (groups + 7) // 8), dtype=np.uint8)
        self.value = np.zeros((size, coordinates))

    def add(self, member: Bits, value: Array, first: int) -> None:
        """Rows in order (V has a column per coordinate); round `first` is that of the first row."""
        skip = max(len(value) - self.size, 0)
        at = np.arange(first + skip, first + len(value)) % self.size
        self.member[at] = np.packbits(member[skip:], axis=1)
        self.value[at] = value[skip:]

    def sums(self, last: int, rounds: int) -> tuple[NDArray[np.int64], Array]:
        """Rows per group, and sums of V (coordinates, groups), over the last rounds."""
        at = np.arange(max(rounds - last, 0), rounds) % self.size
        member = np.unpackbits(self.member[at], axis=1, count=self.groups).astype(bool)
        return member.sum(axis=0, dtype=np.int64), self.value[at].T @ member.astype(np.float64)


class Periods:
    """Rows and sums of V by period; the latest `PERIODS_KEPT` periods that had rows."""

    def __init__(self, groups: int, coordinates: int) -> None:
        self.shape = (coordinates, groups)
        self.kept: dict[float, tuple[NDArray[np.int64], Array]] = {}

    def add(self, starts: Array, member: Bits, value: Array) -> None:
        """Rows in order of time, with the beginning of the period that each lies in."""
        for start in np.unique(starts).tolist():
            inside = starts == start
            rows, sums = self.kept.get(start, (np.zeros(self.shape[1], dtype=np.int64), np.zeros(self.shape)))
            at, group = np.nonzero(member[inside])
            for own, v in zip(sums, value[inside].T, strict=True):
                np.add.at(own, group, v[at])  # one after the other: the same digits however the rows were handed over
            self.kept[start] = (rows + member[inside].sum(axis=0, dtype=np.int64), sums)
        for old in sorted(self.kept)[:-PERIODS_KEPT]:
            del self.kept[old]

    def to_json(self) -> list[Any]:
        """Plain data."""
        return [[start, rows.tolist(), sums.tolist()] for start, (rows, sums) in sorted(self.kept.items())]

    def restore(self, data: list[Any]) -> None:
        """Back from plain data."""
        self.kept = {float(start): (np.array(rows, dtype=np.int64), np.array(sums, dtype=np.float64)) for start, rows, sums in data}


class Trace:
    """The evidence over time at evenly spaced rounds: at most `most` of them, every other one dropped when there are more.

    Examples
    --------
    >>> trace = Trace(groups=1, most=4)
    >>> for round in range(1, 11):
    ...     if trace.wanted(round):
    ...         trace.add(round, 0.0, np.array([float(round)]))
    >>> [point[0] for point in trace.points], trace.stride
    ([4, 8], 4)
    """

    def __init__(self, groups: int, most: int = 200) -> None:
        self.groups, self.most, self.stride = groups, most, 1
        self.points: list[tuple[int, float, list[float]]] = []

    def wanted(self, rounds: int) -> bool:
        """Whether the state after this many rounds is to be noted."""
        return rounds % self.stride == 0

    def until(self, rounds: int) -> int:
        """How many rounds from here to the next that is noted."""
        return self.stride - rounds % self.stride

    def add(self, rounds: int, time: float, logs: Array) -> None:
        """Note log10 of the evidence of each group."""
        self.points.append((rounds, time, np.round(logs, 4).tolist()))
        if len(self.points) >= self.most:
            self.stride *= 2
            self.points = [point for point in self.points if point[0] % self.stride == 0]
