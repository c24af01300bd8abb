"""The table everything turns on: sums over (level × group)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multivalid.groups.membership import Bits, unpack
from multivalid.properties.base import Array

SMALL_BLOCK = 1 << 11
BLOCK = 1 << 13  # rows unpacked at a time: 8192 rows × a few hundred groups of float64 stay in cache


def tabulate(by_row: Bits, level: NDArray[np.intp], sums: Array, levels: int, groups: int) -> Array:
    """Σ over the rows (or atoms) at each level and in each group of every column of `sums`: shape (levels, groups, K).

    One matrix product per block of one level: sums'·bits.
    """
    order = np.argsort(level.astype(np.int32), kind="stable")
    starts = np.searchsorted(level[order], np.arange(levels + 1))
    table = np.zeros((levels, sums.shape[1], groups))
    for j in range(levels):
        for start in range(starts[j], starts[j + 1], BLOCK):
            rows = order[start : min(start + BLOCK, starts[j + 1])]
            table[j] += sums[rows].T @ unpack(by_row[rows], groups)
    return np.ascontiguousarray(table.transpose(0, 2, 1))


def group_sums(by_row: Bits, sums: Array, groups: int) -> Array:
    """Σ over the rows (or atoms) of each group, for every line of `sums` (K, rows): shape (K, groups)."""
    if by_row.shape[0] <= SMALL_BLOCK:
        return np.asarray(sums @ unpack(by_row, groups))
    table = np.zeros((sums.shape[0], groups))
    for start in range(0, by_row.shape[0], SMALL_BLOCK):
        table += sums[:, start : start + SMALL_BLOCK] @ unpack(by_row[start : start + SMALL_BLOCK], groups)
    return table
