"""Measures of spread about the mean: variance and its relatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.base import Array
from multivalid.properties.functional import Functional


def central_moment(values: Array, weights: Array, power: int) -> float:
    """E[(Y − EY)^power] of a law."""
    return float(weights @ (values - weights @ values) ** power)


def standardised_moment(values: Array, weights: Array, power: int, name: str) -> float:
    """E[(Y − EY)^power] / Std^power of a law; refused where there is no spread."""
    spread = central_moment(values, weights, 2)
    if not spread > 0:
        raise InputError(f"labels are constant: the {name} of a law without spread is not defined.")
    return float(central_moment(values, weights, power) / spread ** (power / 2))


@dataclass(frozen=True)
class Variance(Functional):
    """E[(Y − EY)²].

    Examples
    --------
    >>> Variance().solve([0, 1])
    0.25
    """

    degree: ClassVar[int] = 2
    spec: ClassVar[str] = "variance"

    def value_of(self, values: Array, weights: Array) -> float:
        return central_moment(values, weights, 2)


@dataclass(frozen=True)
class Std(Functional):
    """The standard deviation, the root of the variance.

    Examples
    --------
    >>> Std().solve([0, 1])
    0.5
    """

    degree: ClassVar[int] = 1
    spec: ClassVar[str] = "std"

    def value_of(self, values: Array, weights: Array) -> float:
        return float(np.sqrt(central_moment(values, weights, 2)))


@dataclass(frozen=True)
class CentralMoment(Functional):
    """E[(Y − EY)^k] for a whole number k of at least 2.

    Examples
    --------
    >>> CentralMoment(4).solve([0, 1])
    0.0625
    """

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", validate.count(self.k, "k", least=2))

    @property
    def degree(self) -> int:
        return self.k

    def value_of(self, values: Array, weights: Array) -> float:
        return central_moment(values, weights, self.k)

    @property
    def spec(self) -> str:
        return f"central_moment:{self.k}"


@dataclass(frozen=True)
class Skewness(Functional):
    """E[(Y − EY)³] / Std³; not defined for constant labels.

    Examples
    --------
    >>> round(Skewness().solve([0, 0, 0.2, 1]), 5)
    1.02721
    """

    degree: ClassVar[int] = 0
    spec: ClassVar[str] = "skewness"

    def value_of(self, values: Array, weights: Array) -> float:
        return standardised_moment(values, weights, 3, "skewness")


@dataclass(frozen=True)
class Kurtosis(Functional):
    """E[(Y − EY)⁴] / Variance², 3 for a normal law; not defined for constant labels.

    Examples
    --------
    >>> Kurtosis().solve([0, 1])
    1.0
    """

    degree: ClassVar[int] = 0
    spec: ClassVar[str] = "kurtosis"

    def value_of(self, values: Array, weights: Array) -> float:
        return standardised_moment(values, weights, 4, "kurtosis")


@dataclass(frozen=True)
class MeanAbsoluteDeviation(Functional):
    """E|Y − EY|, the mean distance to the mean.

    Examples
    --------
    >>> MeanAbsoluteDeviation().solve([0, 1])
    0.5
    """

    degree: ClassVar[int] = 1
    spec: ClassVar[str] = "mad"

    def value_of(self, values: Array, weights: Array) -> float:
        return float(weights @ np.abs(values - weights @ values))


@dataclass(frozen=True)
class CoefficientOfVariation(Functional):
    """Std / mean; not defined where the mean is zero.

    Examples
    --------
    >>> round(CoefficientOfVariation().solve([0.2, 0.8]), 12)
    0.6
    """

    degree: ClassVar[int] = 0
    spec: ClassVar[str] = "cv"

    def value_of(self, values: Array, weights: Array) -> float:
        return float(np.sqrt(central_moment(values, weights, 2)) / _nonzero_mean(values, weights, "coefficient of variation"))


@dataclass(frozen=True)
class DispersionIndex(Functional):
    """Variance / mean (Fano factor); not defined where the mean is zero.

    Examples
    --------
    >>> round(DispersionIndex().solve([0.2, 0.8]), 12)
    0.18
    """

    degree: ClassVar[int] = 1
    spec: ClassVar[str] = "dispersion_index"

    def value_of(self, values: Array, weights: Array) -> float:
        return float(central_moment(values, weights, 2) / _nonzero_mean(values, weights, "dispersion index"))


@dataclass(frozen=True)
class MeanVarianceUtility(Functional):
    """Mean − aversion × variance; aversion 0 would be the mean.

    Examples
    --------
    >>> MeanVarianceUtility(0.5).solve([0, 1])
    0.375
    """

    aversion: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "aversion", validate.real(self.aversion, "aversion"))
        if self.aversion == 0:
            raise InputError("aversion must not be 0: that is the mean, use Mean().")

    def value_of(self, values: Array, weights: Array) -> float:
        return float(weights @ values) - self.aversion * central_moment(values, weights, 2)

    @property
    def spec(self) -> str:
        return f"mean_variance_utility:{self.aversion!r}"


def _nonzero_mean(values: Array, weights: Array, what: str) -> float:
    mean = float(weights @ values)
    if mean == 0:
        raise InputError(f"the mean of the labels is zero: the {what} is not defined.")
    return mean
