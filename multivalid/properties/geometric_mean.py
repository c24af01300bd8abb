"""The geometric mean: the mean on a logarithmic scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.properties.base import Array, Facts, Interval, Pieces, Property, one_piece
from multivalid.properties.ops import Ops

LEAST = float(np.finfo(np.float64).tiny)  # predictions below are taken as this: the logarithm needs something positive


@dataclass(frozen=True)
class GeometricMean(Property):
    """exp E[ln Y] of positive labels: V = ln γ − ln y and S = γ·(ln γ − ln y − 1).

    Examples
    --------
    >>> round(GeometricMean().solve([1, 10, 100]), 10)
    10.0
    """

    monotone_in_label = True

    def residual(self, ops: Ops, prediction: Any, label: Any) -> Any:
        return ops.log(ops.maximum(prediction, LEAST)) - ops.log(label)

    def scoring(self, ops: Ops, prediction: Any, label: Any) -> Any:
        return prediction * (self.residual(ops, prediction, label) - 1)

    def statistics(self, ops: Ops, label: Any) -> list[Any]:
        return [ops.log(label)]

    def best_prediction(self, ops: Ops, label: Any) -> Any:
        return label

    @property
    def label_domain(self) -> Interval:
        return Interval(LEAST, np.inf)

    def solve_segments(self, labels: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        total = np.add.reduceat(weights * np.log(labels), starts)
        return np.exp(total / np.add.reduceat(weights, starts))

    @property
    def degree(self) -> int:
        return 1

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> Facts:
        if not lo > 0:
            raise InputError(f"labels must be positive for {self!r}, but their range starts at {lo:g}.")
        ends, width = Interval(lo, hi), float(np.log(hi) - np.log(lo))
        return Facts(ends, ends, width, 1 / lo, "", hi, width * (hi - lo))

    def pieces(self, points: Array) -> Pieces:
        one, log = np.ones_like(points), np.log(np.maximum(points, LEAST))
        return one_piece(np.stack([log, -one], axis=1), np.stack([points * (log - 1), -points], axis=1))

    def solve_moments(self, means: Array) -> Array:
        return np.exp(means[:, 1])

    @property
    def spec(self) -> str:
        return "geometric_mean"
