"""Which interval a value falls into, for boundaries that are evenly spaced: arithmetic, and a search only where arithmetic could err."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.uint8]
Units = NDArray[np.int32]
CHUNK = 1 << 16  # values at a time: few enough to stay in cache through every step
DIGITS = 23  # binary digits of a position inside its interval; the eight above are the index
UNIT = 1 << DIGITS
MOST = 254  # boundaries: an index is a byte


class EvenBoundaries:
    """Counts the boundaries below a value, as `searchsorted` does, many times faster.

    The position of a value, in units of 1/2²³ of an interval, never falls as the value grows, and that of boundary k is k intervals and
    one unit, give or take a quarter of a unit. So the whole intervals of a position are the index, unless at most one unit is left
    over; those very few values are searched.

    Examples
    --------
    >>> EvenBoundaries(np.array([0.1, 0.2, 0.3])).below(np.array([-5.0, 0.1, 0.15, 9.0]))
    array([0, 0, 1, 3], dtype=uint8)
    """

    def __init__(self, boundaries: Array) -> None:
        self.boundaries = boundaries
        step = (boundaries[-1] - boundaries[0]) / (boundaries.size - 1)
        self.scale = UNIT / step
        self.origin = boundaries[0] - step - 1 / self.scale

    @classmethod
    def of(cls, boundaries: Array) -> EvenBoundaries | None:
        """None where the boundaries are not even enough, or too many."""
        if not 2 <= boundaries.size <= MOST:
            return None
        with np.errstate(all="ignore"):
            made = cls(boundaries)
            off = np.abs((boundaries - made.origin) * made.scale - UNIT * np.arange(1.0, boundaries.size + 1) - 1)
        return made if bool(np.all(off <= 0.25)) else None  # NaN, from a range that overflows, is not even either

    def below(self, values: Array) -> Codes:
        """How many boundaries lie below each value."""
        out: Codes = np.empty(values.size, dtype=np.uint8)
        size = min(CHUNK, values.size)
        place, units, left = np.empty(size), np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, values.size, CHUNK):
                part = values[start : start + CHUNK]
                self._below(part, out[start : start + CHUNK], place[: part.size], units[: part.size], left[: part.size])
        return out

    def _below(self, values: Array, out: Codes, place: Array, units: Units, left: Units) -> None:
        """The same into `out`, with three arrays to work in."""
        last = self.boundaries.size
        np.subtract(values, self.origin, out=place)
        np.multiply(place, self.scale, out=place)
        np.copyto(units, place, casting="unsafe")
        if units.view(np.uint32).max() >= (last + 1) * UNIT:  # beyond an end: below zero is very large without a sign
            np.copyto(units, np.clip(place, UNIT // 2, last * UNIT + UNIT // 2), casting="unsafe")
        np.bitwise_and(units, UNIT - 2, out=left)
        np.right_shift(units, DIGITS, out=units)
        np.copyto(out, units, casting="unsafe")
        if left.min() == 0:
            doubtful = np.flatnonzero(left == 0)
            out[doubtful] = np.searchsorted(self.boundaries, values[doubtful], side="left")


PARTS = 4096  # of the span of the boundaries


class UnevenBoundaries:
    """Boundaries anywhere: a table over equal parts of their span answers for all values but those that share a part with a boundary.

    The part of a value never falls as the value rises, so a boundary in a lower part lies below the value, one in a higher part above it.

    Examples
    --------
    >>> UnevenBoundaries(np.array([0.1, 0.15, 4.0])).below(np.array([0.1, 0.12, 3.9, 4.1, -7.0]))
    array([0, 1, 2, 3, 0])
    """

    def __init__(self, boundaries: Array) -> None:
        self.boundaries = boundaries
        span = float(boundaries[-1] - boundaries[0]) if boundaries.size else 0.0
        with np.errstate(divide="ignore", over="ignore"):
            scale = float(np.float64(PARTS - 2) / span)
        self.scale = scale if np.isfinite(scale) else 0.0
        if self.scale:
            own = self._part(boundaries)
            self.table = np.searchsorted(own, np.arange(PARTS), side="left")
            self.mixed = np.zeros(PARTS, dtype=bool)
            self.mixed[own] = True

    def _part(self, values: Array) -> NDArray[np.int16]:
        with np.errstate(over="ignore"):
            scaled = (values - self.boundaries[0]) * self.scale
        # Part 0 is everything below the first boundary, the last part everything beyond the last.
        return np.asarray(np.clip(scaled, -1.0, PARTS - 2.0) + 1.0, dtype=np.int16)

    def below(self, values: Array) -> NDArray[np.intp]:
        """How many boundaries lie strictly below each value; worked out some values at a time, which stay in the cache."""
        if not self.scale:
            return np.searchsorted(self.boundaries, values, side="left")
        out = np.empty(values.size, dtype=np.intp)
        for start in range(0, values.size, CHUNK):
            some = values[start : start + CHUNK]
            part = self._part(some)
            here = self.table[part]
            near = np.flatnonzero(self.mixed[part])
            here[near] = np.searchsorted(self.boundaries, some[near], side="left")
            out[start : start + CHUNK] = here
        return out
