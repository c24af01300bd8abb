"""Sums of columns over (place × group), a place being a level or a combination of levels: cost follows blocks, not groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multivalid.groups.membership import Bits, Coded, Membership, unpack
from multivalid.properties.base import Array

Index = NDArray[np.intp]
LARGEST_HISTOGRAM = 1 << 20  # bins; beyond it a histogram no longer fits the cache
BLOCK = 1 << 11  # rows unpacked at a time: 2048 rows × a few hundred groups of float64 stay in cache


def tabulate_groups(membership: Membership, place: Index, columns: Sequence[Array | None], places: int) -> list[Array]:
    """Σ over the rows at each place and in each group, one table (places, groups) per column; None stands for a column of ones.

    Groups that exclude each other take one histogram over (code, place), however many they are.

    Examples
    --------
    >>> members = Membership.of([Coded(np.array([1, 2, 2], dtype=np.uint8), 2)], rows=3)
    >>> tabulate_groups(members, np.array([0, 0, 1]), [np.array([1.0, 2.0, 4.0])], places=2)[0]
    array([[1., 2.],
           [0., 4.]])
    """
    tables = [np.empty((places, membership.groups)) for _ in columns]
    start = 0
    for part in membership.parts:
        stop = start + part.size
        if isinstance(part, Coded):
            found = _by_code(part, place, columns, places)
        else:
            found = _by_bits(part.by_row(), place, columns, places, part.size)
        for table, block in zip(tables, found, strict=True):
            table[:, start:stop] = block
        start = stop
    return tables


def _by_code(part: Coded, place: Index, columns: Sequence[Array | None], places: int) -> list[Array]:
    key = place if part.size == 1 and bool((part.codes == 1).all()) else None
    first = 0 if key is not None else 1  # everyone needs no code
    key = part.codes * np.intp(places) + place if key is None else key
    lines = part.size + first
    return [_histogram(key, column, lines * places).reshape(lines, places)[first:].T for column in columns]


def _histogram(key: Index, column: Array | None, size: int) -> Array:
    return np.bincount(key, weights=column, minlength=size).astype(np.float64, copy=False)


def _by_bits(by_row: Bits, place: Index, columns: Sequence[Array | None], places: int, groups: int) -> list[Array]:
    """Rows are counted by (place, byte of eight groups): one histogram then serves eight groups, each the sum of the 128 byte values
    that have its bit. A matrix product with the unpacked bits would do eight times the work, and its threads wait for each other on a
    busy machine.
    """
    tables = [np.zeros((places, groups)) for _ in columns]
    width = next((bits for bits in (8, 4, 2) if places << bits <= LARGEST_HISTOGRAM), 1)
    values = np.arange(1 << width)
    has_bit = (values[:, None] >> np.arange(width) & 1).astype(np.float64)
    base = place << width
    for start in range(0, groups, width):
        stop = min(start + width, groups)
        key = base | (by_row[:, start // 8] >> np.uint8(start % 8) & np.uint8(values[-1]))
        for table, column in zip(tables, columns, strict=True):
            histogram = _histogram(key, column, places << width).reshape(places, -1)
            table[:, start:stop] = (histogram @ has_bit)[:, : stop - start]
    return tables


def tabulate(by_row: Bits, level: Index, sums: Array, levels: int, groups: int) -> Array:
    """The same for packed rows (or atoms) and the columns of one array: shape (levels, groups, K).

    Examples
    --------
    >>> bits = np.array([[0b01], [0b11], [0b11]], dtype=np.uint8)
    >>> tabulate(bits, np.array([0, 0, 1]), np.array([[1.0], [2.0], [4.0]]), levels=2, groups=2)[:, :, 0]
    array([[3., 2.],
           [4., 4.]])
    """
    columns = [np.ascontiguousarray(column) for column in sums.T]
    return np.stack(_by_bits(by_row, level, columns, levels, groups), axis=2)


def group_sums(by_row: Bits, sums: Array, groups: int) -> Array:
    """Σ over the rows (or atoms) of each group, for every line of `sums` (K, rows): shape (K, groups)."""
    if by_row.shape[0] <= BLOCK:
        return np.asarray(sums @ unpack(by_row, groups))
    table = np.zeros((sums.shape[0], groups))
    for start in range(0, by_row.shape[0], BLOCK):
        table += sums[:, start : start + BLOCK] @ unpack(by_row[start : start + BLOCK], groups)
    return table
