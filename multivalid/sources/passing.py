"""Sums over (number × group) of rows that pass by in batches, where the engine works in this process.

An engine evaluates a formula step by step over short vectors, and groups by hashing; formulas over rows that stay in the cache and
histograms over codes do the same several times faster, and no batch is kept. What a predictor adds for the groups of a row is worked out
once per combination of their columns (see `Lines`). Formulas are run by the compiled loop of `passing_steps` where there is one and they
can be noted as steps, else on arrays, as here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multivalid.evaluators import Arrays
from multivalid.properties.base import Array
from multivalid.sources.counting import Batch, Counted, Kernel, Keys, Table
from multivalid.sources.lanes import LANES, in_lanes
from multivalid.sources.looked_up import LineMembers, PassingMembers
from multivalid.sources.passing_rows import Columns, Passing, widened
from multivalid.sources.passing_steps import StepsLane, noted

SLICE = 1 << 16  # rows at a time: columns stay near, and lanes seldom wait for Python


class Lane(Protocol):
    """What adds up every other part of the rows."""

    def add(self, columns: Columns) -> None:
        """Add some rows."""

    def sums(self) -> list[Array]:
        """The tables, none where no rows were added."""


def tabulate_passing(rows: Passing, kernel: Kernel) -> list[Array]:
    """Σ of every column over the rows of each (number, group): (size, groups, columns) for each table that the kernel asks for."""
    of_lines = LineMembers(rows.lines)
    keys = cache(partial(Keys, rows.lines.membership))  # by the size of the tables
    made: Callable[[], Lane] = partial(ArraysLane, kernel, of_lines, keys)
    if noted(kernel, of_lines) is not None:
        made = partial(StepsLane, kernel, of_lines, keys)
    lanes = [made() for _ in range(LANES)]
    for _ in in_lanes(rows.parts(), lambda lane, part: lanes[lane].add(rows.read(part))):
        pass
    found = [tables for tables in (lane.sums() for lane in lanes) if tables]
    return [sum(same[1:], same[0]) for same in zip(*found, strict=True)]


class ArraysLane:
    """Works with arrays of some rows at a time."""

    def __init__(self, kernel: Kernel, of_lines: LineMembers, keys: Callable[[int], Keys]) -> None:
        self._kernel, self._of_lines, self._keys = kernel, of_lines, keys
        self._tables: list[Table] = []

    def add(self, columns: Columns) -> None:
        for start in range(0, columns.labels.size, SLICE):
            here = slice(start, start + SLICE)
            labels, line = widened(columns.labels[here]), columns.line[here]
            weights = np.ones(labels.size) if columns.weights is None else widened(columns.weights[here])
            batch = Batch(
                Arrays(), labels, widened(columns.predictions[here]), weights, PassingMembers(self._of_lines, line),
                lambda grid, values: grid.round(values),
            )  # fmt: skip
            asked = self._kernel(batch)
            self._tables = self._tables or [Table(self._keys(one.size), one) for one in asked]
            codes = {size: self._keys(size).of(line) for size in {one.size for one in asked}}
            for table, one in zip(self._tables, asked, strict=True):
                self._add(table, codes[one.size], one, weights if columns.weights is None else None)

    @staticmethod
    def _add(table: Table, codes: list[NDArray[Any]], asked: Counted, ones: Array | None) -> None:
        """One and the same column is summed once, and `ones` is known to be that."""
        number = np.zeros(codes[0].size, dtype=np.intp) if asked.number is None else asked.number
        for here, part in zip(codes, table.parts, strict=True):
            part.add(here, number, [None if column is ones else column for column in asked.distinct])
        for k, column in enumerate(asked.whole):
            table.whole[k, 0] += column.sum()

    def sums(self) -> list[Array]:
        return [table.sums() for table in self._tables]
