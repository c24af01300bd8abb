"""Tail risks: averages of quantiles (expected shortfall, range value at risk, their finite mixtures)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.base import Array
from multivalid.properties.distortion import Distortion


@dataclass(frozen=True)
class CVaR(Distortion):
    """Conditional value at risk (expected shortfall): the mean of the highest 1 − tau share of the labels.

    Atoms are cut where needed, so this is min_γ E[γ + (Y − γ)₊/(1 − τ)], not a conditional mean.

    Examples
    --------
    >>> CVaR(0.5).solve([0, 1, 2, 3])
    2.5
    """

    tau: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", validate.fraction(self.tau, "tau"))

    def distort(self, survival: Array) -> Array:
        return np.minimum(np.asarray(survival) / (1 - self.tau), 1.0)

    @property
    def spec(self) -> str:
        return f"cvar:{self.tau!r}"


ExpectedShortfall = CVaR


@dataclass(frozen=True)
class RangeVaR(Distortion):
    """The average of the quantiles between levels alpha and beta (range value at risk).

    Examples
    --------
    >>> round(RangeVaR(0.25, 0.75).solve([0, 1], sample_weight=[0.6, 0.4]), 12)
    0.3
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", validate.fraction(self.alpha, "alpha"))
        object.__setattr__(self, "beta", validate.fraction(self.beta, "beta"))
        if not self.alpha < self.beta:
            raise InputError(f"alpha must be below beta, got alpha={self.alpha!r}, beta={self.beta!r}.")

    def distort(self, survival: Array) -> Array:
        return np.clip((np.asarray(survival) - (1 - self.beta)) / (self.beta - self.alpha), 0.0, 1.0)

    @property
    def spec(self) -> str:
        return f"range_var:{self.alpha!r}:{self.beta!r}"


def trimmed_mean(share: float) -> RangeVaR:
    """The mean of the labels without the lowest and the highest `share` of them: range value at risk from share to 1 − share.

    Examples
    --------
    >>> trimmed_mean(0.25).solve([0, 1, 2, 90])
    1.5
    """
    cut = validate.fraction(share, "share")
    if cut >= 0.5:
        raise InputError(f"share must be below 0.5, got {share!r}: nothing would be left between the two ends.")
    return RangeVaR(cut, 1 - cut)


@dataclass(frozen=True)
class Spectral(Distortion):
    """Σ shares × CVaR at `levels`, a spectral risk with finitely many steps; level 0 stands for the mean.

    For a continuous spectrum see `DistortionRisk.from_spectrum`.

    Examples
    --------
    >>> Spectral((0.0, 0.5), (0.5, 0.5)).solve([0, 1], sample_weight=[3, 1])
    0.375
    """

    levels: tuple[float, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        levels, shares = validate.vector(self.levels, "levels"), validate.vector(self.shares, "shares")
        validate.same_length(shares, levels.size, "shares", "levels")
        if ((levels < 0) | (levels >= 1)).any():
            raise InputError(f"levels must lie in [0, 1), got {self.levels!r}.")
        if (shares <= 0).any() or abs(shares.sum() - 1) > 1e-12:
            raise InputError(f"shares must be positive and sum to 1, got {self.shares!r}.")
        if np.unique(levels).size < levels.size:
            raise InputError(f"levels must be distinct, got {self.levels!r}.")
        if levels.size == 1:
            way_out = "Mean()" if levels[0] == 0 else f"CVaR({float(levels[0])!r})"
            raise InputError(f"levels has one entry only: use {way_out}.")
        order = np.argsort(levels)
        object.__setattr__(self, "levels", tuple(levels[order].tolist()))
        object.__setattr__(self, "shares", tuple(shares[order].tolist()))

    def distort(self, survival: Array) -> Array:
        tails = np.minimum(np.asarray(survival)[..., None] / (1 - np.array(self.levels)), 1.0)
        return np.asarray(tails @ np.array(self.shares))
