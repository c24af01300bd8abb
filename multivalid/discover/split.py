"""The best split of a node: every cut of every column tried on its histograms; compiled where there is a library (`kernels/split.c`).

The gain of a split is G²/(H + prior) of its two sides less that of the whole, G = Σ w·V and H = Σ of its slope: what a Newton step in
each leaf takes off the loss. Categories are put in the order of their own step, shrunk towards zero, and cut like numbers; where nothing
is known of a code (a value never seen, a missing value where none was missing), it stands in the middle, at a step of zero. Missing
values of an ordered column are tried on both sides.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from multivalid.kernels import library
from multivalid.properties.base import Array

PRIOR_ROWS = 50.0  # a leaf's step is shrunk as if so many rows without error stood beside its own
CATEGORY_PRIOR_ROWS = 100.0  # the same for the order of categories, which is chosen from many
LEAST_ROWS = 10  # of a leaf
CODES = 256

Order = NDArray[np.int64]


class Cuttable(Protocol):
    """What the search for a split asks of a column of codes."""

    @property
    def size(self) -> int:
        """Number of codes; the last is for missing values."""

    @property
    def ordered(self) -> bool:
        """Whether codes are cut in their own order, or by what their rows ask for."""


@dataclass(frozen=True)
class Layout:
    """What the search for a split needs to know of the columns: which are ordered, and where the codes of missing values stand."""

    ordered: NDArray[np.bool_]
    missing: NDArray[np.int64]
    width: int

    @classmethod
    def of(cls, bins: Sequence[Cuttable]) -> Layout:
        """Of columns with these bins."""
        sizes = np.array([one.size for one in bins], dtype=np.int64)
        return cls(np.array([one.ordered for one in bins]), sizes - 1, int(sizes.max()))


class _Node(ctypes.Structure):
    """`struct node` of kernels/split.c."""

    _fields_ = (
        ("sums", ctypes.c_void_p), ("columns", ctypes.c_int64), ("column_step", ctypes.c_int64), ("code_step", ctypes.c_int64),
        ("ordered", ctypes.c_void_p), ("missing", ctypes.c_void_p), ("total", ctypes.c_double * 3), ("prior", ctypes.c_double),
        ("category_prior", ctypes.c_double), ("least_rows", ctypes.c_double), ("floor", ctypes.c_double),
    )  # fmt: skip


def best_split(layout: Layout, sums: Array, unit: float) -> tuple[int, NDArray[np.bool_]] | None:
    """The column and the codes that go left, of the split with the largest gain; None where none gains anything."""
    total, prior = sums[0].sum(axis=0), PRIOR_ROWS * unit
    floor = float(_one_side(total, prior)) * (1 + 1e-9) + 1e-300
    compiled = library.function("multivalid_best_split", [ctypes.c_void_p] * 3, ctypes.c_int64)
    if compiled is None:
        return _best_split(layout, sums, unit, total, floor)
    steps = sums.strides[0] // sums.itemsize, sums.strides[1] // sums.itemsize
    node = _Node(
        sums.ctypes.data, len(sums), *steps, layout.ordered.ctypes.data, layout.missing.ctypes.data, tuple(total.tolist()), prior,
        CATEGORY_PRIOR_ROWS * unit, LEAST_ROWS, floor,
    )  # fmt: skip
    choice, order = np.zeros(3, dtype=np.int64), np.zeros(CODES, dtype=np.int64)
    if not compiled(ctypes.addressof(node), choice.ctypes.data, order.ctypes.data):
        return None
    column, cut, with_missing = choice.tolist()
    return _codes_left(layout, order, sums, column, cut, bool(with_missing))


def _best_split(layout: Layout, sums: Array, unit: float, total: Array, best: float) -> tuple[int, NDArray[np.bool_]] | None:
    prior, choice = PRIOR_ROWS * unit, None
    ranked, order, missing = _in_order(layout, sums, unit)
    left = np.cumsum(ranked, axis=1)
    for with_missing in (False, True) if missing[:, 2].any() else (False,):
        if with_missing:
            left += missing[:, None]
        gain = _gain(left, total, prior)
        column, cut = divmod(int(np.argmax(gain)), layout.width)
        if gain[column, cut] > best:
            best, choice = float(gain[column, cut]), (column, cut, with_missing)
    return None if choice is None else _codes_left(layout, order[choice[0]], sums, *choice)


def _in_order(layout: Layout, sums: Array, unit: float) -> tuple[Array, Order, Array]:
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
    layout: Layout, order: Order, sums: Array, column: int, cut: int, with_missing: bool
) -> tuple[int, NDArray[np.bool_]]:
    left = np.zeros(CODES, dtype=bool)
    left[order[: cut + 1]] = True
    place = int(layout.missing[column])
    if layout.ordered[column]:
        # Where no value was missing, one that is goes with the larger side.
        rows = sums[column, :, 2]
        left[place] = with_missing if rows[place] > 0 else 2 * rows[: cut + 1].sum() >= rows.sum()
    left[place + 1 :] = False
    return column, left
