"""Which rows belong to which groups: one code per row for groups that exclude each other, one bit for each of the others."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError

Bits = NDArray[np.uint8]
PADDING = np.zeros(7, dtype=np.uint8)
BLOCK = 1 << 16  # rows handled at a time when bits change orientation: eight groups of them fit the cache


class Patterns(NamedTuple):
    """Distinct combinations of groups: `code[i]` is the combination of row i, `bits[c]` its groups, packed."""

    code: NDArray[np.intp]
    bits: Bits


@dataclass(frozen=True, eq=False)
class Coded:
    """Groups that exclude each other, such as the values of a column: `codes[i]` is 0 where row i is in none, k in the k-th of them."""

    codes: NDArray[np.unsignedinteger[Any]]
    size: int

    def mask(self, group: int) -> NDArray[np.bool_]:
        """One of the groups as a boolean array over the rows."""
        return np.asarray(self.codes == group + 1)

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Number of rows of each group."""
        return count_codes(self.codes, self.size + 1)[1:]

    def lines(self) -> Bits:
        """One row of packed bytes per group."""
        return np.stack([_packed(self.codes == group + 1) for group in range(self.size)])

    def take(self, rows: NDArray[Any]) -> Coded:
        """The same groups on a selection of rows."""
        return Coded(self.codes[rows], self.size)

    def part(self, start: int, stop: int) -> Coded:
        """The same groups on consecutive rows."""
        return Coded(self.codes[start:stop], self.size)

    def choose(self, groups: Sequence[int]) -> Coded:
        """Some of the groups."""
        if len(groups) == self.size:
            return self
        new = np.zeros(self.size + 1, dtype=self.codes.dtype)
        new[np.asarray(groups, dtype=np.intp) + 1] = np.arange(1, len(groups) + 1)
        return Coded(new[self.codes], len(groups))


