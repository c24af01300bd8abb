"""Distortion risk measures that go by a name: Wang, proportional hazard, dual power, exponential spectral, MINVAR."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.base import Array
from multivalid.properties.distortion import Distortion

# Up to this many probabilities plain Python is quicker than importing scipy.special, which takes half a second.
FEW = 5000


@dataclass(frozen=True)
class Wang(Distortion):
    """Wang's transform h(u) = Φ(Φ⁻¹(u) + shift), with Φ the normal distribution function.

    Examples
    --------
    >>> round(Wang(0.5).solve([0, 1]), 5)
    0.69146
    """

    shift: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "shift", validate.real(self.shift, "shift"))
        _not_the_mean(self.shift, 0.0, "shift")

    def distort(self, survival: Array) -> Array:
        u = np.asarray(survival, dtype=np.float64)
        if u.size <= FEW:
            return np.array([self._one(float(each)) for each in u.ravel()]).reshape(u.shape)
        from scipy.special import ndtr, ndtri

        return np.asarray(ndtr(ndtri(u) + self.shift))

    def _one(self, u: float) -> float:
        if not 0.0 < u < 1.0:
            return u
        return 0.5 * math.erfc(-(NormalDist().inv_cdf(u) + self.shift) / math.sqrt(2.0))

    @property
    def spec(self) -> str:
        return f"wang:{self.shift!r}"


@dataclass(frozen=True)
class ProportionalHazard(Distortion):
    """The proportional hazard transform h(u) = u^(1/rho); rho > 1 loads the high labels.

    Examples
    --------
    >>> ProportionalHazard(2).solve([0, 1], sample_weight=[3, 1])
    0.5
    """

    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", validate.positive(self.rho, "rho"))
        _not_the_mean(self.rho, 1.0, "rho")

    def distort(self, survival: Array) -> Array:
        return np.asarray(np.asarray(survival) ** (1 / self.rho))

    @property
    def spec(self) -> str:
        return f"proportional_hazard:{self.rho!r}"


@dataclass(frozen=True)
class DualPower(Distortion):
    """h(u) = 1 − (1 − u)^k; for a whole k the mean of the largest of k labels (also called MAXVAR).

    Examples
    --------
    >>> DualPower(2).solve([0, 1])
    0.75
    """

    k: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", validate.positive(self.k, "k"))
        _not_the_mean(self.k, 1.0, "k")

    def distort(self, survival: Array) -> Array:
        return np.asarray(1 - (1 - np.asarray(survival)) ** self.k)

    @property
    def spec(self) -> str:
        return f"dual_power:{self.k!r}"


@dataclass(frozen=True)
class MinVar(Distortion):
    """h(u) = u^k; for a whole k the mean of the smallest of k labels.

    Examples
    --------
    >>> MinVar(2).solve([0, 1])
    0.25
    """

    k: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", validate.positive(self.k, "k"))
        _not_the_mean(self.k, 1.0, "k")

    def distort(self, survival: Array) -> Array:
        return np.asarray(np.asarray(survival) ** self.k)

    @property
    def spec(self) -> str:
        return f"minvar:{self.k!r}"


@dataclass(frozen=True)
class ExponentialSpectral(Distortion):
    """Quantiles averaged with weight growing like e^(k·u): h(u) = (1 − e^(−ku))/(1 − e^(−k)).

    Examples
    --------
    >>> round(ExponentialSpectral(5).solve([0, 1], sample_weight=[4, 1]), 5)
    0.63641
    """

    k: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", validate.real(self.k, "k"))
        _not_the_mean(self.k, 0.0, "k")

    def distort(self, survival: Array) -> Array:
        return np.asarray(np.expm1(-self.k * np.asarray(survival)) / np.expm1(-self.k))

    @property
    def spec(self) -> str:
        return f"exponential_spectral:{self.k!r}"


def _not_the_mean(value: float, forbidden: float, name: str) -> None:
    if value == forbidden:
        raise InputError(f"{name} must not be {forbidden:g}: that is the mean, use Mean().")
