"""Quantiles: the value that a fraction tau of the labels does not exceed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.properties.base import Array, Facts, Interval, Location, Pieces
from multivalid.properties.ops import Ops
from multivalid.properties.reading import Reading, coverage
from multivalid.properties.scale import ORDINARY

# A cumulative weight this close below tau·total counts as having reached it: rounding must not skip a tie.
REACHED = 1 - 1e-13


def running_shares(weights: Array, starts: NDArray[np.intp], sizes: NDArray[np.intp]) -> Array:
    """The share of its law that lies at or before each row, for many laws one after another.

    Weights become whole numbers, in units of 2⁻⁶¹ of the total of their law. A running sum of whole numbers over all rows may overflow
    and come back on the other side, but differences of it are exact: no law feels the weights of the laws before it, and equal weights
    give equal steps, so that ties at exactly τ are found.

    Examples
    --------
    >>> running_shares(np.array([1e12, 1e12, 1e-6, 3e-6]), np.array([0, 2]), np.array([2, 2]))
    array([0.5 , 1.  , 0.25, 1.  ])
    """
    largest = np.maximum.reduceat(weights, starts)
    if not (largest.min() > 1 / ORDINARY and largest.max() < ORDINARY):  # else no total can overflow, nor the factor below
        weights = np.ldexp(weights, -np.repeat(np.frexp(largest)[1], sizes))
    factor = np.ldexp(1.0, 61 - np.frexp(np.add.reduceat(weights, starts))[1])
    whole = np.rint(weights * np.repeat(factor, sizes)).astype(np.int64)
    running = np.cumsum(whole)
    before = running[starts] - whole[starts]
    total = running[starts + sizes - 1] - before
    return np.asarray((running - np.repeat(before, sizes)) / np.repeat(total.astype(np.float64), sizes))


@dataclass(frozen=True)
class Quantile(Location):
    """The tau-quantile: V = 1[y ≤ γ] − τ and S = (1 − τ)γ + (y − γ)₊.

    Where a law leaves an interval of quantiles, `solve` gives its lowest point.

    Examples
    --------
    >>> Quantile(0.5).solve([1, 2, 3, 10])
    2.0
    >>> Quantile(0.9).identify([1.0, 1.0], [1.0, 2.0])
    array([ 0.1, -0.9])
    """

    tau: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", validate.fraction(self.tau, "tau"))

    def residual(self, ops: Ops, prediction: Any, label: Any) -> Any:
        return ops.where(label <= prediction, 1 - self.tau, -self.tau)

    def scoring(self, ops: Ops, prediction: Any, label: Any) -> Any:
        return (1 - self.tau) * prediction + ops.maximum(label - prediction, 0.0)

    def statistics(self, ops: Ops, label: Any) -> list[Any]:
        return [label]

    @property
    def reading(self) -> Reading:
        return coverage(self.tau)

    def solve_segments(self, labels: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        sizes = np.diff(np.append(starts, labels.size))
        if weights[0] == weights.min() == weights.max():  # the usual case: rows are counted, and none has to be looked at
            missed = np.ceil(sizes * (self.tau * REACHED)).astype(np.intp) - 1
        else:
            short = running_shares(weights, starts, sizes) < self.tau * REACHED
            missed = np.add.reduceat(short, starts, dtype=np.intp)  # shares only rise, so these are the first rows of the law
        return np.asarray(labels[starts + np.minimum(missed, sizes - 1)])

    @property
    def degree(self) -> int:
        return 1

    @property
    def two_values(self) -> tuple[float, float]:
        return -self.tau, 1 - self.tau

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> Facts:
        most = max(self.tau, 1 - self.tau)
        reason = "the coverage of a single label jumps; L is the largest density of the labels, estimated per cell on data"
        return Facts(Interval(lo, hi), Interval(lo, hi), most, None, reason, None, most * (hi - lo))

    def pieces(self, points: Array) -> Pieces:
        one, nil = np.ones_like(points), np.zeros_like(points)
        identify = np.stack([np.stack([(1 - self.tau) * one, nil], axis=1), np.stack([-self.tau * one, nil], axis=1)])
        score = np.stack([np.stack([(1 - self.tau) * points, nil], axis=1), np.stack([-self.tau * points, one], axis=1)])
        return Pieces(points[None], identify, score)

    @property
    def spec(self) -> str:
        return f"quantile:{self.tau!r}"
