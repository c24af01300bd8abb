"""The entropic risk: the certainty equivalent of an exponential utility."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.base import Array, Facts, Interval, Pieces, Property, one_piece
from multivalid.properties.ops import Ops

# exp(709) is the largest double; squares of V and sums over many rows must stay below it as well.
LARGEST_EXPONENT = 300.0


@dataclass(frozen=True)
class Entropic(Property):
    """(1/θ)·ln E[exp(θY)]: V = (e^{θγ} − e^{θy})/θ; theta > 0 leans to the high labels, theta < 0 to the low ones.

    Examples
    --------
    >>> round(Entropic(1.0).solve([0, 1]), 6)
    0.620115
    """

    theta: float

    monotone_in_label = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", validate.real(self.theta, "theta"))
        if self.theta == 0:
            raise InputError("theta must not be 0: the limit is the mean, use Mean().")

    def residual(self, ops: Ops, prediction: Any, label: Any) -> Any:
        return (ops.exp(self.theta * prediction) - ops.exp(self.theta * label)) / self.theta

    def scoring(self, ops: Ops, prediction: Any, label: Any) -> Any:
        return ops.exp(self.theta * prediction) / self.theta**2 - prediction * ops.exp(self.theta * label) / self.theta

    def statistics(self, ops: Ops, label: Any) -> list[Any]:
        return [ops.exp(self.theta * label)]

    def best_prediction(self, ops: Ops, label: Any) -> Any:
        return label

    def solve_segments(self, labels: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        sizes = np.diff(np.append(starts, labels.size))
        top = np.maximum.reduceat(self.theta * labels, starts)
        total = np.add.reduceat(weights * np.exp(self.theta * labels - np.repeat(top, sizes)), starts)
        return np.asarray((top + np.log(total / np.add.reduceat(weights, starts))) / self.theta)

    @property
    def label_domain(self) -> Interval:
        most = LARGEST_EXPONENT / abs(self.theta)
        return Interval(-most, most)

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> Facts:
        low, high = sorted((np.exp(self.theta * lo), np.exp(self.theta * hi)))
        ends = Interval(lo, hi)
        spread = float(high - low) / abs(self.theta)
        span = max(float(self.score(hi, lo) - self.score(lo, lo)), float(self.score(lo, hi) - self.score(hi, hi)))
        return Facts(ends, ends, spread, float(high), "", float(1 / low), span)

    def pieces(self, points: Array) -> Pieces:
        one, nil, e, t = np.ones_like(points), np.zeros_like(points), np.exp(self.theta * points), self.theta
        return one_piece(np.stack([e / t, -one / t], axis=1), np.stack([e / t**2 + nil, -points / t], axis=1))

    def solve_moments(self, means: Array) -> Array:
        return np.asarray(np.log(means[:, 1]) / self.theta)

    @property
    def spec(self) -> str:
        return f"entropic:{self.theta!r}"
