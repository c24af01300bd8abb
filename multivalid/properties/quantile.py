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

# A cumulative weight this close below tau·total counts as having reached it: rounding must not skip a tie.
REACHED = 1 - 1e-13


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
        total = np.add.reduceat(weights, starts)
        # Shares within each law, lifted by the number of the law: then a single search finds every quantile.
        sizes = np.diff(np.append(starts, labels.size))
        law = np.repeat(np.arange(starts.size), sizes)
        running = np.cumsum(weights)
        before = np.append(0.0, running)[starts]
        share = np.clip((running - before[law]) / total[law], 0.0, 1.0)
        at = np.searchsorted(law + share, np.arange(starts.size) + self.tau * REACHED, side="left")
        return np.asarray(labels[np.clip(at, starts, starts + sizes - 1)])

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
