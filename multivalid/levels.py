"""The one policy that chooses levels: the distinct values when they are few, else levels of about equal weight.

Levels of equal weight are found without sorting all values: a histogram of equal parts shows in which parts the wanted shares are
reached, and only those parts are looked at value by value (or cut again, where they hold too much). The same steps run on an array and
on a column that stays in its engine, so both give the same levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.grid import Grid, checked_grid

Array = NDArray[np.float64]
SIGNIFICANCE = 0.05  # the level of every test and, as its complement, of every interval
PARTS = 4096  # of the range, in a histogram
ROUNDED = 1 - 1e-11  # a running sum this close below a share has reached it: sums are rounded, in another order each time
SLICE = 1 << 15  # values handled at a time
MOST_SORTED = 2_000_000  # values that are sorted at once; parts that hold more are cut again


@dataclass(frozen=True)
class Cut:
    """[lo, hi] cut into equal parts; a value lies in part ⌊(value − lo)·scale⌋, the last part being closed."""

    lo: float
    hi: float
    parts: int = PARTS

    @property
    def scale(self) -> float:
        """Parts per unit."""
        with np.errstate(over="ignore", divide="ignore"):
            scale = self.parts / np.float64(self.hi - self.lo)
        return float(scale) if np.isfinite(scale) else 0.0


class Histogram(NamedTuple):
    """Of the parts that hold values, in order: their number, rows, and weight."""

    part: NDArray[np.intp]
    rows: Array
    weight: Array


class Values(Protocol):
    """Weighted values that can be looked at part by part; rows without weight are not among them."""

    def ends(self, cut: Cut | None = None, part: int = 0) -> tuple[float, float]:
        """The least and the greatest value, of all or of one part."""

    def histogram(self, cut: Cut) -> Histogram:
        """The values that lie in a cut interval, part by part."""

    def distinct(self, most: int) -> Array | None:
        """The distinct values, sorted; None when there are more than `most`."""

    def listed(self, cut: Cut, parts: NDArray[np.intp]) -> tuple[Array, Array]:
        """Values in these parts and their weights; equal values may come joined into one."""


@dataclass(frozen=True)
class LevelPolicy:
    """At most `few` distinct values are levels as they are; more are cut into `levels` parts of about equal weight.

    Examples
    --------
    >>> LevelPolicy(few=3, levels=2).choose(ArrayValues(np.array([0.0, 0.0, 1.0, 2.0, 3.0, 10.0]))).points
    array([0., 3.])
    """

    few: int = 64
    levels: int = 20

    def choose(self, values: Values) -> Grid:
        """The levels of these values."""
        lo, hi = values.ends()
        cut = Cut(lo, hi)
        seen = values.histogram(cut)
        if seen.part.size <= self.few:
            distinct = values.distinct(self.few)
            if distinct is not None:
                return Grid(distinct)
        targets = ROUNDED * float(seen.weight.sum()) * (np.arange(self.levels) + 0.5) / self.levels
        return Grid(_values_at(values, cut, seen, 0.0, targets), lo=lo, hi=hi)


def _values_at(values: Values, cut: Cut, seen: Histogram, below: float, targets: Array) -> Array:
    """The value at which the running weight reaches each target; `below` is the weight below the cut."""
    running = below + np.cumsum(seen.weight)
    at = np.minimum(np.searchsorted(running, targets), seen.weight.size - 1)
    found = np.empty(targets.size)
    wanted = np.unique(at)
    many = (seen.rows[wanted] > MOST_SORTED) & (cut.scale > 0)
    crowded, listed = wanted[many], wanted[~many]
    if listed.size:
        value, weight = values.listed(cut, seen.part[listed])
        order = np.argsort(value, kind="stable")
        value, share = value[order], np.cumsum(weight[order])
        before = 0.0
        for place in listed:
            inside = at == place
            # Shares count from the start of the listed values: this part's own start takes the place of the running weight below it.
            goal = targets[inside] - (running[place] - seen.weight[place]) + before
            found[inside] = value[np.minimum(np.searchsorted(share, goal), value.size - 1)]
            before += float(seen.weight[place])
    for place in crowded:
        inside, inner = at == place, Cut(*values.ends(cut, int(seen.part[place])))
        start = float(running[place] - seen.weight[place])
        if inner.lo == inner.hi:
            found[inside] = inner.lo
        else:
            found[inside] = _values_at(values, inner, values.histogram(inner), start, targets[inside])
    return found


class ArrayValues:
    """Values in memory."""

    def __init__(self, values: Array, weights: Array | None = None) -> None:
        plain = weights is None or bool((weights == 1).all())
        used = None if weights is None or plain or bool(weights.all()) else weights > 0
        self.values = values if used is None else values[used]
        self.weights = None if plain or weights is None else weights if used is None else weights[used]
        self._parts: tuple[Cut, NDArray[np.int16]] | None = None

    def ends(self, cut: Cut | None = None, part: int = 0) -> tuple[float, float]:
        values = self.values if cut is None else self.values[self._part(cut) == part]
        return float(values.min()), float(values.max())

    def histogram(self, cut: Cut) -> Histogram:
        part = self._part(cut)
        rows = np.bincount(part + 1, minlength=cut.parts + 1)[1:]
        weight = rows if self.weights is None else np.bincount(part + 1, weights=self.weights, minlength=cut.parts + 1)[1:]
        used = np.flatnonzero(rows)
        return Histogram(used, rows[used].astype(np.float64), weight[used].astype(np.float64))

    def distinct(self, most: int) -> Array | None:
        found = np.unique(self.values)
        return found if found.size <= most else None

    def listed(self, cut: Cut, parts: NDArray[np.intp]) -> tuple[Array, Array]:
        wanted = np.zeros(cut.parts + 1, dtype=bool)
        wanted[parts] = True
        kept = np.flatnonzero(wanted[self._part(cut)])  # outside is -1, the last, which is never wanted
        return self.values[kept], np.ones(kept.size) if self.weights is None else self.weights[kept]

    def _part(self, cut: Cut) -> NDArray[np.int16]:
        """The part of every value, -1 outside; worked out some values at a time, which stay in the cache."""
        if self._parts is None or self._parts[0] != cut:
            part = np.zeros(self.values.size, dtype=np.int16)
            for start in range(0, part.size if cut.scale > 0 else 0, SLICE):
                values = self.values[start : start + SLICE]
                part[start : start + SLICE] = np.clip((values - cut.lo) * cut.scale, 0.0, cut.parts - 1.0)
            if cut.lo > self.values.min() or cut.hi < self.values.max():
                part[(self.values < cut.lo) | (self.values > cut.hi)] = -1
            self._parts = cut, part
        return self._parts[1]


def given_grids(grid: Any, coordinates: int) -> tuple[Grid, ...]:
    """The grid that the user gave, as one per coordinate."""
    grids = tuple(grid) if coordinates > 1 and isinstance(grid, Sequence) else (grid,)
    if len(grids) != coordinates or not all(isinstance(one, Grid) for one in grids):
        if coordinates == 1:
            checked_grid(grid)
        number = "two" if coordinates == 2 else str(coordinates)
        raise InputError(
            f"grid must be {number} Grids for a {'pair' if coordinates == 2 else 'target'}, one per coordinate, got {grid!r}."
        )
    return grids
