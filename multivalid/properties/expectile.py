"""Expectiles: where the mean excess above, weighted tau, balances the mean shortfall below, weighted 1 − tau."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.properties.base import Array, Facts, Interval, Location, Pieces
from multivalid.properties.ops import Ops


@dataclass(frozen=True)
class Expectile(Location):
    """The tau-expectile: V = 2|1[y ≤ γ] − τ|(γ − y) and S = |1[y ≤ γ] − τ|(γ − y)²; tau = 0.5 is the mean.

    Examples
    --------
    >>> Expectile(0.5).solve([0, 1, 5])
    2.0
    >>> round(Expectile(0.9).solve([0, 1, 5]), 6)
    4.181818
    """

    tau: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", validate.fraction(self.tau, "tau"))

    def residual(self, ops: Ops, prediction: Any, label: Any) -> Any:
        return ops.where(label <= prediction, 2 * (1 - self.tau), 2 * self.tau) * (prediction - label)

    def scoring(self, ops: Ops, prediction: Any, label: Any) -> Any:
        return ops.where(label <= prediction, 1 - self.tau, self.tau) * ops.power(prediction - label, 2)

    def statistics(self, ops: Ops, label: Any) -> list[Any]:
        return [label, ops.power(label, 2)]

    def solve_segments(self, labels: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        return np.array([self._solve_one(y, w) for y, w in zip(_split(labels, starts), _split(weights, starts), strict=True)])

    def _solve_one(self, y: Array, w: Array) -> float:
        # Where labels share a large offset, sums are taken about the middle one, so that the offset does not eat the digits.
        origin = float(y[y.size // 2]) if abs(y[0]) > 1e3 * (y[-1] - y[0]) else 0.0
        y = y - origin
        below, above = (1 - self.tau) * np.cumsum(w), self.tau * np.cumsum(w[::-1])[::-1]
        below_y, above_y = (1 - self.tau) * np.cumsum(w * y), self.tau * np.cumsum((w * y)[::-1])[::-1]
        above, above_y = np.append(above[1:], 0.0), np.append(above_y[1:], 0.0)
        # V at each label, all labels up to it counted below; the zero lies between the last negative and the first positive.
        first = int(np.argmax((below + above) * y - below_y - above_y >= 0))
        use = max(first - 1, 0)
        return origin + float((below_y[use] + above_y[use]) / (below[use] + above[use]))

    @property
    def degree(self) -> int:
        return 1

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> Facts:
        most, least = max(self.tau, 1 - self.tau), min(self.tau, 1 - self.tau)
        span = hi - lo
        return Facts(Interval(lo, hi), Interval(lo, hi), 2 * most * span, 2 * most, "", 1 / (2 * least), most * span**2)

    def pieces(self, points: Array) -> Pieces:
        one, nil = np.ones_like(points), np.zeros_like(points)
        v = np.stack([2 * points, -2 * one, nil], axis=1)
        s = np.stack([points**2, -2 * points, one], axis=1)
        sides = np.array([1 - self.tau, self.tau])[:, None, None]
        return Pieces(points[None], sides * v, sides * s)

    @property
    def spec(self) -> str:
        return f"expectile:{self.tau!r}"


def _split(values: Array, starts: NDArray[np.intp]) -> list[Array]:
    return np.split(values, starts[1:])
