"""The mean, and what it shares with every other plain expectation E[g(Y)]."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multivalid.properties.base import Array, Facts, Interval, Location, Pieces, Property, one_piece
from multivalid.properties.ops import NUMPY, Ops
from multivalid.properties.reading import OBSERVED_MEAN, Reading


class Expectation(Property):
    """E[g(Y)]: V = γ − g(y) and S = (γ − g(y))² / 2."""

    @abstractmethod
    def transform(self, ops: Ops, label: Any) -> Any:
        """g(y) as a formula."""

    @abstractmethod
    def transform_range(self, lo: float, hi: float) -> Interval:
        """Where g lies for labels in [lo, hi]."""

    def residual(self, ops: Ops, prediction: Any, label: Any) -> Any:
        return prediction - self.transform(ops, label)

    def scoring(self, ops: Ops, prediction: Any, label: Any) -> Any:
        return ops.power(prediction - self.transform(ops, label), 2) / 2

    def score(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        # The twin of `scoring` for arrays: NumPy squares and halves the residual in place, and a million rows need no second array.
        return np.asarray(self.identify(prediction, label) ** 2 / 2)

    def statistics(self, ops: Ops, label: Any) -> list[Any]:
        return [self.transform(ops, label)]

    def best_prediction(self, ops: Ops, label: Any) -> Any:
        return self.transform(ops, label)

    def scoring_constant(self, ops: Ops, label: Any) -> Any:
        return ops.power(self.transform(ops, label), 2) / 2

    @property
    def reading(self) -> Reading:
        return OBSERVED_MEAN

    def solve_segments(self, labels: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        total = np.add.reduceat(weights * self.transform(NUMPY, labels), starts)
        return np.asarray(total / np.add.reduceat(weights, starts))

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> Facts:
        span = self.transform_range(lo, hi)
        return Facts(Interval(lo, hi), span, span.length, 1.0, "", 1.0, span.length**2 / 2)

    def pieces(self, points: Array) -> Pieces:
        one = np.ones_like(points)
        return one_piece(np.stack([points, -one], axis=1), np.stack([points**2 / 2, -points], axis=1))

    def solve_moments(self, means: Array) -> Array:
        return means[:, 1]


@dataclass(frozen=True)
class Mean(Expectation, Location):
    """The mean of the labels; for labels 0 and 1 a probability.

    Examples
    --------
    >>> Mean().solve([0, 0, 1], sample_weight=[1, 1, 2])
    0.5
    >>> float(Mean().identify(0.7, 1))
    -0.30000000000000004
    """

    def transform(self, ops: Ops, label: Any) -> Any:
        return label

    def transform_range(self, lo: float, hi: float) -> Interval:
        return Interval(lo, hi)

    @property
    def degree(self) -> int:
        return 1

    spec = "mean"
