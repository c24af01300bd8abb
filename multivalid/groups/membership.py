"""Which rows belong to which groups: one bit each, group by group, never a dense float mask."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError

Bits = NDArray[np.uint8]
BLOCK = 1 << 16  # rows handled at a time when bits change orientation: eight groups of them fit the cache


class Patterns(NamedTuple):
    """Distinct combinations of groups: `code[i]` is the combination of row i, `bits[c]` its groups, packed."""

    code: NDArray[np.intp]
    bits: Bits


class Membership:
    """Packed bits, one row of bytes per group (bit i of a row is data row i, lowest bit first).

    Rows of bytes are padded to whole 64-bit words, so that `words` can be combined eight bytes at a time.

    Examples
    --------
    >>> import numpy as np
    >>> members = Membership.from_masks([np.array([True, True, True]), np.array([False, True, False])], rows=3)
    >>> members.groups, members.mask(1)
    (2, array([False,  True, False]))
    """

    def __init__(self, bits: Bits, rows: int) -> None:
        self.bits = bits
        self.rows = rows

    @property
    def groups(self) -> int:
        """Number of groups."""
        return int(self.bits.shape[0])

    @property
    def words(self) -> NDArray[np.uint64]:
        """The same bits, 64 rows to a word."""
        return self.bits.view(np.uint64)

    # ---- in ----------------------------------------------------------------------------------------------------
    @classmethod
    def from_masks(cls, masks: Iterable[NDArray[np.bool_]], rows: int) -> Membership:
        """From one boolean mask per group."""
        packed = []
        for mask in masks:
            if mask.shape != (rows,) or mask.dtype != np.bool_:
                raise InputError(
                    f"masks must be booleans of shape ({rows},), one for every row, got {mask.dtype} of shape {mask.shape}."
                )
            line = np.zeros(_bytes(rows), dtype=np.uint8)
            line[: (rows + 7) // 8] = np.packbits(mask, bitorder="little")
            packed.append(line)
        return cls(np.array(packed, dtype=np.uint8).reshape(len(packed), _bytes(rows)), rows)

    @classmethod
    def from_dense(cls, array: NDArray[np.bool_]) -> Membership:
        """From a boolean array of shape (rows, groups); every row also belongs to the population, put first."""
        if array.ndim != 2 or array.dtype != np.bool_:
            raise InputError(f"array must be booleans of shape (rows, groups), got {array.dtype} of shape {array.shape}.")
        rows, groups = array.shape
        everyone = np.zeros((1, _bytes(rows)), dtype=np.uint8)
        everyone[0, : (rows + 7) // 8] = np.packbits(np.ones(rows, dtype=bool), bitorder="little")
        others = cls.from_rows(np.packbits(array, axis=1, bitorder="little"), groups)
        return cls(np.concatenate([everyone, others.bits]), rows)

    @classmethod
    def from_rows(cls, by_row: Bits, groups: int) -> Membership:
        """From one row of packed bytes per data row, as `by_row` gives them."""
        rows = by_row.shape[0]
        bits = np.zeros((groups, _bytes(rows)), dtype=np.uint8)
        for group, flags in enumerate(columns_of(by_row, range(groups))):
            bits[group, : (rows + 7) // 8] = np.packbits(flags, bitorder="little")
        return cls(bits, rows)

    # ---- out ---------------------------------------------------------------------------------------------------
    def mask(self, group: int) -> NDArray[np.bool_]:
        """One group as a boolean array over the rows."""
        return np.unpackbits(self.bits[group], count=self.rows, bitorder="little").view(np.bool_)

    def dense(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Zeros and ones of consecutive rows: shape (groups, stop − start)."""
        first = start // 8
        part = np.unpackbits(self.bits[:, first : (stop + 7) // 8], axis=1, count=stop - 8 * first, bitorder="little")
        return part[:, start - 8 * first :]

    def sizes(self) -> NDArray[np.intp]:
        """Number of rows of each group."""
        return np.asarray(np.bitwise_count(self.words).sum(axis=1), dtype=np.intp)

    def by_row(self) -> Bits:
        """The transpose: one row of bytes per data row, padded to whole words (bit g is group g, lowest bit first)."""
        out = np.zeros((self.rows, _bytes(self.groups)), dtype=np.uint8)
        for start in range(0, self.rows, BLOCK):
            stop = min(start + BLOCK, self.rows)
            part = self.bits[:, start // 8 : (stop + 7) // 8]
            for first in range(0, self.groups, 8):
                flags = np.unpackbits(part[first : first + 8], axis=1, count=stop - start, bitorder="little")
                out[start:stop, first // 8] = _digits(flags)
        return out

    def patterns(self) -> Patterns:
        """The distinct combinations of groups among the rows."""
        return distinct(self.by_row())

    def take(self, rows: NDArray[np.intp]) -> Membership:
        """The same groups on a selection of rows."""
        return Membership.from_rows(self.by_row()[rows], self.groups)


def columns_of(by_row: Bits, groups: Iterable[int]) -> Iterator[Bits]:
    """One column of flags per group, zero or not, from packed rows."""
    for byte, run in itertools.groupby(groups, key=lambda group: group // 8):
        column = np.ascontiguousarray(by_row[:, byte])
        for group in run:
            yield column & np.uint8(1 << group % 8)


def _digits(flags: Bits) -> Bits:
    """Bytes whose binary digits are the lines of zeros and ones, the first line the lowest digit."""
    total = flags[-1]
    for line in flags[-2::-1]:
        np.add(total, total, out=total)  # a shift; NumPy's shift of bytes is many times slower
        total |= line
    return np.asarray(total)


def distinct(by_row: Bits) -> Patterns:
    """Distinct rows of packed bits, found through a 64-bit mix of their words and then checked word by word."""
    words = by_row.view(np.uint64)
    mixed = np.zeros(words.shape[0], dtype=np.uint64)
    for column in words.T:
        mixed = (mixed ^ (mixed >> np.uint64(29)) ^ column) * np.uint64(0x9E3779B97F4A7C15)
    _, first, code = np.unique(mixed, return_index=True, return_inverse=True)
    if not np.array_equal(words[first][code], words):  # two combinations with one mix: sort the words themselves
        _, first, code = np.unique(words, axis=0, return_index=True, return_inverse=True)
    return Patterns(code.reshape(-1), np.ascontiguousarray(by_row[first]))


def unpack(by_row: Bits, groups: int) -> NDArray[np.float64]:
    """Packed rows as zeros and ones, ready for a matrix product."""
    return np.unpackbits(by_row, axis=1, count=groups, bitorder="little").astype(np.float64)


def _bytes(bits: int) -> int:
    return (bits + 63) // 64 * 8
