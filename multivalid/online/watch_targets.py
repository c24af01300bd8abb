"""What a monitor watches of a target: one V per coordinate, with the bounds that its bets rest on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.errors import InputError
from multivalid.online.v_range import prediction_range, v_range
from multivalid.properties.base import REALS, Interval, Property
from multivalid.properties.pairs.base import Pair
from multivalid.properties.pairs.bayes import QuantileCVaR
from multivalid.scope.decide import require

Array = NDArray[np.float64]


class Coordinate(Protocol):
    """One number that is predicted, and V of it."""

    @property
    def name(self) -> str:
        """What it is called where there are several; empty where it is the only one."""

    @property
    def range(self) -> Interval:
        """Predictions outside are judged as if they were at its ends."""

    def prediction(self, predictions: Array) -> Array:
        """The column of `predictions` (rows, columns) that is sorted into buckets."""

    def identify(self, predictions: Array, y: Array) -> Array:
        """V of each row."""

    def v_range(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Least and most of V for predictions in [low, high]; infinite where there is no bound."""

    def usual(self, other: Array) -> Array:
        """How far V usually goes on a side without a bound, given the bound on the other side: it sizes bets, nothing rests on it."""


@dataclass(frozen=True)
class Single:
    """A property, alone or as the first coordinate of a pair."""

    prop: Property
    labels: Interval
    name: str = ""

    @cached_property
    def range(self) -> Interval:
        return prediction_range(self.prop, self.labels)

    def prediction(self, predictions: Array) -> Array:
        return np.clip(predictions[:, 0], *self.range)

    def identify(self, predictions: Array, y: Array) -> Array:
        return self.prop.identify(self.prediction(predictions), y)

    def v_range(self, low: Array, high: Array) -> tuple[Array, Array]:
        return v_range(self.prop, low, high, self.labels)

    def usual(self, other: Array) -> Array:
        return other


@dataclass(frozen=True)
class Shortfall:
    """Expected shortfall beside value at risk: the e-backtest.

    (y − VaR)₊/((1 − τ)(ES − VaR)) has mean at most 1 when VaR is right and ES is not too low, whatever the labels: one minus it is a V
    that is at most 1, and only bets on "too low" are safe.

    References
    ----------
    Wang, Wang, Ziegel, E-backtesting, Management Science 2025.
    """

    tau: float
    name: str

    @property
    def range(self) -> Interval:
        return REALS

    def prediction(self, predictions: Array) -> Array:
        return predictions[:, 1]

    def identify(self, predictions: Array, y: Array) -> Array:
        var, es = predictions[:, 0], predictions[:, 1]
        return np.asarray(1.0 - np.maximum(y - var, 0.0) / ((1.0 - self.tau) * (es - var)))

    def v_range(self, low: Array, high: Array) -> tuple[Array, Array]:
        return np.full_like(low, -np.inf), np.ones_like(high)

    def usual(self, other: Array) -> Array:
        return np.full_like(other, self.tau / (1.0 - self.tau))


@dataclass(frozen=True)
class WatchTarget:
    """A target with its coordinates and where labels lie."""

    target: Property | Pair
    labels: tuple[float | None, float | None] | None
    interval: Interval
    coordinates: tuple[Coordinate, ...]

    @property
    def spec(self) -> str:
        """The target as text; one without a name cannot be kept in a file."""
        spec = self.target.spec
        if spec is None:
            raise InputError(
                f"{self.target!r} was built from a function and has no name; give it one with register(name, property)."
            )
        return spec

    def outside(self, predictions: Array) -> int:
        """Rows with a prediction that no label could have borne out: it is judged as the nearer end of its range."""
        far = np.zeros(len(predictions), dtype=bool)
        for column, coordinate in enumerate(self.coordinates):
            far |= (predictions[:, column] < coordinate.range.lo) | (predictions[:, column] > coordinate.range.hi)
        return int(far.sum())

    def check(self, predictions: Array, y: Array) -> None:
        """Refuse outcomes outside the range that the bounds rest on, and pairs that are none."""
        outside = np.flatnonzero((y < self.interval.lo) | (y > self.interval.hi))
        if outside.size:
            raise InputError(
                f"y must lie in labels=({self.interval.lo:g}, {self.interval.hi:g}), on which the level of the alarms rests: "
                f"{outside.size} values do not, the first at row {outside[0]} ({y[outside[0]]:g}); make a monitor with a wider "
                f"range, or labels=(low, None) to watch for predictions that are too low alone."
            )
        self.target.check_labels(y, "y")
        if predictions.shape[1] == 2:
            equal = np.flatnonzero(predictions[:, 1] <= predictions[:, 0])
            if equal.size:
                raise InputError(
                    f"prediction must be (VaR, ES) with ES above VaR: {equal.size} rows are not, the first is row {equal[0]} "
                    f"({predictions[equal[0], 0]:g}, {predictions[equal[0], 1]:g})."
                )


def watch_target(target: Property | Pair | str, labels: Any) -> WatchTarget:
    """What to watch, from what a user says."""
    return _watch_target(require(target), labels)


def _watch_target(target: Any, labels: Any) -> WatchTarget:
    if isinstance(target, QuantileCVaR):
        interval = _interval(labels)
        first, second = target.names
        return WatchTarget(target, labels, interval, (Single(target.first, interval, first), Shortfall(target.tau, second)))
    if not isinstance(target, Property):
        raise InputError(
            f"property must be a property that can be calibrated alone, such as 'mean' or 'quantile:0.9', or the pair "
            f"'quantile_cvar:0.975', got {target!r}."
        )
    interval = _interval(labels)
    if labels is None and not _is_bounded(target, REALS):
        interval = Interval(0.0, 1.0)  # shares and probabilities; an outcome outside is refused, so the bound stays true
    if not _is_bounded(target, interval):
        raise InputError(
            f"V of {target!r} has no bound for labels in ({interval.lo:g}, {interval.hi:g}); give both ends, labels=(low, high)."
        )
    return WatchTarget(target, labels, interval, (Single(target, interval),))


def _interval(labels: Any) -> Interval:
    if labels is None:
        return REALS
    try:
        low, high = labels
    except (TypeError, ValueError):
        raise InputError(f"labels must be a pair (low, high), either of which may be None, got {labels!r}.") from None
    lo = -np.inf if low is None else validate.real(low, "labels[0]")
    hi = np.inf if high is None else validate.real(high, "labels[1]")
    if not lo < hi:
        raise InputError(f"labels must be (low, high) with low < high, got {labels!r}.")
    return Interval(lo, hi)


def _is_bounded(prop: Property, labels: Interval) -> bool:
    """Whether V has a bound on one side at least, for some prediction."""
    middle = np.array([np.clip(0.0, labels.lo, labels.hi)])
    return bool(np.isfinite(v_range(prop, middle, middle, labels)).any())
