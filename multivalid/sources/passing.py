"""Sums over (number × group) of rows that pass by in batches, where the engine works in this process.

An engine evaluates a formula step by step over short vectors, and groups by hashing; arrays that stay in the cache and histograms over
codes do the same several times faster, and no batch is kept. What a predictor adds for the groups of a row is worked out once per
combination of their columns (see `Lines`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.names import LABEL, PREDICTION, WEIGHT
from multivalid.atoms.partitions import batches
from multivalid.cells.tabulate import Histogram, byte_histograms
from multivalid.evaluators import Arrays, pieces
from multivalid.groups.membership import Coded, Membership, unpack
from multivalid.groups.remote import Frame
from multivalid.properties.base import Array
from multivalid.sources.looked_up import CODE, LineMembers, Lines, PassingMembers

SLICE = 1 << 14  # rows at a time: columns stay in the cache
MOST_CELLS = 200_000  # (line × number) up to which lines are counted, and groups read off them


class Counted(NamedTuple):
    """Columns to be summed over (number × group); the column of weights stands for ones where every weight is one."""

    number: NDArray[np.intp]
    size: int
    columns: Sequence[Array]


class Batch(NamedTuple):
    """Rows that pass by."""

    labels: Array
    predictions: Array
    weights: Array
    line: NDArray[np.intp]

    def predicted(self, predictor: Any, of_lines: LineMembers) -> Array:
        """What a predictor makes of them."""
        out = np.empty_like(self.predictions)
        for rows in pieces(out.size):
            out[rows] = predictor.predicted(Arrays(), [self.predictions[rows]], PassingMembers(of_lines, self.line[rows]))[0]
        return out


def can_pass(frame: Frame, lines: Lines | None) -> bool:
    """Whether rows are known by a code and their engine works in this process."""
    return lines is not None and lines.by_code and (frame.implementation.is_duckdb() or frame.implementation.is_polars())


def tabulate_passing(frame: Frame, lines: Lines, kernel: Callable[[Batch], list[Counted]], *, plain: bool) -> list[Array]:
    """Σ of every column over the rows of each (number, group): (size, groups, columns) for each table that the kernel asks for."""
    names = [LABEL, PREDICTION, *([] if plain else [WEIGHT]), CODE]
    tables: list[_Table] = []
    ones = np.ones(SLICE)
    for part in batches(frame.select(names)):
        *columns, codes = (np.asarray(part[name].to_numpy()) for name in names)
        for start in range(0, len(part), SLICE):
            rows = slice(start, min(start + SLICE, len(part)))
            labels, predictions, *given = (np.asarray(column[rows], dtype=np.float64) for column in columns)
            weights = ones[: labels.size] if plain else given[0]
            line = lines.numbers(codes[rows].astype(np.int64, copy=False))
            asked = kernel(Batch(labels, predictions, weights, line))
            tables = tables or [_Table(lines.membership, one.size) for one in asked]
            for table, one in zip(tables, asked, strict=True):
                table.add(line, one, weights if plain else None)
    return [table.sums() for table in tables]


class _Table:
    """Sums over (number × group) that grow as rows pass by.

    Rows are counted by their lines where these are few, and the lines then by groups; else by the groups of their lines.
    """

    def __init__(self, members: Membership, size: int) -> None:
        self._parts: list[tuple[NDArray[Any] | None, Histogram]] = []
        if size * members.rows <= MOST_CELLS:
            self._parts.append((None, Histogram(members.rows, size, unpack(members.by_row(), members.groups).astype(np.float64))))
            return
        for block in members.parts:
            if isinstance(block, Coded):
                self._parts.append((block.codes, Histogram(block.size + 1, size, None)))
            else:
                self._parts += byte_histograms(block.by_row(), size, block.size)
        self._order: list[int] = []

    def add(self, line: NDArray[np.intp], asked: Counted, ones: Array | None) -> None:
        """Add the columns of some rows; one and the same column is summed once, and `ones` is known to be that."""
        unlike = {id(column): None if column is ones else column for column in asked.columns}
        place = {number: k for k, number in enumerate(unlike)}
        self._order = [place[id(column)] for column in asked.columns]
        for codes, part in self._parts:
            part.add(line.astype(np.uint32) if codes is None else codes[line], asked.number, list(unlike.values()))

    def sums(self) -> Array:
        """(size, groups, columns)."""
        return np.concatenate([part.table()[:, :, self._order] for _, part in self._parts], axis=1)
