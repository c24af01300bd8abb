"""One regression tree on codes: each node is split where its histograms say (`split.py`), and a leaf is a Newton step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.discover.bins import Codes
from multivalid.discover.histogram import RowNumbers, histogram, partition
from multivalid.discover.split import PRIOR_ROWS, Cuttable, Layout, best_split
from multivalid.properties.base import Array

LONGEST = 2.0  # units of the link that one leaf may ask for


@dataclass(frozen=True, eq=False)
class Split:
    """Rows whose code in `column` is among `left` go to the first child, the others to the second."""

    column: int
    left: NDArray[np.bool_]
    children: tuple[Split | float, Split | float]


Node = Split | float


@dataclass(frozen=True)
class Grown:
    """A tree and, for its own rows, what it adds."""

    root: Node
    leaves: list[tuple[RowNumbers, float]]


def grow(bins: Sequence[Cuttable], codes: Codes, rows: RowNumbers, gradient: Array, slope: Array, depth: int = 3) -> Grown:
    """The tree of Newton steps −G/(H + prior), not yet multiplied by a rate."""
    mine = slope if rows.size == slope.size else slope[rows]  # no copy where the tree is grown on every row
    unit = max(float(mine.mean()), 1e-300)
    return _Grower(bins, codes, gradient, slope, unit).tree(rows, depth)


@dataclass
class _Open:
    """A node that may still be split."""

    rows: RowNumbers
    sums: Array


@dataclass
class _Grower:
    bins: Sequence[Cuttable]
    codes: Codes
    gradient: Array
    slope: Array
    unit: float

    def __post_init__(self) -> None:
        self.layout = Layout.of(self.bins)
        self.width = self.layout.width

    def tree(self, rows: RowNumbers, depth: int) -> Grown:
        leaves: list[tuple[RowNumbers, float]] = []
        root = self._node(_Open(rows, histogram(self.codes, self.width, rows, self.gradient, self.slope)), depth, leaves)
        return Grown(root, leaves)

    def _node(self, node: _Open, depth: int, leaves: list[tuple[RowNumbers, float]]) -> Node:
        best = best_split(self.layout, node.sums, self.unit) if depth > 0 else None
        if best is None:
            total = node.sums[0].sum(axis=0)
            value = -float(np.clip(total[0] / (total[1] + PRIOR_ROWS * self.unit), -LONGEST, LONGEST))
            leaves.append((node.rows, value))
            return value
        column, left = best
        first, second = self._divide(node, column, left, last=depth == 1)
        return Split(
            column, left[: self.bins[column].size], (self._node(first, depth - 1, leaves), self._node(second, depth - 1, leaves))
        )

    def _divide(self, node: _Open, column: int, left: NDArray[np.bool_], last: bool) -> tuple[_Open, _Open]:
        """Both children; the smaller is summed, the larger is what remains."""
        parts = partition(self.codes, column, left, node.rows)
        if last:  # leaves need their totals only
            side = left[: self.width]
            totals = node.sums[column][side].sum(axis=0), node.sums[column][~side].sum(axis=0)
            return _Open(parts[0], totals[0][None, None]), _Open(parts[1], totals[1][None, None])
        small = int(parts[1].size < parts[0].size)
        sums = histogram(self.codes, self.width, parts[small], self.gradient, self.slope)
        made = [_Open(parts[small], sums), _Open(parts[1 - small], node.sums - sums)]
        return made[small], made[1 - small]
