"""Replaying patches on rows, 64 at a time: a patch is three word operations on bit masks of the levels.

A mask says which rows are *away* from its level. Then a move works in place: with s and t the masks of source and target and g the
group, `t ^= s; s |= g; t ^= s` sends the group's rows away from s, and brings to t exactly those that left s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.batch.moves import Patch
from multivalid.batch.replay_loop import Replay, Words
from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.properties.base import Array

BLOCK = 1 << 19  # rows at a time: enough for calls to cost little, few enough for the masks of all levels to stay in cache
CHUNK = 1 << 15  # rows at a time where levels become values
MANY = 1 << 14  # rows from which on values are looked up two at a time
Levels = NDArray[np.integer[Any]]


def replay(patches: Sequence[Patch], level: NDArray[np.intp], levels: int, membership: Membership) -> NDArray[np.intp]:
    """Level of each row after all patches, in order, from its start level.

    Examples
    --------
    >>> everyone, second = np.ones(3, dtype=bool), np.array([False, True, False])
    >>> members = Membership.from_masks([everyone, second], rows=3)
    >>> replay([Patch(1, 0, 2), Patch(0, 2, 1)], np.array([0, 0, 2]), 3, members)
    array([0, 1, 1])
    """
    out = np.empty(level.size, dtype=np.intp)
    room, move = _room(levels, membership), Replay(patches, levels, membership.groups)
    for rows, groups in _blocks(membership):
        away = _masks(level[rows], room[:, : groups.shape[1]])
        move(away, groups)
        out[rows] = _levels(away, out[rows].size)
    return out


def predict(patches: Sequence[Patch], predictions: Array, grid: Grid, membership: Membership) -> Array:
    """Predictions rounded to the grid, after all patches."""
    out, start = np.empty(predictions.size), grid.codes(predictions)
    room, move = _room(len(grid), membership), Replay(patches, len(grid), membership.groups)
    pairs = _pairs(grid.points) if predictions.size >= MANY and len(grid) <= 256 else None
    for rows, groups in _blocks(membership):
        away = _masks(start[rows], room[:, : groups.shape[1]])
        move(away, groups)
        level, values = _levels(away, out[rows].size), out[rows]
        even = 0 if pairs is None else level.size // 2 * 2
        if pairs is not None:
            _look_up(pairs, level[:even].view(np.uint16), values[:even].view(np.complex128))
        _look_up(grid.points, level[even:], values[even:])
    return out


def _blocks(membership: Membership) -> Iterator[tuple[slice, Words]]:
    """Rows and their groups, a block at a time."""
    words = membership.words
    for start in range(0, membership.rows, BLOCK):
        stop = min(start + BLOCK, membership.rows)
        yield slice(start, stop), words[:, start // 64 : (stop + 63) // 64]


def _room(levels: int, membership: Membership) -> Words:
    """Memory for the masks of one block, used again for the next."""
    return np.empty((levels, (min(BLOCK, membership.rows) + 63) // 64), dtype=np.uint64)


def _masks(level: Levels, away: Words) -> Words:
    """One bit mask per level, made from the binary digits of the levels (log₂ as many passes as levels)."""
    away[0] = 0
    for digit in range(_digits(away.shape[0])):
        bit = _pack(level & level.dtype.type(1 << digit), away.shape[1])
        lower, upper = _halves(away, digit)
        np.bitwise_or(lower, ~bit, out=upper)
        lower |= bit
    return away


def _levels(away: Words, rows: int) -> Levels:
    """Level of each row, put together from its binary digits; the masks are used up."""
    digits = _digits(away.shape[0])
    out: Levels = np.zeros(rows, dtype=np.uint8 if digits <= 8 else np.intp)
    for digit in reversed(range(digits)):
        lower, upper = _halves(away, digit)
        bit = ~np.bitwise_and.reduce(upper, axis=0)
        lower &= upper  # the top digit is read: fold it away
        np.add(out, out, out=out)  # a shift of all digits; NumPy's shift of bytes is many times slower
        out |= np.unpackbits(bit.view(np.uint8), count=rows, bitorder="little")
    return out


def _pairs(points: Array) -> NDArray[np.complex128]:
    """Two values side by side, at the number that the bytes of their two levels make: half as many look-ups as rows."""
    levels = np.arange(points.size << 8, dtype=np.uint16).view(np.uint8)
    return points.take(levels, mode="clip").view(np.complex128)


def _look_up(table: NDArray[Any], index: Levels, out: NDArray[Any]) -> None:
    for start in range(0, index.size, CHUNK):
        part = slice(start, start + CHUNK)
        # Indices are within the table, so clipping never acts: it lets NumPy write to its place without a copy.
        np.take(table, index[part], out=out[part], mode="clip")


def _halves(masks: Words, digit: int) -> tuple[Words, Words]:
    """The levels below 2^(digit + 1) that have this digit, and the same ones without it."""
    half = 1 << digit
    upper = masks[half : 2 * half]
    return masks[: upper.shape[0]], upper


def _digits(levels: int) -> int:
    return max(1, (levels - 1).bit_length())


def _pack(flags: NDArray[Any], words: int) -> Words:
    """Whether each value is not zero, as bits, padded to whole words."""
    out = np.zeros(words * 8, dtype=np.uint8)
    packed = np.packbits(flags, bitorder="little")
    out[: packed.size] = packed
    return out.view(np.uint64)
