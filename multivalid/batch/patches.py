"""Replaying patches on rows, 64 at a time: a patch is a handful of word operations on bit masks of the levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multivalid.batch.algorithm import Patch
from multivalid.groups.membership import Membership

BLOCK = 1 << 17  # rows at a time: masks of all levels and groups stay in cache
Words = NDArray[np.uint64]


def replay(patches: Sequence[Patch], level: NDArray[np.intp], levels: int, membership: Membership) -> NDArray[np.intp]:
    """Level of each row after all patches, in order, from its start level.

    Examples
    --------
    >>> everyone, second = np.ones(3, dtype=bool), np.array([False, True, False])
    >>> members = Membership.from_masks([everyone, second], rows=3)
    >>> replay([Patch(1, 0, 2), Patch(0, 2, 1)], np.array([0, 0, 2]), 3, members)
    array([0, 1, 1])
    """
    planes = max(1, int(levels - 1).bit_length())
    out = np.empty(level.size, dtype=np.intp)
    for start in range(0, level.size, BLOCK):
        stop = min(start + BLOCK, level.size)
        groups = membership.words[:, start // 64 : (stop + 63) // 64]
        masks = _level_masks(level[start:stop], levels, planes, groups.shape[1])
        _apply(patches, masks, groups)
        out[start:stop] = _levels(masks, planes, stop - start)
    return out


def _apply(patches: Sequence[Patch], masks: Words, groups: Words) -> None:
    moving = np.empty(masks.shape[1], dtype=np.uint64)
    for group, source, target in patches:
        np.bitwise_and(masks[source], groups[group], out=moving)
        masks[source] ^= moving
        masks[target] |= moving


def _level_masks(level: NDArray[np.intp], levels: int, planes: int, words: int) -> Words:
    """One bit mask per level, decoded from the binary digits of the levels (log₂ as many passes as levels)."""
    masks = np.full((1, words), ~np.uint64(0))
    for digit in range(planes):
        ones = np.zeros(words * 8, dtype=np.uint8)
        packed = np.packbits((level >> digit) & 1 == 1, bitorder="little")
        ones[: packed.size] = packed
        bit = ones.view(np.uint64)
        masks = np.concatenate([masks & ~bit, masks & bit])
    return masks[:levels]


def _levels(masks: Words, planes: int, rows: int) -> NDArray[np.intp]:
    out = np.zeros(rows, dtype=np.intp)
    index = np.arange(masks.shape[0])
    for digit in range(planes):
        bit = np.bitwise_or.reduce(masks[index >> digit & 1 == 1], axis=0, initial=0)
        out |= np.unpackbits(bit.view(np.uint8), count=rows, bitorder="little").astype(np.intp) << digit
    return out
