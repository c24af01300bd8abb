"""The mean with a measure of spread about it: variance, standard deviation, central moments, mean absolute deviation."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multivalid import validate
from multivalid.properties.base import Array, Interval, Property
from multivalid.properties.mean import Mean
from multivalid.properties.ops import Ops
from multivalid.properties.pairs.base import Pair, PairFacts, target_facts


class AboutMean(Pair):
    """A pair whose first coordinate is the mean."""

    @property
    def first(self) -> Property:
        return Mean()

    @property
    def names(self) -> tuple[str, str]:
        return "mean", self.second_name

    @property
    @abstractmethod
    def second_name(self) -> str:
        """What the second coordinate is called."""


@dataclass(frozen=True)
class MeanVariance(AboutMean):
    """Mean and variance: target = (y − γ⁰)². A wrong γ⁰ raises the second coordinate by exactly (γ⁰ − mean)².

    Examples
    --------
    >>> MeanVariance().solve([0, 1])
    (0.5, 0.25)
    """

    @property
    def second_name(self) -> str:
        return "variance"

    def pseudo_label(self, ops: Ops, first: Any, label: Any) -> Any:
        return ops.power(label - first, 2)

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> PairFacts:
        length = hi - lo
        # The mean's own score is half the square, hence the 2.
        return target_facts(self.first.facts(lo, hi), Interval(0.0, length**2), 2 * length, 2.0)

    @property
    def spec(self) -> str:
        return "mean_variance"


@dataclass(frozen=True)
class MeanStd(AboutMean):
    """Mean and standard deviation: V¹ = γ¹² − (y − γ⁰)², nondecreasing for γ¹ ≥ 0 and flat at 0.

    Examples
    --------
    >>> MeanStd().solve([0, 1])
    (0.5, 0.5)
    """

    @property
    def second_name(self) -> str:
        return "std"

    @property
    def has_target(self) -> bool:
        return False

    def second_residual(self, ops: Ops, first: Any, second: Any, label: Any) -> Any:
        return ops.power(second, 2) - ops.power(label - first, 2)

    def second_scoring(self, ops: Ops, first: Any, second: Any, label: Any) -> Any:
        return ops.power(second, 3) / 3 - second * ops.power(label - first, 2)

    def solve_second(self, first: float, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        return float(np.sqrt(MeanVariance().solve_second(first, labels, sample_weight)))

    def solve_second_segments(self, first: Array, labels: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        return np.sqrt(MeanVariance().solve_second_segments(first, labels, weights, starts))

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> PairFacts:
        length = hi - lo
        first = self.first.facts(lo, hi)
        # S¹ = s³/3 − s·d² over s in [0, length], d ≤ length: falls by at most (2/3)·length³ and rises by at most as much after it.
        return PairFacts(first.labels, first, Interval(0.0, length), length**2, 2 * length, 2 * length, 2 * length**3 / 3)

    @property
    def spec(self) -> str:
        return "mean_std"


@dataclass(frozen=True)
class MeanMoment(AboutMean):
    """Mean and k-th central moment: target = (y − γ⁰)^k; a Bayes pair for k = 2 only.

    Examples
    --------
    >>> MeanMoment(4).solve([0, 1])
    (0.5, 0.0625)
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", validate.count(self.k, "k", least=2))

    @property
    def second_name(self) -> str:
        return f"central moment {self.k}"

    def pseudo_label(self, ops: Ops, first: Any, label: Any) -> Any:
        return ops.power(label - first, self.k)

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> PairFacts:
        length = hi - lo
        most = length**self.k
        hull = Interval(-most if self.k % 2 else 0.0, most)
        scale = 2.0 if self.k == 2 else None
        return target_facts(self.first.facts(lo, hi), hull, self.k * length ** (self.k - 1), scale)

    @property
    def spec(self) -> str:
        return f"mean_moment:{self.k}"


@dataclass(frozen=True)
class MeanMAD(AboutMean):
    """Mean and mean absolute deviation from it: target = |y − γ⁰|.

    Examples
    --------
    >>> MeanMAD().solve([0, 1])
    (0.5, 0.5)
    """

    @property
    def second_name(self) -> str:
        return "mean absolute deviation"

    def pseudo_label(self, ops: Ops, first: Any, label: Any) -> Any:
        return ops.absolute(label - first)

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> PairFacts:
        return target_facts(self.first.facts(lo, hi), Interval(0.0, hi - lo), 1.0, None)

    @property
    def spec(self) -> str:
        return "mean_mad"
