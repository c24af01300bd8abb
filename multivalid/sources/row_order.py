"""Rows in the order of their codes, those held out after the others: what is looked up for neighbours then stands side by side.

Compiled where there is a library (`kernels/rows.c`), else in NumPy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.kernels import library

Column = NDArray[Any]
BITS = 10  # of a code, the highest, that rows are ordered by: so many places to write to stay in the cache
_SIZE, _POINTER = ctypes.c_size_t, ctypes.c_void_p
PLACES, MOVES = (_POINTER, _POINTER, _SIZE, _SIZE, _SIZE, _POINTER, _POINTER), (_POINTER, _POINTER, _SIZE, _POINTER)


class RowOrder:
    """Puts batch after batch in order, in room that is kept: memory asked for anew costs more than the work.

    Examples
    --------
    >>> labels, codes = np.array([0.5, 1.5, 2.5, 3.5]), np.array([7, 2, 1, 2], dtype=np.uint8)
    >>> sides = RowOrder().sides([labels], codes, np.array([False, False, True, False]))
    >>> [[column.tolist() for column in side] for side in sides]
    [[[1.5, 3.5, 0.5], [2, 2, 7]], [[2.5], [1]]]
    """

    def __init__(self) -> None:
        self._room: dict[int, NDArray[np.uint8]] = {}

    def sides(self, columns: Sequence[Column], codes: Column, held: NDArray[np.bool_]) -> tuple[list[Column], list[Column]]:
        """Columns and codes of the rows that are not held out, and of those that are, each about in the order of their codes.

        They stay as they are until the next call.
        """
        shift = max(int(codes.max(initial=0)).bit_length() - BITS, 0)
        place = self._empty(0, codes.size, np.dtype(np.uint32))
        _find_places(codes, held.view(np.uint8), shift, place)
        moved = [
            _move(np.ascontiguousarray(column), place, self._empty(k, column.size, column.dtype))
            for k, column in enumerate([*columns, codes], 1)
        ]
        cut = codes.size - int(np.count_nonzero(held))
        return [column[:cut] for column in moved], [column[cut:] for column in moved]

    def _empty(self, number: int, size: int, kind: np.dtype[Any]) -> Column:
        if number not in self._room or self._room[number].size < size * kind.itemsize:
            self._room[number] = np.empty(size * kind.itemsize, dtype=np.uint8)
        return self._room[number][: size * kind.itemsize].view(kind)


def _find_places(codes: Column, side: NDArray[np.uint8], shift: int, out: NDArray[np.uint32]) -> None:
    """The new place of every row."""
    compiled = library.function(f"multivalid_place_rows_{codes.itemsize}", PLACES)
    if compiled is None:
        bucket = (codes >> codes.dtype.type(shift)).astype(np.uint16) + (side.astype(np.uint16) << BITS)
        out[np.argsort(bucket, kind="stable")] = np.arange(codes.size, dtype=np.uint32)
        return
    codes, side, starts = np.ascontiguousarray(codes), np.ascontiguousarray(side), np.zeros(2 << BITS, dtype=np.uint32)
    compiled(codes.ctypes.data, side.ctypes.data, codes.size, shift, 1 << BITS, starts.ctypes.data, out.ctypes.data)


def _move(column: Column, place: NDArray[np.uint32], out: Column) -> Column:
    compiled = library.function(f"multivalid_move_rows_{column.itemsize}", MOVES)
    if compiled is None:
        out[place] = column
    else:
        compiled(column.ctypes.data, place.ctypes.data, column.size, out.ctypes.data)
    return out
