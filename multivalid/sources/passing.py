"""Sums over (number × group) of rows that pass by in batches, where the engine works in this process.

An engine evaluates a formula step by step over short vectors, and groups by hashing; arrays of half a million rows and histograms over
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
from multivalid.cells.tabulate import tabulate_groups
from multivalid.evaluators import Arrays, pieces
from multivalid.groups.membership import Coded, Membership, unpack
from multivalid.groups.remote import Frame
from multivalid.properties.base import Array
from multivalid.sources.looked_up import CODE, LineMembers, Lines, PassingMembers

SLICE = 1 << 18  # rows at a time: columns stay in the cache
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
    totals: list[Array] = []
    ones, by_line = np.ones(SLICE), True
    for part in batches(frame.select(names)):
        *columns, codes = (np.asarray(part[name].to_numpy()) for name in names)
        for start in range(0, len(part), SLICE):
            rows = slice(start, min(start + SLICE, len(part)))
            labels, predictions, *given = (np.asarray(column[rows], dtype=np.float64) for column in columns)
            weights = ones[: labels.size] if plain else given[0]
            line = lines.numbers(codes[rows].astype(np.int64, copy=False))
            asked = kernel(Batch(labels, predictions, weights, line))
            by_line = max(one.size for one in asked) * lines.membership.rows <= MOST_CELLS
            coded = [Coded((line + 1).astype(np.uint32), lines.membership.rows)] if by_line else []
            members = Membership.of(coded, line.size) if by_line else lines.membership.take(line)
            made = [_summed(members, one, weights if plain else None) for one in asked]
            totals = made if not totals else [np.add(old, new, out=old) for old, new in zip(totals, made, strict=True)]
    if not by_line:
        return totals
    groups = unpack(lines.membership.by_row(), lines.membership.groups)
    return [np.moveaxis(np.tensordot(table, groups, axes=(1, 0)), 1, 2) for table in totals]


def _summed(members: Membership, asked: Counted, ones: Array | None) -> Array:
    """One and the same column is summed once."""
    unlike = {id(column): None if column is ones else column for column in asked.columns}
    found = dict(zip(unlike, tabulate_groups(members, asked.number, list(unlike.values()), asked.size), strict=True))
    return np.stack([found[id(column)] for column in asked.columns], axis=2)