@dataclass(frozen=True, eq=False)
class Flagged:
    """Groups of any kind: one row of packed bytes each (bit i is data row i, lowest bit first)."""

    bits: Bits
    rows: int

    @property
    def size(self) -> int:
        """Number of groups."""
        return int(self.bits.shape[0])

    def mask(self, group: int) -> NDArray[np.bool_]:
        """One of the groups as a boolean array over the rows."""
        return np.unpackbits(self.bits[group], count=self.rows, bitorder="little").view(np.bool_)

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Number of rows of each group."""
        return np.asarray(np.bitwise_count(self.bits.view(np.uint64)).sum(axis=1), dtype=np.intp)

    def lines(self) -> Bits:
        """One row of packed bytes per group."""
        return self.bits

    def dense(self, start: int, stop: int) -> Bits:
        """Zeros and ones of consecutive rows: shape (groups, stop − start)."""
        first = start // 8
        part = np.unpackbits(self.bits[:, first : (stop + 7) // 8], axis=1, count=stop - 8 * first, bitorder="little")
        return part[:, start - 8 * first :]

    def part(self, start: int, stop: int) -> Flagged:
        """The same groups on consecutive rows from a multiple of 64 on; nothing is copied."""
        return Flagged(self.bits[:, start // 8 : (stop + 63) // 64 * 8], stop - start)

    def by_row(self) -> Bits:
        """The transpose: one row of bytes per data row, padded to whole words (bit g is group g, lowest bit first)."""
        out = np.zeros((self.rows, _bytes(self.size)), dtype=np.uint8)
        for start in range(0, self.rows, BLOCK):
            stop = min(start + BLOCK, self.rows)
            part = self.bits[:, start // 8 : (stop + 7) // 8]
            for first in range(0, self.size, 8):
                flags = np.unpackbits(part[first : first + 8], axis=1, count=stop - start, bitorder="little")
                out[start:stop, first // 8] = _digits(flags)
        return out

    def take(self, rows: NDArray[Any]) -> Flagged:
        """The same groups on a selection of rows."""
        return pack_rows(self.by_row()[rows], self.size)

    def choose(self, groups: Sequence[int]) -> Flagged:
        """Some of the groups."""
        return self if len(groups) == self.size else Flagged(self.bits[np.asarray(groups, dtype=np.intp)], self.rows)


Part: TypeAlias = Coded | Flagged


def count_codes(codes: NDArray[Any], size: int, least: int = 0) -> NDArray[np.intp]:
    """How often each of the `size` codes from the least on occurs; counted block by block, as NumPy counts a copy in wide integers.

    Examples
    --------
    >>> count_codes(np.array([2, 0, 2], dtype=np.uint8), 4)
    array([1, 0, 2, 0])
    """
    found = np.zeros(size, dtype=np.intp)
    for start in range(0, codes.size, BLOCK):
        part = codes[start : start + BLOCK]
        found += np.bincount(part - least if least else part, minlength=size)
    return found


class Membership:
    """Groups in parts: codes where groups exclude each other, packed bits where they may overlap.

    `bits` has one row of bytes per group (bit i of a row is data row i, lowest bit first), padded to whole 64-bit words, so that `words`
    can be combined eight bytes at a time; of codes it is made when it is first asked for.

    Examples
    --------
    >>> import numpy as np
    >>> members = Membership.from_masks([np.array([True, True, True]), np.array([False, True, False])], rows=3)
    >>> members.groups, members.mask(1)
    (2, array([False,  True, False]))
    """

    def __init__(self, bits: Bits, rows: int) -> None:
        self.parts: tuple[Part, ...] = (Flagged(bits, rows),)
        self.groups, self.rows = len(bits), rows

    @cached_property
    def bits(self) -> Bits:
        """One row of packed bytes per group."""
        lines = [part.lines() for part in self.parts if part.size]
        return lines[0] if len(lines) == 1 else np.concatenate(lines or [np.zeros((0, _bytes(self.rows)), dtype=np.uint8)])

    @property
    def words(self) -> NDArray[np.uint64]:
        """The same bits, 64 rows to a word."""
        return self.bits.view(np.uint64)

    # ---- in ----------------------------------------------------------------------------------------------------
    @classmethod
    def of(cls, parts: Iterable[Part], rows: int) -> Membership:
        """From parts, whose groups are counted through in their order."""
        made = cls.__new__(cls)
        made.parts, made.rows = (), rows
        for flags, run in itertools.groupby((part for part in parts if part.size), key=lambda part: isinstance(part, Flagged)):
            here = tuple(run)
            # Neighbours of bits are one part: what is done part by part is then done once for all of them.
            made.parts += (Flagged(np.concatenate([part.lines() for part in here]), rows),) if flags and len(here) > 1 else here
        made.groups = sum(part.size for part in made.parts)
        return made

    @classmethod
    def from_masks(cls, masks: Iterable[NDArray[np.bool_]], rows: int) -> Membership:
        """From one boolean mask per group."""
        packed = []
        for mask in masks:
            if mask.shape != (rows,) or mask.dtype != np.bool_:
                raise InputError(
                    f"masks must be booleans of shape ({rows},), one for every row, got {mask.dtype} of shape {mask.shape}."
                )
            packed.append(_packed(mask))
        return cls(np.array(packed, dtype=np.uint8).reshape(len(packed), _bytes(rows)), rows)

    @classmethod
    def from_dense(cls, array: NDArray[np.bool_]) -> Membership:
        """From a boolean array of shape (rows, groups); every row also belongs to the population, put first."""
        if array.ndim != 2 or array.dtype != np.bool_:
            raise InputError(f"array must be booleans of shape (rows, groups), got {array.dtype} of shape {array.shape}.")
        rows, groups = array.shape
        others = pack_rows(np.packbits(array, axis=1, bitorder="little"), groups)
        return cls(np.concatenate([_packed(np.ones(rows, dtype=bool))[None], others.bits]), rows)

    @classmethod
    def from_rows(cls, by_row: Bits, groups: int) -> Membership:
        """From one row of packed bytes per data row, as `by_row` gives them."""
        return cls.of([pack_rows(by_row, groups)], by_row.shape[0])

    # ---- out ---------------------------------------------------------------------------------------------------
    def mask(self, group: int) -> NDArray[np.bool_]:
        """One group as a boolean array over the rows."""
        for part in self.parts:
            if group < part.size:
                return part.mask(group)
            group -= part.size
        raise IndexError(group)

    def dense(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Zeros and ones of consecutive rows: shape (groups, stop − start)."""
        return Flagged(self.bits, self.rows).dense(start, stop)

    def part(self, start: int, stop: int) -> Membership:
        """The same groups on consecutive rows from a multiple of 64 on; nothing is copied."""
        return Membership.of((part.part(start, stop) for part in self.parts), stop - start)

    def sizes(self) -> NDArray[np.intp]:
        """Number of rows of each group."""
        return np.concatenate([part.sizes for part in self.parts])

    def by_row(self) -> Bits:
        """The transpose: one row of bytes per data row, padded to whole words (bit g is group g, lowest bit first)."""
        return Flagged(self.bits, self.rows).by_row()

    def patterns(self) -> Patterns:
        """The distinct combinations of groups among the rows."""
        return distinct(self.by_row())

    def take(self, rows: NDArray[Any]) -> Membership:
        """The same groups on a selection of rows: positions, or one boolean per row."""
        kept = np.count_nonzero(rows) if rows.dtype == np.bool_ else rows.size
        return Membership.of((part.take(rows) for part in self.parts), int(kept))

    def twins(self) -> list[int]:
        """For each group the first group that holds the same rows, itself where there is none before it."""
        sizes = self.sizes()
        part = np.repeat(np.arange(len(self.parts)), [one.size for one in self.parts])
        shared = np.zeros(sizes.size, dtype=bool)
        for size, often in zip(*np.unique(sizes, return_counts=True), strict=True):
            if size and often > 1:  # only groups of one size can be the same, and groups of one code never are
                alike = np.flatnonzero(sizes == size)
                parts, counts = np.unique(part[alike], return_counts=True)
                shared[alike] = parts.size > 1 or (isinstance(self.parts[parts[0]], Flagged) and counts[0] > 1)
        first: dict[Any, int] = {}
        answer = list(range(sizes.size))
        for group in np.flatnonzero(shared):
            line = _packed(self.mask(int(group))) if isinstance(self.parts[part[group]], Coded) else self._line(int(group))
            # A digest, not the bits: thousands of groups on millions of rows would not fit beside the data.
            answer[group] = first.setdefault(hashlib.blake2b(line.data, digest_size=16).digest(), int(group))
        return answer

    def _line(self, group: int) -> Bits:
        for part in self.parts:
            if group < part.size:
                return np.asarray(part.lines()[group])
            group -= part.size
        raise IndexError(group)

    def choose(self, groups: Sequence[int]) -> Membership:
        """Some of the groups, in their order."""
        parts, start, wanted = [], 0, np.asarray(groups, dtype=np.intp)
        for part in self.parts:
            inside = wanted[(wanted >= start) & (wanted < start + part.size)] - start
            parts.append(part.choose(inside.tolist()))
            start += part.size
        return Membership.of(parts, self.rows)


def everyone(rows: int) -> Coded:
    """The population as a part of its own."""
    return Coded(np.ones(rows, dtype=np.uint8), 1)


def pack_masks(masks: Iterable[NDArray[np.bool_]], rows: int) -> Flagged:
    """Groups from one boolean mask each."""
    lines = [_packed(mask) for mask in masks]
    return Flagged(np.array(lines, dtype=np.uint8).reshape(len(lines), _bytes(rows)), rows)


def pack_rows(by_row: Bits, groups: int) -> Flagged:
    """Groups from one row of packed bytes per data row."""
    rows = by_row.shape[0]
    bits = np.zeros((groups, _bytes(rows)), dtype=np.uint8)
    for group, flags in enumerate(columns_of(by_row, range(groups))):
        bits[group, : (rows + 7) // 8] = np.packbits(flags, bitorder="little")
    return Flagged(bits, rows)


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


def _packed(mask: NDArray[np.bool_]) -> Bits:
    """Booleans as bits, padded to whole words."""
    line = np.packbits(mask, bitorder="little")
    return np.append(line, PADDING[: -line.size % 8])


def _bytes(bits: int) -> int:
    return (bits + 63) // 64 * 8
