"""Where rows that pass by come from: out of their engine in batches, or out of the copy that was made when they were looked at first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple, Protocol

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.names import LABEL, PREDICTION, WEIGHT
from multivalid.atoms.partitions import batches
from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import Frame
from multivalid.properties.base import Array
from multivalid.sources.copied import Copied, Run, draw
from multivalid.sources.key_codes import Digits
from multivalid.sources.looked_up import CODE, Lines
from multivalid.sources.memory import MemorySource

Copies = dict[bool, list[Copied]]  # by whether rows are held out
TABLES = 4  # of lines by code that are kept


class Columns(NamedTuple):
    """Rows in the types that they came in; `weights` is None where each is one."""

    labels: NDArray[Any]
    predictions: NDArray[Any]
    weights: NDArray[Any] | None
    line: NDArray[Any]


class Passing(Protocol):
    """Rows in parts, which are read one by one."""

    lines: Lines

    def parts(self) -> Iterator[Any]:
        """All parts, in order."""

    def read(self, part: Any) -> Columns:
        """The rows of a part; several may be read at a time."""


class OutOfEngine:
    """Rows whose engine works in this process, known by a code."""

    def __init__(self, frame: Frame, lines: Lines, *, plain: bool) -> None:
        self.lines, self._names = lines, [LABEL, PREDICTION, *([] if plain else [WEIGHT]), CODE]
        self._frame = frame

    def parts(self) -> Iterator[nw.DataFrame[Any]]:
        return batches(self._frame.select(self._names))

    def read(self, part: nw.DataFrame[Any]) -> Columns:
        *columns, codes = (np.asarray(part[name].to_numpy()) for name in self._names)
        return _columns(columns, self.lines.numbers(codes.astype(np.int64, copy=False)))


class OutOfCopies:
    """Rows that were copied to files."""

    def __init__(self, copies: Sequence[Copied], lines: Lines) -> None:
        self.lines, self._copies = lines, copies
        self._line_of = lru_cache(TABLES)(self._table)

    def parts(self) -> Iterator[tuple[Copied, Run]]:
        runs = [[(copied, run) for run in copied.runs] for copied in self._copies]
        return (
            part for parts in zip_longest(*runs) for part in parts if part is not None
        )  # a file after the other: lanes do not wait

    def read(self, part: tuple[Copied, Run]) -> Columns:
        return self._columns(part[1], part[0].read(part[1]))

    def sample(self, groups: FittedGroups, rows: int, seed: int) -> MemorySource:
        """About so many rows in memory, drawn at random; all where there are no more."""
        drawn = [self._columns(*taken) for taken in draw(self._copies, rows, seed)]
        labels, predictions = (
            np.concatenate([getattr(one, name) for one in drawn]).astype(np.float64) for name in Columns._fields[:2]
        )
        known = [one.weights for one in drawn if one.weights is not None]
        weights = np.concatenate(known).astype(np.float64) if known else np.ones(labels.size)
        members = self.lines.membership.take(np.concatenate([one.line for one in drawn]))
        return MemorySource(labels, predictions, weights, groups, members, None)

    def _columns(self, run: Run, columns: Sequence[NDArray[Any]]) -> Columns:
        return _columns(columns[:-1], self._line_of(run.digits)[columns[-1]])

    def _table(self, digits: Digits) -> NDArray[np.uint32]:
        return self.lines.lines_of(self._copies[0].keys, digits).astype(np.uint32)


def _columns(given: Sequence[NDArray[Any]], line: NDArray[Any]) -> Columns:
    return Columns(given[0], given[1], given[2] if len(given) > 2 else None, line)


def widened(values: NDArray[Any]) -> Array:
    """As float64."""
    return np.asarray(values, dtype=np.float64)
