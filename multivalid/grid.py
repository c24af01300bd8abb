"""The finite range of a predictor: the levels it may predict, in the label's own units.

Intervals are right-closed throughout. A prediction is rounded to the nearest point, half way going down; a label in
(γ_{j−1}, γ_j] belongs to bin j, so that "y ≤ γ_j" is "bin ≤ j" and a label on a grid point counts as covered by it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multivalid import json_checks as read
from multivalid import validate
from multivalid.errors import InputError, ModelFileError
from multivalid.rounding import EvenBoundaries, UnevenBoundaries

MOST_LEVELS = 10_000_000  # 80 MB of points
FEW = 1000  # values: below, a search is as fast as arithmetic
Array = NDArray[np.float64]


class Grid:
    """Sorted points, and the interval [lo, hi] of predictions they stand for.

    Parameters
    ----------
    points : array-like
        Levels; sorted and made unique here.
    lo, hi : float, optional
        Ends of the interval that the grid covers; the outermost points when not given.

    Examples
    --------
    >>> grid = Grid.uniform(0, 1, 4)
    >>> grid.points
    array([0.125, 0.375, 0.625, 0.875])
    >>> grid.round([0.0, 0.25, 0.9])
    array([0, 0, 3])
    """

    def __init__(self, points: ArrayLike, *, lo: float | None = None, hi: float | None = None) -> None:
        self.points: Array = np.unique(validate.vector(points, "points"))
        self.points.flags.writeable = False
        self.lo = float(self.points[0]) if lo is None else validate.real(lo, "lo")
        self.hi = float(self.points[-1]) if hi is None else validate.real(hi, "hi")
        if self.lo > self.points[0] or self.hi < self.points[-1]:
            raise InputError(
                f"points must lie in [lo, hi] = [{self.lo:g}, {self.hi:g}], got {self.points[0]:g} to {self.points[-1]:g}; "
                f"widen lo and hi or leave them out."
            )

    # ---- constructors ----------------------------------------------------------------------------------------
    @classmethod
    def uniform(cls, lo: float, hi: float, m: int) -> Grid:
        """The midpoints of m equal parts of [lo, hi]: no prediction in [lo, hi] is farther than half a part away.

        Examples
        --------
        >>> Grid.uniform(0, 10, 5).points
        array([1., 3., 5., 7., 9.])
        """
        lo, hi, m = _span(lo, hi, m)
        return cls(lo + (np.arange(m) + 0.5) * ((hi - lo) / m), lo=lo, hi=hi)

    @classmethod
    def closed(cls, lo: float, hi: float, m: int) -> Grid:
        """m equally spaced points with both ends among them; right for quantiles of labels with atoms at the ends.

        Examples
        --------
        >>> Grid.closed(0, 1, 3).points
        array([0. , 0.5, 1. ])
        """
        lo, hi, m = _span(lo, hi, validate.count(m, "m", 2))
        return cls(np.linspace(lo, hi, m), lo=lo, hi=hi)

    @classmethod
    def paper(cls, m: int, lo: float = 0.0, hi: float = 1.0) -> Grid:
        """The points i/(m + 1), i = 1 … m, of [0, 1] (or of [lo, hi]): the grid that the paper prints.

        Examples
        --------
        >>> Grid.paper(3).points
        array([0.25, 0.5 , 0.75])
        """
        lo, hi, m = _span(lo, hi, m)
        return cls(lo + (hi - lo) * (np.arange(1, m + 1) / (m + 1)), lo=lo, hi=hi)

    @classmethod
    def quantile(cls, values: ArrayLike, m: int, sample_weight: ArrayLike | None = None) -> Grid:
        """At most m points spaced by the quantiles of `values`, so that each level holds about the same weight.

        Points are at the middle of m equal shares; ties make fewer points.

        Examples
        --------
        >>> Grid.quantile([0, 0, 0, 1, 2, 3, 10, 100], 4).points
        array([ 0.,  2., 10.])
        """
        v = validate.vector(values, "values")
        w = validate.weights(sample_weight, v.size)
        m = level_count(m)
        if w.min() == w.max():
            v = np.sort(v)  # several times faster than to find the order
        else:
            order = np.argsort(v, kind="stable")
            v, w = v[order], w[order]
        share = np.cumsum(w)
        at = np.searchsorted(share, share[-1] * (np.arange(m) + 0.5) / m)
        return cls(v[np.minimum(at, v.size - 1)], lo=float(v[0]), hi=float(v[-1]))

    # ---- what the algorithms need ------------------------------------------------------------------------------
    def __len__(self) -> int:
        return int(self.points.size)

    @cached_property
    def gap(self) -> float:
        """g, the largest distance between neighbours (the whole width for a single point)."""
        return float(np.diff(self.points).max()) if len(self) > 1 else self.hi - self.lo

    @cached_property
    def edge(self) -> float:
        """h₀, the larger distance from an end of [lo, hi] to its first point."""
        return float(max(self.points[0] - self.lo, self.hi - self.points[-1]))

    @cached_property
    def boundaries(self) -> Array:
        """The m − 1 values where rounding changes from one point to the next."""
        lower, upper = self.points[:-1], self.points[1:]
        # Between neighbouring doubles the middle can round up to the upper point, which would then round down to the lower one.
        return np.minimum(lower + (upper - lower) / 2, np.nextafter(upper, lower))

    def round(self, values: ArrayLike) -> NDArray[np.intp]:
        """Index of the nearest point; a value half way goes down.

        Examples
        --------
        >>> Grid([0.0, 1.0, 3.0]).round([0.5, 0.6, 2.0, 99.0])
        array([0, 1, 1, 2])
        """
        return self.codes(np.asarray(values, dtype=np.float64)).astype(np.intp, copy=False)

    def codes(self, values: Array) -> NDArray[Any]:
        """`round` for arrays, in bytes where that is fast and the levels are few enough."""
        if values.size < FEW:
            return np.asarray(np.searchsorted(self.boundaries, values, side="left"))
        if self._even is None:
            return self._uneven.below(values.ravel()).reshape(values.shape)
        return self._even.below(values.ravel()).reshape(values.shape)

    @cached_property
    def _even(self) -> EvenBoundaries | None:
        return EvenBoundaries.of(self.boundaries)

    @cached_property
    def _uneven(self) -> UnevenBoundaries:
        return UnevenBoundaries(self.boundaries)

    def check(self, values: Array, name: str = "y_pred") -> Array:
        """Refuse predictions outside [lo, hi]: rounding them would move them by more than the grid promises."""
        outside = np.flatnonzero((values < self.lo) | (values > self.hi))
        if outside.size:
            raise InputError(
                f"{name} must lie in the grid's range [{self.lo:g}, {self.hi:g}]: {outside.size} values do not, the first at row "
                f"{outside[0]} ({values[outside[0]]:g}); give a grid that covers them, or leave grid=None."
            )
        return values

    def check_ends(self, lowest: float, highest: float, name: str = "y_pred") -> None:
        """The same of predictions of which no more is known than how far they reach."""
        if lowest < self.lo or highest > self.hi:
            raise InputError(
                f"{name} must lie in the grid's range [{self.lo:g}, {self.hi:g}], but it goes from {lowest:g} to {highest:g}; give a "
                f"grid that covers it, or leave grid=None."
            )

    # ---- as a value ----------------------------------------------------------------------------------------------
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grid):
            return NotImplemented
        return (self.lo, self.hi) == (other.lo, other.hi) and np.array_equal(self.points, other.points)

    def __hash__(self) -> int:
        return hash((self.lo, self.hi, self.points.tobytes()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{p:.6g}" for p in self.points[:3]) + (", …" if len(self) > 3 else "")
        return f"<Grid of {len(self)} points on [{self.lo:g}, {self.hi:g}]: {shown}>"

    def to_json(self) -> dict[str, Any]:
        """Plain data for a saved model."""
        return {"points": self.points.tolist(), "lo": self.lo, "hi": self.hi}

    @classmethod
    def from_json(cls, data: Any) -> Grid:
        """The grid that `to_json` described, every number checked."""
        found = read.record(data, "grid", ("points", "lo", "hi"))
        points = read.increasing(found["points"], "grid points")
        lo, hi = read.number(found["lo"], "grid: lo"), read.number(found["hi"], "grid: hi")
        try:
            return cls(points, lo=lo, hi=hi)
        except InputError as error:
            raise ModelFileError(f"grid: {error}") from None


def checked_grid(grid: Any, otherwise: str = "") -> Grid:
    """The grid that a user gave, or the error for anything else; `otherwise` is what else would do.

    Examples
    --------
    >>> checked_grid(20)
    Traceback (most recent call last):
    multivalid.errors.InputError: grid must be a Grid, got 20; use for example Grid.uniform(0, 1, 20).
    """
    if not isinstance(grid, Grid):
        raise InputError(f"grid must be a Grid{otherwise}, got {grid!r}; use for example Grid.uniform(0, 1, 20).")
    return grid


def _span(lo: float, hi: float, m: int) -> tuple[float, float, int]:
    lo, hi, m = validate.real(lo, "lo"), validate.real(hi, "hi"), level_count(m)
    if not lo < hi:
        raise InputError(f"lo must be below hi, got lo={lo!r}, hi={hi!r}.")
    return lo, hi, m


def level_count(m: int) -> int:
    """The number of levels, refused before memory is asked for where nobody can mean it."""
    number = validate.count(m, "m")
    if number > MOST_LEVELS:
        raise InputError(f"m may be at most {MOST_LEVELS:,} levels, got {number:,}; a few hundred are fine enough for most uses.")
    return number
