"""One regression tree on codes: level by level, every split of every column tried on histograms.

The gain of a split is G²/(H + prior) of its two sides less that of the whole, G = Σ w·V and H = Σ of its slope: what a Newton step in
each leaf takes off the loss. Categories are put in the order of their own step, shrunk towards zero, and cut like numbers; where nothing
is known of a code (a value never seen, a missing value where none was missing), it stands in the middle, at a step of zero. Missing
values of an ordered column are tried on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.discover.bins import Bins, Codes
from multivalid.discover.histogram import RowNumbers, histogram, partition
from multivalid.properties.base import Array

PRIOR_ROWS = 25.0  # a leaf's step is shrunk as if so many rows without error stood beside its own
CATEGORY_PRIOR_ROWS = 100.0  # the same for the order of categories, which is chosen from many
LONGEST = 2.0  # units of the link that one leaf may ask for
LEAST_ROWS = 10  # of a leaf
CODES = 256


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


def grow(bins: Sequence[Bins], codes: Codes, rows: RowNumbers, gradient: Array, slope: Array, depth: int = 3) -> Grown:
    """The tree of Newton steps −G/(H + prior), not yet multiplied by a rate."""
    unit = max(float(slope[rows].mean()), 1e-300)
    return _Grower(bins, codes, gradient, slope, unit).tree(rows, depth)


@dataclass
class _Open:
    """A node that may still be split."""

    rows: RowNumbers
    sums: Array


@dataclass
class _Grower:
    bins: Sequence[Bins]
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
        first, second = self._divided(node, column, left, last=depth == 1)
        return Split(
            column, left[: self.bins[column].size], (self._node(first, depth - 1, leaves), self._node(second, depth - 1, leaves))
        )

    def _divided(self, node: _Open, column: int, left: NDArray[np.bool_], last: bool) -> tuple[_Open, _Open]:
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


@dataclass(frozen=True)
class Layout:
    """What the search for a split needs to know of the columns: which are ordered, and where the codes of missing values stand."""

    ordered: NDArray[np.bool_]
    missing: NDArray[np.intp]
    width: int

    @classmethod
    def of(cls, bins: Sequence[Bins]) -> Layout:
        """Of columns with these bins."""
        sizes = np.array([one.size for one in bins], dtype=np.intp)
        return cls(np.array([one.ordered for one in bins]), sizes - 1, int(sizes.max()))


def best_split(layout: Layout, sums: Array, unit: float) -> tuple[int, NDArray[np.bool_]] | None:
    """The column and the codes that go left, of the split with the largest gain; None where none gains anything."""
    total, prior = sums[0].sum(axis=0), PRIOR_ROWS * unit
    ranked, order, missing = _in_order(layout, sums, unit)
    left = np.cumsum(ranked, axis=1)
    best, choice = float(_one_side(total, prior)) * (1 + 1e-9) + 1e-300, None
    for with_missing in (False, True) if missing[:, 2].any() else (False,):
        if with_missing:
            left += missing[:, None]
        gain = _gain(left, total, prior)
        column, cut = divmod(int(np.argmax(gain)), layout.width)
        if gain[column, cut] > best:
            best, choice = float(gain[column, cut]), (column, cut, with_missing)
    return None if choice is None else _codes_left(layout, order, sums, *choice)


def _in_order(layout: Layout, sums: Array, unit: float) -> tuple[Array, NDArray[np.intp], Array]:
    """Histograms with the codes of each column in the order in which they may be cut, that order, and the sums of missing values of
    ordered columns, which are left out of the first."""
    place = np.arange(layout.width)
    step = sums[:, :, 0] / (sums[:, :, 1] + CATEGORY_PRIOR_ROWS * unit)
    step[layout.ordered] = place
    step[place > layout.missing[:, None]] = np.inf
    order = np.argsort(step, axis=1, kind="stable")
    columns = np.arange(len(sums))
    missing = np.where(layout.ordered[:, None], sums[columns, layout.missing], 0.0)
    ranked = sums[columns[:, None], order]
    ranked[layout.ordered, layout.missing[layout.ordered]] = 0.0
    return ranked, order, missing


def _gain(left: Array, total: Array, prior: float) -> Array:
    right = total - left
    gain = _one_side(left, prior) + _one_side(right, prior)
    gain[(left[:, :, 2] < LEAST_ROWS) | (right[:, :, 2] < LEAST_ROWS)] = -np.inf
    return gain


def _one_side(sums: Array, prior: float) -> Array:
    return np.asarray(sums[..., 0] ** 2 / (np.maximum(sums[..., 1], 0.0) + prior))


def _codes_left(
    layout: Layout, order: NDArray[np.intp], sums: Array, column: int, cut: int, with_missing: bool
) -> tuple[int, NDArray[np.bool_]]:
    left = np.zeros(CODES, dtype=bool)
    left[order[column, : cut + 1]] = True
    place = int(layout.missing[column])
    if layout.ordered[column]:
        # Where no value was missing, one that is goes with the larger side.
        rows = sums[column, :, 2]
        left[place] = with_missing if rows[place] > 0 else 2 * rows[: cut + 1].sum() >= rows.sum()
    left[place + 1 :] = False
    return column, left
