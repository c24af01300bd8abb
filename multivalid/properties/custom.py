"""A user's own property, from an identification V or from a score S, checked when it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from multivalid import validate
from multivalid.errors import PropertyError
from multivalid.properties.base import Array, Facts, Interval, Property, broadcast
from multivalid.properties.function import checked, name_of
from multivalid.properties.quadrature import integrate

UserFunction = Callable[[Any, Any], Any]
PROBES = 129  # odd, so that the middle of the range is probed too
STEP = 1e-4  # of the range, for derivatives of a user's score


def from_identification(
    identification: UserFunction,
    *,
    range: tuple[float, float] = (0.0, 1.0),
    labels: tuple[float, float] | None = None,
    score: UserFunction | None = None,
    lipschitz: float | None = None,
    anti_lipschitz: float | None = None,
    breakpoints: Callable[[Array], Any] | None = None,
    name: str | None = None,
) -> Property:
    """What `Property.from_identification` promises."""
    interval = _interval(range, "range")
    domain = interval if labels is None else _interval(labels, "labels")
    title = name or name_of(identification)
    made = Identified(title, identification, score, interval, domain, lipschitz, anti_lipschitz, breakpoints)
    check_identification(made)
    if score is not None:
        check_score(made)
    return made


def from_score(
    score: UserFunction,
    *,
    range: tuple[float, float] = (0.0, 1.0),
    labels: tuple[float, float] | None = None,
    lipschitz: float | None = None,
    anti_lipschitz: float | None = None,
    name: str | None = None,
) -> Property:
    """What `Property.from_score` promises."""
    interval = _interval(range, "range")
    domain = interval if labels is None else _interval(labels, "labels")
    derivative = RightDerivative(score, STEP * interval.length)
    made = Identified(name or name_of(score), derivative, score, interval, domain, lipschitz, anti_lipschitz, None)
    check_identification(made, slack=1e-7)
    return made


@dataclass(frozen=True)
class RightDerivative:
    """∂S/∂prediction from the right, by two extrapolations of one-sided differences (right, so that y ≤ γ is covered)."""

    score: UserFunction
    step: float
    convex: bool = True

    def __call__(self, prediction: Array, label: Array) -> Array:
        here = checked(self.score, "score", prediction, label)
        d1, d2, d4 = (
            (checked(self.score, "score", prediction + h, label) - here) / h for h in (self.step, self.step / 2, self.step / 4)
        )
        # Richardson: the differences have errors a·h + b·h² + …; these weights cancel a and b.
        slope = np.asarray((d1 - 6 * d2 + 8 * d4) / 3)
        if not self.convex:
            return slope
        # Near a kink they overshoot, but a convex score's derivative lies between the difference behind and the one ahead.
        before = (here - checked(self.score, "score", prediction - self.step, label)) / self.step
        return np.clip(slope, np.minimum(before, d4), d4)


@dataclass(frozen=True, repr=False)
class Identified(Property):
    """The property that `from_identification` and `from_score` build."""

    name: str
    identification: UserFunction
    given_score: UserFunction | None
    interval: Interval
    domain: Interval
    lipschitz: float | None
    anti_lipschitz: float | None
    breakpoints: Callable[[Array], Any] | None

    def __repr__(self) -> str:
        return f"<property {self.name!r}>"

    def identify(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        return checked(self.identification, "identification", *broadcast(prediction, label))

    def score(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        g, y = broadcast(prediction, label)
        if self.given_score is not None:
            return checked(self.given_score, "score", g, y)
        # ∫ V from the label itself: the constant of integration is free for each label, and V most often breaks at γ = y.
        total = np.zeros(g.shape)
        cuts = self._cuts(g, y)
        for start, stop in pairwise(cuts):
            total += integrate(lambda r: self.identify(r, y), start, stop)
        return total

    def _cuts(self, g: Array, y: Array) -> list[Array]:
        """Points from the label to the prediction, in order, with every breakpoint of V between them."""
        start = np.clip(y, *self.interval)
        if self.breakpoints is None:
            return [start, g]
        inner = np.asarray(self.breakpoints(y.ravel()), dtype=np.float64).reshape(*y.shape, -1)
        low, high = np.minimum(start, g)[..., None], np.maximum(start, g)[..., None]
        inner = np.sort(np.clip(inner, low, high), axis=-1)
        inner = np.where((start <= g)[..., None], inner, inner[..., ::-1])
        return [start, *np.moveaxis(inner, -1, 0), g]

    @property
    def label_domain(self) -> Interval:
        return self.domain

    def solution_bracket(self, least: Array, most: Array) -> tuple[Array, Array]:
        return np.full_like(least, self.interval.lo), np.full_like(most, self.interval.hi)

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> Facts:
        labels = Interval(max(lo, self.domain.lo), min(hi, self.domain.hi))
        g, y = _mesh(self.interval, labels)
        bound = float(np.abs(self.identify(g, y)).max())
        reason = "" if self.lipschitz is not None else "not given; pass lipschitz= if V has a bounded slope in the prediction"
        # S varies by ∫|V|, at most bound × length: safe where the score itself is only known on a mesh.
        span = bound * self.interval.length
        return Facts(labels, self.interval, bound, self.lipschitz, reason, self.anti_lipschitz, span)


def check_identification(prop: Identified, slack: float = 1e-9) -> None:
    """Refuse a V that falls somewhere or has the wrong sign, saying where."""
    g, y = _mesh(prop.interval, prop.domain)
    v = prop.identify(g, y)
    scale = max(float(np.abs(v).max()), 1e-300)
    drop = np.diff(v, axis=0) < -slack * scale
    rise = np.diff(v, axis=0) > slack * scale
    if drop.any() and not rise.any():
        raise PropertyError(
            f"wrong orientation: the identification of {prop.name!r} falls with the prediction everywhere; it must be negative "
            f"below the property and positive above. Change its sign."
        )
    if drop.any():
        row, column = (int(i) for i in np.argwhere(drop)[0])
        raise PropertyError(
            f"not monotone: the identification of {prop.name!r} falls from {v[row, column]:.6g} at prediction {g[row, 0]:.6g} to "
            f"{v[row + 1, column]:.6g} at {g[row + 1, 0]:.6g} for label {y[0, column]:.6g}; it must not decrease in the prediction."
        )
    if not rise.any():
        raise PropertyError(f"constant: the identification of {prop.name!r} does not depend on the prediction.")
    if not ((v[0] <= slack * scale).any() and (v[-1] >= -slack * scale).any()):
        raise PropertyError(
            f"wrong range: the identification of {prop.name!r} has one sign on all of [{prop.interval.lo:g}, "
            f"{prop.interval.hi:g}]; give range= so that it contains the property's values."
        )


def check_score(prop: Identified) -> None:
    """Refuse a score whose differences are not the integral of V."""
    g, y = _mesh(prop.interval, prop.domain)
    v, s = prop.identify(g, y), prop.score(g, y)
    step = np.diff(g, axis=0)
    # V is nondecreasing, so ΔS must lie between the rectangles under and over V; anything else is another property's score.
    slack = 1e-6 * max(float(np.abs(v).max()), 1e-300) * float(step.max())
    wrong = (np.diff(s, axis=0) < v[:-1] * step - slack) | (np.diff(s, axis=0) > v[1:] * step + slack)
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        raise PropertyError(
            f"score and identification of {prop.name!r} disagree: between predictions {g[row, 0]:.6g} and {g[row + 1, 0]:.6g}, "
            f"label {y[0, column]:.6g}, the score changes by {s[row + 1, column] - s[row, column]:.6g} but the identification says "
            f"{v[row, column] * step[row, 0]:.6g} to {v[row + 1, column] * step[row, 0]:.6g}."
        )


def _mesh(predictions: Interval, labels: Interval) -> tuple[Array, Array]:
    g = np.linspace(predictions.lo, predictions.hi, PROBES)
    y = np.linspace(labels.lo, labels.hi, PROBES)
    return np.broadcast_arrays(g[:, None], y[None, :])  # type: ignore[return-value]


def _interval(ends: tuple[float, float], name: str) -> Interval:
    return Interval(*validate.ends(ends, name))
