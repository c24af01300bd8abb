"""Small whole numbers per row (bits of groups, a level, a label bin) packed into as few 64-bit key columns as will hold them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.groups.engine import balanced
from multivalid.groups.membership import Bits
from multivalid.properties.base import Array
from multivalid.properties.expressions import where

Index = NDArray[np.intp]
ROOM = 1 << 62  # a key stays below this, so that no engine overflows a signed 64-bit integer


def place(value: nw.Expr, edges: Array) -> nw.Expr:
    """How many edges lie strictly below the value, as `numpy.searchsorted(edges, value, side="left")`; a tree of comparisons."""
    return _tree(value, [float(edge) for edge in edges], 0)


def _tree(value: nw.Expr, edges: list[float], first: int) -> nw.Expr:
    if not edges:
        return nw.lit(first, dtype=nw.Int64)
    middle = len(edges) // 2
    above = _tree(value, edges[middle + 1 :], first + middle + 1)
    return where(value > edges[middle], above, _tree(value, edges[:middle], first))


def look_up(index: nw.Expr, values: Sequence[float]) -> nw.Expr:
    """values[index], as a tree of comparisons."""
    return _leaves(index, [float(value) for value in values], 0)


def _leaves(index: nw.Expr, values: list[float], first: int) -> nw.Expr:
    if len(values) == 1:
        return nw.lit(values[0], dtype=nw.Float64)
    middle = len(values) // 2
    low = _leaves(index, values[:middle], first)
    return where(index < first + middle, low, _leaves(index, values[middle:], first + middle))


@dataclass(frozen=True)
class Digits:
    """The sizes of the numbers to pack, in order; number i lies in 0 … sizes[i] − 1.

    Examples
    --------
    >>> Digits((2, 50, 51)).split
    [[0, 1, 2]]
    >>> [len(part) for part in Digits((2,) * 100).split]
    [62, 38]
    """

    sizes: tuple[int, ...]

    @property
    def split(self) -> list[list[int]]:
        """Which numbers go into which key column."""
        parts: list[list[int]] = [[]]
        room = ROOM
        for i, size in enumerate(self.sizes):
            if size > room:
                parts.append([])
                room = ROOM
            room //= size
            parts[-1].append(i)
        return parts

    def pack(self, numbers: Sequence[nw.Expr]) -> list[nw.Expr]:
        """The key columns; booleans count as 0 and 1."""
        keys = []
        for part in self.split:
            terms, factor = [], 1
            for i in part:
                terms.append(numbers[i].cast(nw.Int64) * factor)
                factor *= self.sizes[i]
            keys.append(balanced(terms, operator.add) if terms else nw.lit(0, dtype=nw.Int64))
        return keys

    def unpack(self, keys: Sequence[NDArray[np.int64]]) -> list[Index]:
        """The numbers again."""
        out: list[Index] = []
        for part, key in zip(self.split, keys, strict=True):
            rest = np.asarray(key, dtype=np.int64)
            for i in part:
                rest, digit = np.divmod(rest, self.sizes[i])
                out.append(digit)
        return out


def packed_bits(flags: Sequence[Index], rows: int) -> Bits:
    """Bits of every group, one row of bytes per row, everyone first."""
    dense = np.ones((rows, len(flags) + 1), dtype=bool)
    for g, flag in enumerate(flags):
        dense[:, g + 1] = flag == 1
    packed = np.packbits(dense, axis=1, bitorder="little")
    out = np.zeros((rows, (dense.shape[1] + 63) // 64 * 8), dtype=np.uint8)
    out[:, : packed.shape[1]] = packed
    return out
