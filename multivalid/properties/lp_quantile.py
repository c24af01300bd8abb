"""L_p-quantiles: between quantiles (p = 1) and expectiles (p = 2), and beyond."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.base import Array, Facts, Interval, Location, Pieces
from multivalid.properties.ops import Ops

# Above this power the expansion of (γ − y)^p into moments loses digits; V is then evaluated label by label.
LARGEST_EXPANDED_POWER = 4


@dataclass(frozen=True)
class LpQuantile(Location):
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

    def residual(self, ops: Ops, prediction: Any, label: Any) -> Any:
        side = ops.where(label <= prediction, self.p * (1 - self.tau), -self.p * self.tau)
        return side * ops.power(ops.absolute(prediction - label), self.p - 1)

    def scoring(self, ops: Ops, prediction: Any, label: Any) -> Any:
        return ops.where(label <= prediction, 1 - self.tau, self.tau) * ops.power(ops.absolute(prediction - label), self.p)

    def statistics(self, ops: Ops, label: Any) -> list[Any] | None:
        power = self._power()
        return None if power is None else [ops.power(label, k) for k in range(1, power + 1)]

    @property
    def degree(self) -> int:
        return 1

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> Facts:
        most, span, p = max(self.tau, 1 - self.tau), hi - lo, self.p
        lipschitz = p * (p - 1) * most * span ** (p - 2) if p >= 2 else None
        reason = "" if p >= 2 else "for p < 2 the slope of V is unbounded at the label; L needs a bound on the label density"
        # At p = 2 this is the expectile; for larger p the slope of V vanishes at the label, so no anti-Lipschitz constant exists.
        anti = 1 / (2 * min(self.tau, 1 - self.tau)) if p == 2 else None
        if p < 2:
            anti = 1 / (p * (p - 1) * min(self.tau, 1 - self.tau) * span ** (p - 2))
        return Facts(Interval(lo, hi), Interval(lo, hi), p * most * span ** (p - 1), lipschitz, reason, anti, most * span**p)

    def _power(self) -> int | None:
        return int(self.p) if self.p.is_integer() and self.p <= LARGEST_EXPANDED_POWER else None

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
