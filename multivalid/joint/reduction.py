"""The second coordinate as an ordinary calibration problem, once the first is fixed.

With f⁰ at hand most pairs turn into one property of a pseudo-label: the mean of the target, or, for the distance between two
quantiles, a quantile of y − f⁰.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from multivalid.errors import InputError
from multivalid.properties import LowerQuantileCVaR, MeanStd, MeanVariance, Pair, Property, Quantile, QuantileCVaR, QuantileIQR
from multivalid.properties.base import Array, broadcast
from multivalid.properties.mean import Mean
from multivalid.properties.ops import NUMPY, Ops


@dataclass(frozen=True)
class PositiveMean(Mean):
    """The mean of positive numbers, with the score log γ + t/γ: heavy tails move it far less than the square.

    V stays γ − t; the score is as consistent for the mean as the square is, and it is the joint score of a pair in its second
    coordinate. Predictions and certain labels are taken at least `least`.
    """

    least: float = 1e-300

    def score(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        g, t = broadcast(prediction, label)
        g = np.maximum(g, self.least)
        return np.asarray(np.log(g) + t / g)

    def solve_points(self, labels: Array) -> Array:
        return np.maximum(labels, self.least)


@dataclass(frozen=True)
class Form:
    """How second predictions relate to the pseudo-label.

    Attributes
    ----------
    square : bool
        Second predictions are squared before and rooted after (a standard deviation is calibrated as a variance).
    ordered : bool
        The second coordinate is never below the first (expected shortfall and value at risk).
    turned : bool
        Second predictions change their sign before and after (of returns: they are calibrated as losses, and never above the first).
    """

    square: bool = False
    ordered: bool = False
    turned: bool = False

    def forward(self, second: Any) -> Any:
        """Second predictions in the units of the pseudo-label."""
        second = -second if self.turned else second
        return second * second if self.square else second

    def backward(self, values: Any, first: Any, ops: Ops = NUMPY) -> Any:
        """Second predictions from values in the units of the pseudo-label."""
        if self.square:
            return ops.power(ops.maximum(values, 0.0), 0.5)
        if self.turned:
            return ops.minimum(-values, first) if self.ordered else -values
        return ops.maximum(values, first) if self.ordered else values


@dataclass(frozen=True)
class Reduction:
    """A pair's second coordinate given the first."""

    pair: Pair
    form: Form

    def labels(self, first: Array, labels: Array) -> Array:
        """The pseudo-label of each row."""
        if isinstance(self.pair, QuantileIQR):
            return labels - first
        return -self.pair.target(first, labels) if self.form.turned else self.pair.target(first, labels)

    def property(self, pseudo: Array, second: Array) -> Property:
        """What the second coordinate is of the pseudo-label."""
        if isinstance(self.pair, QuantileIQR):
            return Quantile(self.pair.high)
        if pseudo.min() >= 0 and second.min() > 0:
            return PositiveMean(1e-9 * float(max(pseudo.mean(), second.mean())))
        return Mean()


def reduction_of(pair: Pair) -> Reduction:
    """How to calibrate the second coordinate of `pair` with the first fixed."""
    if isinstance(pair, MeanStd):
        return Reduction(MeanVariance(), Form(square=True))
    if pair.has_target or isinstance(pair, QuantileIQR):
        return Reduction(pair, Form(ordered=isinstance(pair, (QuantileCVaR, LowerQuantileCVaR)), turned=pair.of_gains))
    raise InputError(f"mode='practical' needs a target or a pair of the catalogue; for {pair!r} use mode='theorem'.")
