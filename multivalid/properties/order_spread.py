"""Spread measured on the order of the labels: interquartile range, Gini deviation, variantile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multivalid import validate
from multivalid.properties.base import Array
from multivalid.properties.expectile import Expectile
from multivalid.properties.functional import Functional
from multivalid.properties.quantile import Quantile


@dataclass(frozen=True)
class InterquartileRange(Functional):
    """q_high − q_low, the quartiles unless told otherwise (lower quantiles where a law leaves an interval).

    Examples
    --------
    >>> InterquartileRange().solve([0, 1])
    1.0
    """

    low: float = 0.25
    high: float = 0.75

    def __post_init__(self) -> None:
        low, high = validate.low_and_high(self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def degree(self) -> int:
        return 1

    def value_of(self, values: Array, weights: Array) -> float:
        return Quantile(self.high).solve(values, weights) - Quantile(self.low).solve(values, weights)

    @property
    def spec(self) -> str:
        return f"iqr:{self.low!r}:{self.high!r}"


@dataclass(frozen=True)
class MedianAbsoluteDeviation(Functional):
    """The median distance to the median (lower medians where a law leaves an interval).

    Examples
    --------
    >>> MedianAbsoluteDeviation().solve([1, 2, 4, 9, 30])
    3.0
    """

    @property
    def degree(self) -> int:
        return 1

    def value_of(self, values: Array, weights: Array) -> float:
        median = Quantile(0.5)
        return median.solve(np.abs(values - median.solve(values, weights)), weights)

    @property
    def spec(self) -> str:
        return "median_absolute_deviation"


@dataclass(frozen=True)
class Range(Functional):
    """The highest label less the lowest.

    Examples
    --------
    >>> Range().solve([3, 1, 7])
    6.0
    """

    @property
    def degree(self) -> int:
        return 1

    def value_of(self, values: Array, weights: Array) -> float:
        return float(values[-1] - values[0])

    @property
    def spec(self) -> str:
        return "range"


@dataclass(frozen=True)
class GiniDeviation(Functional):
    """E|Y − Y′| for two independent labels (Gini's mean difference).

    Examples
    --------
    >>> GiniDeviation().solve([0, 1])
    0.5
    """

    @property
    def degree(self) -> int:
        return 1

    def value_of(self, values: Array, weights: Array) -> float:
        below = np.cumsum(weights)[:-1]
        return float(2 * (below * (1 - below)) @ np.diff(values))

    @property
    def spec(self) -> str:
        return "gini"


@dataclass(frozen=True)
class Variantile(Functional):
    """min_γ E[|1[Y ≤ γ] − τ|(Y − γ)²], the risk of the tau-expectile; tau = 0.5 is half the variance.

    Examples
    --------
    >>> round(Variantile(0.8).solve([0, 1]), 12)
    0.08
    """

    tau: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", validate.fraction(self.tau, "tau"))

    @property
    def degree(self) -> int:
        return 2

    def value_of(self, values: Array, weights: Array) -> float:
        expectile = Expectile(self.tau)
        return float(weights @ expectile.score(expectile.solve(values, weights), values))

    @property
    def spec(self) -> str:
        return f"variantile:{self.tau!r}"
