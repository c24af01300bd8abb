"""Sums of columns over (place × group), a place being a level or a combination of levels: cost follows blocks, not groups."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.groups.membership import Bits, Coded, Membership, unpack
from multivalid.kernels import library
from multivalid.properties.base import Array

Index = NDArray[np.intp]
LARGEST_HISTOGRAM = 1 << 20  # bins; beyond it a histogram no longer fits the cache
STRIP = 1 << 14  # rows whose terms are worked out at a time: a dozen columns of them stay in the cache
BLOCK = 1 << 11  # rows unpacked at a time: 2048 rows × a few hundred groups of float64 stay in cache
_SIZE, _POINTER = ctypes.c_size_t, ctypes.c_void_p
ARGUMENTS = (_POINTER, _POINTER, _SIZE, _SIZE, _POINTER, _POINTER, _SIZE, _SIZE, _POINTER)
TOGETHER = 32  # columns that one call takes
_ONE = np.ones(1)


def tabulate_terms(
    membership: Membership, place: Index, places: int, terms: Callable[[slice], Mapping[str, Array | None]]
) -> dict[str, Array]:
    """Σ over the rows at each place and in each group, one table (places, groups) for every term; None stands for a column of ones.

    `terms` gives the terms of a run of rows by name; they are worked out strip by strip, so that they need not leave the cache, and one
    column under several names is summed once. Groups that exclude each other take one histogram over (code, place), however many they
    are.

    Examples
    --------
    >>> members = Membership.of([Coded(np.array([1, 2, 2], dtype=np.uint8), 2)], rows=3)
    >>> y = np.array([1.0, 2.0, 4.0])
    >>> tabulate_terms(members, np.array([0, 0, 1]), 2, lambda rows: {"y": y[rows]})["y"]
    array([[1., 2.],
           [0., 4.]])
    """
    parts: list[tuple[NDArray[np.unsignedinteger[Any]], Histogram]] = []
    for block in membership.parts:
        if isinstance(block, Coded):
            parts.append((block.codes, Histogram(block.size + 1, places, None)))
        else:
            parts += byte_histograms(block.by_row(), places, block.size)
    strip = STRIP if library.available() else max(membership.rows, 1)
    found: Mapping[str, Array | None] = {}
    for start in range(0, max(membership.rows, 1), strip):
        rows = slice(start, min(start + strip, membership.rows))
        found = terms(rows)
        distinct = list({id(term): term for term in found.values()}.values())
        for codes, part in parts:
            part.add(codes[rows], place[rows], distinct)
    order = {number: k for k, number in enumerate(dict.fromkeys(id(term) for term in found.values()))}
    tables = np.concatenate([part.table() for _, part in parts], axis=1)
    columns = [np.ascontiguousarray(tables[:, :, k]) for k in range(len(order))]
    return {name: columns[order[id(term)]] for name, term in found.items()}


def tabulate_groups(membership: Membership, place: Index, columns: Sequence[Array | None], places: int) -> list[Array]:
    """The same for columns that are there."""
    found = tabulate_terms(
        membership, place, places, lambda rows: {f"{k}": None if c is None else c[rows] for k, c in enumerate(columns)}
    )
    return list(found.values())


@dataclass
class Histogram:
    """Sums by (code, place), and how a code's sums belong to groups: `shares` is (codes, groups), or None where group g has code g + 1."""

    size: int
    places: int
    shares: Array | None
    sums: Array | None = None

    def add(self, codes: NDArray[np.unsignedinteger[Any]], place: Index, columns: Sequence[Array | None]) -> None:
        """Add columns of terms of some rows; None stands for ones."""
        sums = self.room(len(columns))
        compiled = library.function(f"multivalid_add_cells_{codes.itemsize}", ARGUMENTS) if codes.itemsize <= 4 else None
        if compiled is None:
            key = codes * np.intp(self.places) + place
            for k, column in enumerate(columns):
                sums[:, k] += np.bincount(key, weights=column, minlength=len(sums))
            return
        codes, place = np.ascontiguousarray(codes), np.ascontiguousarray(place, dtype=np.int64)
        given = [_ONE if column is None else np.asarray(column, dtype=np.float64) for column in columns]
        for first in range(0, len(given), TOGETHER):
            here = given[first : first + TOGETHER]
            starts = np.array([column.ctypes.data for column in here], dtype=np.uintp)
            steps = np.array([0 if column is _ONE else column.strides[0] // 8 for column in here], dtype=np.uintp)
            compiled(
                codes.ctypes.data, place.ctypes.data, codes.size, self.places,
                starts.ctypes.data, steps.ctypes.data, len(here), sums.shape[1], sums[:, first:].ctypes.data,
            )  # fmt: skip

    def room(self, columns: int) -> Array:
        """The sums, (code and place) by so many columns and a few that stay 0: whole fours, which are added in a few instructions."""
        if self.sums is None:
            self.sums = np.zeros((self.size * self.places, -(-columns // 4) * 4))
        return self.sums

    def table(self) -> Array:
        """The sums of the groups: (places, groups, columns)."""
        assert self.sums is not None
        by_code = self.sums.reshape(self.size, -1)
        by_group = by_code[1:] if self.shares is None else self.shares.T @ by_code
        return np.swapaxes(by_group.reshape(len(by_group), self.places, -1), 0, 1)

    def whole(self) -> Array:
        """The sums of all rows, whatever their code: (places, 1, columns)."""
        assert self.sums is not None
        return np.asarray(self.sums.reshape(self.size, self.places, -1).sum(axis=0)[:, None])


def byte_histograms(by_row: Bits, places: int, groups: int) -> Iterator[tuple[NDArray[np.uint8], Histogram]]:
    """Groups that may overlap are counted by the bytes of eight of them: one histogram then serves eight groups, each the sum of the 128
    byte values that have its bit. A matrix product with the unpacked bits would do eight times the work, and its threads wait for each
    other on a busy machine.
    """
    width = next((bits for bits in (8, 4, 2) if places << bits <= LARGEST_HISTOGRAM), 1)
    values = np.arange(1 << width)
    has_bit = (values[:, None] >> np.arange(width) & 1).astype(np.float64)
    for start in range(0, groups, width):
        codes = np.ascontiguousarray(by_row[:, start // 8] >> np.uint8(start % 8) & np.uint8(values[-1]))
        yield codes, Histogram(values.size, places, has_bit[:, : groups - start])


def tabulate(by_row: Bits, level: Index, sums: Array, levels: int, groups: int) -> Array:
    """The same for packed rows (or atoms) and the columns of one array: shape (levels, groups, K).

    Examples
    --------
    >>> bits = np.array([[0b01], [0b11], [0b11]], dtype=np.uint8)
    >>> tabulate(bits, np.array([0, 0, 1]), np.array([[1.0], [2.0], [4.0]]), levels=2, groups=2)[:, :, 0]
    array([[3., 2.],
           [4., 4.]])
    """
    terms, tables = np.asarray(sums, dtype=np.float64), []
    for codes, part in byte_histograms(by_row, levels, groups):  # one after the other: each may be as large as the cache
        part.add(codes, level, list(terms.T))
        tables.append(part.table()[:, :, : terms.shape[1]])
    return np.concatenate(tables, axis=1)


def group_sums(by_row: Bits, sums: Array, groups: int) -> Array:
    """Σ over the rows (or atoms) of each group, for every line of `sums` (K, rows): shape (K, groups)."""
    if by_row.shape[0] <= BLOCK:
        return np.asarray(sums @ unpack(by_row, groups))
    table = np.zeros((sums.shape[0], groups))
    for start in range(0, by_row.shape[0], BLOCK):
        table += sums[:, start : start + BLOCK] @ unpack(by_row[start : start + BLOCK], groups)
    return table
