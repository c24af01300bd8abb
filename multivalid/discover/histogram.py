"""Sums by code, by pair of codes, and rows split in two: compiled where there is a library (`kernels/histogram.c`), else in NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.discover.bins import Codes
from multivalid.kernels import library
from multivalid.properties.base import Array

RowNumbers = NDArray[np.int32]
_SIZE, _POINTER = ctypes.c_size_t, ctypes.c_void_p


def histogram(codes: Codes, width: int, rows: RowNumbers, first: Array, second: Array) -> Array:
    """Σ first, Σ second and the number of the given rows by column and code: (columns, width, 3); `codes` is (rows, columns)."""
    columns = codes.shape[1]
    compiled = library.function("multivalid_histogram", [_POINTER, _SIZE, _SIZE, _POINTER, _SIZE, _POINTER, _POINTER, _POINTER])
    if compiled is None:
        return _histogram(codes, width, rows, first, second)
    out = np.zeros((columns, width, 4))
    compiled(_at(codes), columns, width, _at(rows), rows.size, _at(first), _at(second), _at(out))
    return out[:, :, :3]


def _histogram(codes: Codes, width: int, rows: RowNumbers, first: Array, second: Array) -> Array:
    out = np.empty((codes.shape[1], width, 3))
    a, b = first[rows], second[rows]
    for c, column in enumerate(np.ascontiguousarray(codes[rows].T)):
        for place, weights in enumerate((a, b, None)):
            out[c, :, place] = np.bincount(column, weights, width)
    return out


def pair_histograms(
    columns: Codes, pairs: Sequence[tuple[int, int]], sizes: Sequence[int], first: Array, second: Array
) -> list[Array]:
    """The same sums by the codes of two columns, (codes of one, codes of the other, 3) for each pair; `columns` is (columns, rows)."""
    shapes = [(sizes[f], sizes[g], 3) for f, g in pairs]
    starts = np.concatenate([[0], np.cumsum([a * b for a, b, _ in shapes])]).astype(np.int64)
    out = np.zeros((int(starts[-1]), 3))
    compiled = library.function(
        "multivalid_pair_histograms", [_POINTER, _SIZE, _POINTER, _SIZE, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER]
    )
    if compiled is None:
        for (f, g), shape, start in zip(pairs, shapes, starts[:-1], strict=True):
            key = columns[f] * np.uint16(shape[1]) + columns[g]
            for place, weights in enumerate((first, second, None)):
                out[start : start + shape[0] * shape[1], place] = np.bincount(key, weights, shape[0] * shape[1])
    else:
        named, wide = np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(sizes, dtype=np.int64)
        compiled(_at(columns), columns.shape[1], _at(named), len(named), _at(wide), _at(starts), _at(first), _at(second), _at(out))
    return [out[a:b].reshape(shape) for a, b, shape in zip(starts[:-1], starts[1:], shapes, strict=True)]


def partition(codes: Codes, column: int, left: NDArray[np.bool_], rows: RowNumbers) -> tuple[RowNumbers, RowNumbers]:
    """The rows whose code in a column is among `left`, and the others, each in their order."""
    compiled = library.function(
        "multivalid_partition", [_POINTER, _SIZE, _SIZE, _POINTER, _POINTER, _SIZE, _POINTER, _POINTER], _SIZE
    )
    if compiled is None:
        side = left[codes[rows, column]]
        return rows[side], rows[~side]
    first, second = np.empty(rows.size + 1, dtype=np.int32), np.empty(rows.size + 1, dtype=np.int32)
    flags = left.astype(np.uint8)
    taken = compiled(_at(codes), codes.shape[1], column, _at(flags), _at(rows), rows.size, _at(first), _at(second))
    return first[:taken], second[: rows.size - taken]


def add_to_rows(out: Array, rows: RowNumbers, value: float) -> None:
    """Add a value to some rows, each named once."""
    compiled = library.function("multivalid_add_to_rows", [_POINTER, _POINTER, _SIZE, ctypes.c_double])
    if compiled is None:
        out[rows] += value
    else:
        compiled(_at(out), _at(rows), rows.size, value)


def _at(array: NDArray[Any]) -> int:
    assert array.flags.c_contiguous
    return array.ctypes.data
