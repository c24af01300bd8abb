"""L_p-quantiles: between quantiles (p = 1) and expectiles (p = 2), and beyond."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.base import Array, Facts, Interval, Pieces, Property, broadcast

# Above this power the expansion of (γ − y)^p into moments loses digits; V is then evaluated label by label.
LARGEST_EXPANDED_POWER = 4


@dataclass(frozen=True)
class LpQuantile(Property):
    """The L_p-quantile: S = |1[y ≤ γ] − τ|·|γ − y|^p with p > 1, and V its derivative.

    Examples
    --------
    >>> round(LpQuantile(2, 0.8).solve([0, 1, 5]), 10)  # p = 2 is the expectile
    3.5
    """

    p: float
    tau: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", validate.positive(self.p, "p"))
        object.__setattr__(self, "tau", validate.fraction(self.tau, "tau"))
        if self.p <= 1:
            raise InputError(f"p must be above 1, got {self.p!r}; p = 1 is Quantile(tau).")

    def _side(self, g: Array, y: Array) -> Array:
        return np.where(y <= g, 1 - self.tau, self.tau)

    def identify(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        g, y = broadcast(prediction, label)
        u = g - y
        return np.asarray(self.p * self._side(g, y) * np.abs(u) ** (self.p - 1) * np.sign(u))

    def score(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        g, y = broadcast(prediction, label)
        return np.asarray(self._side(g, y) * np.abs(g - y) ** self.p)

    def solve_points(self, labels: Array) -> Array:
        return labels

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> Facts:
        most, span, p = max(self.tau, 1 - self.tau), hi - lo, self.p
        lipschitz = p * (p - 1) * most * span ** (p - 2) if p >= 2 else None
        reason = "" if p >= 2 else "for p < 2 the slope of V is unbounded at the label; L needs a bound on the label density"
        # At p = 2 this is the expectile; for larger p the slope of V vanishes at the label, so no anti-Lipschitz constant exists.
        anti = 1 / (2 * min(self.tau, 1 - self.tau)) if p == 2 else None
        if p < 2:
            anti = 1 / (p * (p - 1) * min(self.tau, 1 - self.tau) * span ** (p - 2))
        return Facts(Interval(lo, hi), Interval(lo, hi), p * most * span ** (p - 1), lipschitz, reason, anti, most * span**p)

    @property
    def shift_invariant(self) -> bool:
        return True

    def _power(self) -> int | None:
        return int(self.p) if self.p.is_integer() and self.p <= LARGEST_EXPANDED_POWER else None

    def moments(self, labels: Array) -> Array | None:
        power = self._power()
        return None if power is None else np.stack([labels**k for k in range(power + 1)], axis=1)

    def pieces(self, points: Array) -> Pieces | None:
        power = self._power()
        if power is None:
            return None
        v = _binomial(points, power - 1, power + 1) * power
        s = _binomial(points, power, power + 1)
        below, above = 1 - self.tau, self.tau * (-1) ** power
        return Pieces(points[None], np.stack([below * v, above * v]), np.stack([below * s, above * s]))

    @property
    def spec(self) -> str:
        return f"lp_quantile:{self.p!r}:{self.tau!r}"


def _binomial(points: Array, power: int, width: int) -> Array:
    """Coefficients of (γ − y)^power in 1, y, …, y^(width − 1), one row per grid point."""
    rows = [comb(power, k) * (-1.0) ** k * points ** (power - k) for k in range(power + 1)]
    rows += [np.zeros_like(points)] * (width - power - 1)
    return np.stack(rows, axis=1)
