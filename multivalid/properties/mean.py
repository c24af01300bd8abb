"""The mean, and what it shares with every other plain expectation E[g(Y)]."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multivalid.properties.base import Array, Facts, Interval, Pieces, Property, broadcast, one_piece


class Expectation(Property):
    """E[g(Y)]: V = γ − g(y) and S = (γ − g(y))² / 2."""

    @abstractmethod
    def transform(self, labels: Array) -> Array:
        """g(y) for each label."""

    @abstractmethod
    def transform_range(self, lo: float, hi: float) -> Interval:
        """Where g lies for labels in [lo, hi]."""

    def identify(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        g, y = broadcast(prediction, label)
        return np.asarray(g - self.transform(y))

    def score(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        return np.asarray(self.identify(prediction, label) ** 2 / 2)

    def solve_segments(self, labels: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        total = np.add.reduceat(weights * self.transform(labels), starts)
        return np.asarray(total / np.add.reduceat(weights, starts))

    def solve_points(self, labels: Array) -> Array:
        return self.transform(labels)

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> Facts:
        span = self.transform_range(lo, hi)
        return Facts(Interval(lo, hi), span, span.length, 1.0, "", 1.0, span.length**2 / 2)

    def moments(self, labels: Array) -> Array:
        return np.stack([np.ones_like(labels), self.transform(labels)], axis=1)

    def pieces(self, points: Array) -> Pieces:
        one = np.ones_like(points)
        return one_piece(np.stack([points, -one], axis=1), np.stack([points**2 / 2, -points], axis=1))

    def solve_moments(self, means: Array) -> Array:
        return means[:, 1]

    def score_constant(self, labels: Array) -> Array:
        return np.asarray(self.transform(labels) ** 2 / 2)


@dataclass(frozen=True)
class Mean(Expectation):
    """The mean of the labels; for labels 0 and 1 a probability.

    Examples
    --------
    >>> Mean().solve([0, 0, 1], sample_weight=[1, 1, 2])
    0.5
    >>> float(Mean().identify(0.7, 1))
    -0.30000000000000004
    """

    def transform(self, labels: Array) -> Array:
        return labels

    def transform_range(self, lo: float, hi: float) -> Interval:
        return Interval(lo, hi)

    @property
    def shift_invariant(self) -> bool:
        return True

    @property
    def spec(self) -> str:
        return "mean"
