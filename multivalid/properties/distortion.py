"""Distortion risk measures: expectations under a distorted survival function."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from multivalid import validate
from multivalid.errors import InputError, PropertyError
from multivalid.properties.base import Array
from multivalid.properties.function import checked, name_of
from multivalid.properties.functional import Functional
from multivalid.properties.quadrature import integrate

# A survival probability this close to a level h jumps at counts as that level: rounding must not cross the jump.
ROUNDING = 1e-13
PROBES = 1025


class Distortion(Functional):
    """Γ(P) = ∫ h(P(Y > t)) dt, for a nondecreasing h with h(0) = 0 and h(1) = 1 (the integral signed, as for a mean).

    So Γ of a 0/1 label with probability p of being one is h(p). Subclasses give `distort`, the function h.
    """

    @abstractmethod
    def distort(self, survival: Array) -> Array:
        """h, element by element."""

    @property
    def degree(self) -> int:
        return 1

    def value_of(self, values: Array, weights: Array) -> float:
        # P(Y ≥ value) for all but the lowest value, summed from the small end so that tails keep their digits.
        above = np.minimum(np.cumsum(weights[::-1])[::-1][1:], 1.0)
        return float(values[0] + self.distort(above) @ np.diff(values))


@dataclass(frozen=True, repr=False)
class DistortionRisk(Distortion):
    """The distortion risk of a user's `h`, a vectorised nondecreasing function on [0, 1] with h(0) = 0 and h(1) = 1.

    h(u) = u is the mean and h(u) = 1[u > 1 − τ] the lower τ-quantile; hardly any other h can be calibrated alone.

    Raises
    ------
    PropertyError
        When h is not finite, falls somewhere, or misses 0 or 1 at the ends.

    Examples
    --------
    >>> DistortionRisk(lambda u: u**0.5).solve([0, 1], sample_weight=[3, 1])
    0.5
    """

    h: Callable[[Array], Array]
    name: str | None = None

    def __post_init__(self) -> None:
        if not callable(self.h):
            raise InputError(f"h must be a function of an array of probabilities, got {self.h!r}.")
        probes = np.linspace(0.0, 1.0, PROBES)
        values = self.distort(probes)
        if abs(values[0]) > 1e-12 or abs(values[-1] - 1) > 1e-12:
            raise PropertyError(f"h must have h(0) = 0 and h(1) = 1, got {values[0]:g} and {values[-1]:g}.")
        falling = np.flatnonzero(np.diff(values) < -1e-12)
        if falling.size:
            at = probes[falling[0]]
            raise PropertyError(f"h must not decrease, but it does just above {at:g}.")

    def __repr__(self) -> str:
        return f"<distortion {self.name or name_of(self.h)!r}>"

    def distort(self, survival: Array) -> Array:
        return checked(self.h, "h", np.asarray(survival, dtype=np.float64))

    @staticmethod
    def from_spectrum(spectrum: Callable[[Array], Array], name: str | None = None) -> DistortionRisk:
        """∫ spectrum(u)·q_u du for a density `spectrum` on [0, 1]: h(u) is its mass on [1 − u, 1], scaled to one.

        Examples
        --------
        >>> square = DistortionRisk.from_spectrum(lambda u: 2 * u)  # the mean of the larger of two labels
        >>> round(square.solve([0, 1]), 12)
        0.75
        """
        total = float(integrate(lambda u: checked(spectrum, "spectrum", u), np.array(0.0), np.array(1.0)))
        if not total > 0:
            raise PropertyError(f"spectrum must have positive mass on [0, 1], got {total:g}.")
        return DistortionRisk(SpectrumMass(spectrum, total), name or name_of(spectrum))


@dataclass(frozen=True)
class SpectrumMass:
    """h(u) = ∫ of a spectral density over [1 − u, 1], divided by its total."""

    spectrum: Callable[[Array], Array]
    total: float

    def __call__(self, survival: Array) -> Array:
        u = np.asarray(survival, dtype=np.float64)
        return integrate(lambda r: checked(self.spectrum, "spectrum", r), 1 - u, np.ones_like(u)) / self.total


@dataclass(frozen=True)
class QuantileMix(Distortion):
    """c × lower τ-quantile + (1 − c) × upper τ-quantile; c = 1 and c = 0 are the two quantiles themselves.

    All the same number wherever the labels leave no gap at level τ.

    Examples
    --------
    >>> QuantileMix(0.5, 0.25).solve([1, 2, 3, 10])
    2.75
    """

    tau: float
    c: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", validate.fraction(self.tau, "tau"))
        object.__setattr__(self, "c", _share(self.c))

    def distort(self, survival: Array) -> Array:
        step = np.asarray(survival) - (1 - self.tau)
        return np.where(step > ROUNDING, 1.0, np.where(step < -ROUNDING, 0.0, 1 - self.c))

    @property
    def spec(self) -> str:
        return f"quantile_mix:{self.tau!r}:{self.c!r}"


@dataclass(frozen=True)
class EndpointMix(Distortion):
    """c × lowest label + (1 − c) × highest label.

    Examples
    --------
    >>> EndpointMix(0.25).solve([1, 2, 5])
    4.0
    """

    c: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", _share(self.c))

    def distort(self, survival: Array) -> Array:
        u = np.asarray(survival)
        return np.where(u <= 0, 0.0, np.where(u >= 1, 1.0, 1 - self.c))

    @property
    def spec(self) -> str:
        return f"endpoint_mix:{self.c!r}"


def _share(value: float) -> float:
    number = validate.real(value, "c")
    if not 0.0 <= number <= 1.0:
        raise InputError(f"c must lie in [0, 1], got {value!r}.")
    return number
