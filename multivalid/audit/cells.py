"""The table everything turns on: sums over (level × group)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multivalid.groups.membership import Bits, unpack
from multivalid.properties.base import Array

LARGEST_HISTOGRAM = 1 << 20  # bins; beyond it a histogram no longer fits the cache
BLOCK = 1 << 11  # rows unpacked at a time: 2048 rows × a few hundred groups of float64 stay in cache


def tabulate(by_row: Bits, level: NDArray[np.intp], sums: Array, levels: int, groups: int) -> Array:
    """Σ over the rows (or atoms) at each level and in each group of every column of `sums`: shape (levels, groups, K).

    Rows are counted by (level, byte of eight groups): one histogram then serves eight groups, each the sum of the 128 byte values
    that have its bit. A matrix product with the unpacked bits would do eight times the work, and its threads wait for each other on a
    busy machine.

    Examples
    --------
    >>> bits = np.array([[0b01], [0b11], [0b11]], dtype=np.uint8)
    >>> tabulate(bits, np.array([0, 0, 1]), np.array([[1.0], [2.0], [4.0]]), levels=2, groups=2)[:, :, 0]
    array([[3., 2.],
           [4., 4.]])
    """
    columns = [np.ascontiguousarray(column) for column in sums.T]
    table = np.zeros((levels, groups, len(columns)))
    width = next((bits for bits in (8, 4, 2) if levels << bits <= LARGEST_HISTOGRAM), 1)
    values = np.arange(1 << width)
    has_bit = (values[:, None] >> np.arange(width) & 1).astype(np.float64)
    base = level << width
    for start in range(0, groups, width):
        stop = min(start + width, groups)
        key = base | (by_row[:, start // 8] >> np.uint8(start % 8) & np.uint8(values[-1]))
        for k, column in enumerate(columns):
            histogram = np.bincount(key, weights=column, minlength=levels << width).reshape(levels, -1)
            table[:, start:stop, k] = (histogram @ has_bit)[:, : stop - start]
    return table


def group_sums(by_row: Bits, sums: Array, groups: int) -> Array:
    """Σ over the rows (or atoms) of each group, for every line of `sums` (K, rows): shape (K, groups)."""
    if by_row.shape[0] <= BLOCK:
        return np.asarray(sums @ unpack(by_row, groups))
    table = np.zeros((sums.shape[0], groups))
    for start in range(0, by_row.shape[0], BLOCK):
        table += sums[:, start : start + BLOCK] @ unpack(by_row[start : start + BLOCK], groups)
    return table
