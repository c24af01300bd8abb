"""Sums over (number × group) of rows that pass by in batches, where the engine works in this process.

An engine evaluates a formula step by step over short vectors, and groups by hashing; arrays that stay in the cache and histograms over
codes do the same several times faster, and no batch is kept. What a predictor adds for the groups of a row is worked out once per
combination of their columns (see `Lines`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.cells.tabulate import Histogram, byte_histograms
from multivalid.evaluators import Arrays
from multivalid.groups.membership import Coded, Membership, unpack
from multivalid.properties.base import Array
from multivalid.sources.lanes import LANES, in_lanes
from multivalid.sources.looked_up import LineMembers, PassingMembers
from multivalid.sources.passing_rows import Passing, widened

SLICE = 1 << 16  # rows at a time: columns stay near, and lanes seldom wait for Python
MOST_CELLS = 200_000  # (line × number) up to which lines are counted, and groups read off them


class Counted(NamedTuple):
    """Columns to be summed over (number × group); the column of weights stands for ones where every weight is one.

    `whole` are columns summed over all rows alone: they come after the others, the same for every number and group.
    """

    number: NDArray[np.intp]
    size: int
    columns: Sequence[Array]
    whole: Sequence[Array] = ()


class Batch(NamedTuple):
    """Rows that pass by."""

    labels: Array
    predictions: Array
    weights: Array
    line: NDArray[Any]

    def predicted(self, predictor: Any, of_lines: LineMembers) -> Array:
        """What a predictor makes of them."""
        return np.asarray(predictor.predicted(Arrays(), [self.predictions], PassingMembers(of_lines, self.line))[0])


def tabulate_passing(rows: Passing, kernel: Callable[[Batch], list[Counted]]) -> list[Array]:
    """Σ of every column over the rows of each (number, group): (size, groups, columns) for each table that the kernel asks for."""
    lanes: list[list[_Table]] = [[] for _ in range(LANES)]
    keys = cache(partial(_Keys, rows.lines.membership))  # by the size of the tables
    ones = np.ones(SLICE)

    def work(lane: int, part: Any) -> None:
        columns = rows.read(part)
        for start in range(0, columns.labels.size, SLICE):
            here = slice(start, start + SLICE)
            labels, predictions = widened(columns.labels[here]), widened(columns.predictions[here])
            weights = ones[: labels.size] if columns.weights is None else widened(columns.weights[here])
            asked = kernel(Batch(labels, predictions, weights, columns.line[here]))
            lanes[lane] = lanes[lane] or [_Table(keys(one.size)) for one in asked]
            codes = {size: keys(size).of(columns.line[here]) for size in {one.size for one in asked}}
            for table, one in zip(lanes[lane], asked, strict=True):
                table.add(codes[one.size], one, weights if columns.weights is None else None)

    for _ in in_lanes(rows.parts(), work):
        pass
    found = [[table.sums() for table in tables] for tables in lanes if tables]
    return [sum(same[1:], same[0]) for same in zip(*found, strict=True)]


class _Keys:
    """The codes that rows are counted by: their line where lines are few, else the groups of their line, part by part of the groups."""

    def __init__(self, members: Membership, size: int) -> None:
        self.counted: list[tuple[NDArray[Any] | None, Callable[[], Histogram]]] = []
        self.everyone: int | None = None  # the place of everyone's sums, which are those of any other part's codes together
        if size * members.rows <= MOST_CELLS:
            shares = unpack(members.by_row(), members.groups).astype(np.float64)
            self.counted.append((None, lambda: Histogram(members.rows, size, shares)))
            return
        for block in members.parts:
            if not isinstance(block, Coded):
                for codes, part in byte_histograms(block.by_row(), size, block.size):
                    self.counted.append((codes, partial(Histogram, part.size, size, part.shares)))
            elif self.everyone is None and len(members.parts) > 1 and block.size == 1 and block.codes.all():
                self.everyone = len(self.counted)
            else:
                self.counted.append((block.codes, partial(Histogram, block.size + 1, size, None)))

    def of(self, line: NDArray[Any]) -> list[NDArray[Any]]:
        """The codes of rows by their lines."""
        line = line.astype(np.uint32, copy=False)
        return [line if codes is None else codes[line] for codes, _ in self.counted]


class _Table:
    """Sums over (number × group) that grow as rows pass by."""

    def __init__(self, keys: _Keys) -> None:
        self._parts, self._everyone = [made() for _, made in keys.counted], keys.everyone
        self._order: list[int] = []
        self._whole: Array = np.zeros(0)

    def add(self, codes: Sequence[NDArray[Any]], asked: Counted, ones: Array | None) -> None:
        """Add the columns of some rows; one and the same column is summed once, and `ones` is known to be that."""
        unlike = {id(column): None if column is ones else column for column in asked.columns}
        place = {number: k for k, number in enumerate(unlike)}
        self._order = [place[id(column)] for column in asked.columns]
        for here, part in zip(codes, self._parts, strict=True):
            part.add(here, asked.number, list(unlike.values()))
        whole = np.array([column.sum() for column in asked.whole])
        self._whole = self._whole + whole if self._whole.size else whole

    def sums(self) -> Array:
        """(size, groups, columns)."""
        tables = [part.table() for part in self._parts]
        if self._everyone is not None:
            tables.insert(self._everyone, self._parts[0].whole())
        made = np.concatenate([table[:, :, self._order] for table in tables], axis=1)
        return np.concatenate([made, np.broadcast_to(self._whole, (*made.shape[:2], self._whole.size))], axis=2)
