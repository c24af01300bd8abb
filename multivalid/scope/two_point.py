"""The two-point data set behind a certificate, and what it does and does not rule out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multivalid import validate
from multivalid.scope.evaluate import Evaluable, label_of
from multivalid.scope.finite import ExactCheck, FiniteWorld

GROUPS = {"x1": (True, False), "x2": (False, True)}


@dataclass(frozen=True)
class TwoPoint:
    """Two features whose label laws have equal Γ but a mixture with another.

    `value` is Γ at either feature and `mixture_value` is Γ of all labels together.

    Notes
    -----
    What is true: predicting Γ exactly at x1 and x2 is one level set with the wrong value on it, off by `gap`. With the groups
    everyone, {x1} and {x2} no predictor at all is exactly multicalibrated: the small groups force `value`, the whole contradicts
    it. What is not: a constant prediction of `mixture_value` is calibrated without groups, and splitting the tie by ε makes the
    error at most ε². Such a split hides which point is which in the low digits, that is, it predicts a second quantity.

    Examples
    --------
    >>> from multivalid.properties import Law, Variance
    >>> from multivalid.scope import certify
    >>> coin = certify(Variance(), Law.point(0), Law.point(1)).two_point()
    >>> coin.gap, coin.split_error(1e-3)
    (0.25, 5e-07)
    >>> round(coin.tied_error(), 5)
    0.01072
    """

    functional: Evaluable
    world: FiniteWorld
    value: float
    mixture_value: float

    @property
    def true_prediction(self) -> tuple[float, float]:
        """Γ at the two features."""
        first, second = self.world.true_predictor(self.functional).tolist()
        return first, second

    @property
    def gap(self) -> float:
        """How far the true predictor is off on its own level set."""
        return abs(self.mixture_value - self.value)

    def check(self, first: float, second: float) -> ExactCheck:
        """Exact multicalibration of the predictions (first, second) for the groups everyone, {x1}, {x2}."""
        return self.world.check(self.functional, [first, second], GROUPS, tie=0.0)

    def tied_prediction(self) -> float:
        """The one value for both features with the smallest worst group error."""
        # The error is max(M·(v − value)², (v − mixture_value)²), M the larger mass: both sides equal at the best v.
        share = 1 / (1 + np.sqrt(max(self.world.masses)))
        return float(self.value + share * (self.mixture_value - self.value))

    def tied_error(self) -> float:
        """Worst group error of the best tied prediction: above zero, so ties cannot be exact."""
        best = self.tied_prediction()
        return self.check(best, best).error

    def split_error(self, epsilon: float) -> float:
        """Worst group error after the tie is split: predict `value` at x1 and `value` + epsilon at x2."""
        return self.check(self.value, self.value + validate.positive(epsilon, "epsilon")).error

    def summary(self) -> str:
        """The example in words, with its caveat."""
        name, (mass, other), (one, two) = label_of(self.functional), self.world.masses, self.world.laws
        return (
            f"Two points of mass {mass:.6g} and {other:.6g}: labels at x1 are {one}; at x2 {two}. {name} is {self.value:.6g} at "
            f"both, yet {self.mixture_value:.6g} over all labels together, so the true predictor is off by {self.gap:.6g} on "
            f"its own level set. With the groups everyone, x1 and x2 no predictor is exactly multicalibrated: the best tied one "
            f"has error {self.tied_error():.4g}. Splitting the tie by 0.001 brings it down to {self.split_error(1e-3):.2g}; "
            f"that is no way out, since the low digits then tell the points apart, which amounts to predicting a second quantity."
        )
