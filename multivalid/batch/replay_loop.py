"""All patches on the masks of one block: compiled (`kernels/replay.c`) where there is a library, else the same in NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multivalid.batch.moves import Patch
from multivalid.kernels import library

Words = NDArray[np.uint64]
SIZE, POINTER = ctypes.c_size_t, ctypes.c_void_p
ARGUMENTS = (POINTER, SIZE, POINTER, SIZE, SIZE, POINTER, SIZE)


class Replay:
    """Patches made ready, to be applied to block after block of masks of who is away from each level.

    Examples
    --------
    >>> away, groups = np.array([[0b001], [0b110]], dtype=np.uint64), np.array([[0b011]], dtype=np.uint64)
    >>> Replay([Patch(0, 0, 1)], levels=2, groups=1)(away, groups)
    >>> [format(int(word), "03b") for word in away[:, 0]]
    ['011', '100']
    """

    def __init__(self, patches: Sequence[Patch], levels: int, groups: int) -> None:
        self.shape = (groups, levels, levels)
        self.table = np.array(patches, dtype=np.int64).reshape(-1, 3)
        if self.table.size and (self.table.min() < 0 or (self.table.max(axis=0) >= self.shape).any()):
            raise IndexError("a patch names a group or a level that does not exist.")  # the compiled loop trusts them

    def __call__(self, away: Words, groups: Words) -> None:
        """Change `away` in place."""
        if (len(groups), len(away), len(away)) != self.shape or away.shape[1] != groups.shape[1]:
            raise ValueError(f"masks of shape {away.shape} and groups of shape {groups.shape} do not fit patches on {self.shape}.")
        loop = library.function("multivalid_replay", ARGUMENTS)
        if loop is None or not all(t.dtype == np.uint64 and t.strides[1] == 8 and t.strides[0] % 8 == 0 for t in (away, groups)):
            self.in_numpy(away, groups)
            return
        tables = (away.ctypes.data, away.strides[0] // 8, groups.ctypes.data, groups.strides[0] // 8)
        loop(*tables, away.shape[1], self.table.ctypes.data, len(self.table))

    def in_numpy(self, away: Words, groups: Words) -> None:
        """The same without a compiler."""
        at, member = list(away), list(groups)  # indexing lists is several times faster than indexing arrays
        differ, either = np.bitwise_xor, np.bitwise_or
        for group, source, target in self.table.tolist():
            if source == target:
                continue
            here, there = at[source], at[target]
            differ(there, here, there)
            either(here, member[group], here)
            differ(there, here, there)
