"""Scores from identifications and back: every consistent score is ∫ V·w + κ(y) with a weight w ≥ 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.base import Array, Property, broadcast
from multivalid.properties.custom import STEP, RightDerivative
from multivalid.properties.function import checked
from multivalid.properties.quadrature import integrate

TwoArguments = Callable[[Any, Any], Any]
PROBES = 65


def score_from_identification(
    identification: TwoArguments | Property,
    weight: Callable[[Any], Any] | None = None,
    start: float = 0.0,
    breakpoints: Callable[[Array], Any] | None = None,
) -> Callable[[ArrayLike, ArrayLike], Array]:
    """S(γ, y) = ∫ V(r, y)·w(r) dr from `start` to γ.

    Parameters
    ----------
    identification : callable or Property
        V(prediction, label).
    weight : callable, optional
        w(prediction) ≥ 0, one by default; every choice gives a score of the same property.
    start : float
        Lower end γ0 of the integral; another start adds a function of the label alone.
    breakpoints : callable, optional
        For an array of labels, the predictions (labels × any number) where V or w jumps. γ = y is always one.

    References
    ----------
    Steinwart, Pasin, Williamson & Zhang (2014), Elicitation and identification of properties, COLT.

    Examples
    --------
    >>> from multivalid.properties import Quantile
    >>> pinball = score_from_identification(Quantile(0.9))
    >>> float(pinball(0.7, 0.2) - pinball(0.1, 0.2) - (Quantile(0.9).score(0.7, 0.2) - Quantile(0.9).score(0.1, 0.2))) < 1e-15
    True
    """
    v = _as_function(identification)
    origin = validate.real(start, "start")

    def integrand(r: Array, y: Array) -> Array:
        value = checked(v, "identification", r, y)
        return value if weight is None else value * checked(weight, "weight", r)

    def score(prediction: ArrayLike, label: ArrayLike) -> Array:
        g, y = broadcast(prediction, label)
        total = np.zeros(g.shape)
        for left, right in pairwise(_cuts(g, y, origin, breakpoints)):
            # Nodes lie strictly inside a piece, so V is never read at its own jump.
            total += integrate(lambda r: integrand(r, y), left, right)
        return total

    return score


def identification_from_score(score: TwoArguments | Property, *, step: float = STEP) -> Callable[[ArrayLike, ArrayLike], Array]:
    """V(γ, y) = ∂S/∂γ from the right, numerically; nine digits or so where S is smooth.

    Examples
    --------
    >>> v = identification_from_score(lambda g, y: (g - y) ** 2)
    >>> round(float(v(0.7, 0.2)), 9)
    1.0
    """
    body = score.score if isinstance(score, Property) else score
    derivative = RightDerivative(body, validate.positive(step, "step"), convex=False)
    return lambda prediction, label: derivative(*broadcast(prediction, label))


@dataclass(frozen=True)
class Representation:
    """Whether a score is ∫ V·w + κ, with the weight read off at `points`."""

    holds: bool
    reason: str
    points: Array
    weight: Array
    residual: float


def check_representation(
    score: TwoArguments | Property,
    identification: TwoArguments | Property,
    *,
    range: tuple[float, float] = (0.0, 1.0),
    labels: tuple[float, float] | None = None,
    tolerance: float = 1e-6,
) -> Representation:
    """Check on a mesh that ∂S/∂γ = w(γ)·V(γ, y) with one nonnegative w for all labels.

    Examples
    --------
    >>> from multivalid.properties import Mean
    >>> fourth = check_representation(lambda g, y: (g - y) ** 4, Mean())
    >>> fourth.holds
    False
    >>> bregman = check_representation(lambda g, y: (g + g**2 / 2) * (g - y) - (g**2 / 2 + g**3 / 6), Mean())
    >>> bregman.holds, bool(abs(bregman.weight - (1 + bregman.points)).max() < 1e-6)
    (True, True)
    """
    lo, hi = range
    if not lo < hi:
        raise InputError(f"range must be (low, high) with low < high, got {range!r}.")
    # Irregular points: a mesh that meets the labels would read derivatives across the jumps of V.
    points = lo + (hi - lo) * (np.arange(PROBES) + 0.2544) / PROBES
    y = np.linspace(*(labels or range), PROBES)
    v = checked(_as_function(identification), "identification", *np.broadcast_arrays(points[:, None], y[None, :]))
    slope = identification_from_score(score, step=STEP * (hi - lo))(points[:, None], y[None, :])
    energy = (v**2).sum(axis=1)
    weight = np.where(energy > 0, (slope * v).sum(axis=1) / np.where(energy > 0, energy, 1.0), 0.0)
    scale = max(float(np.abs(slope).max()), 1e-300)
    residual = float(np.abs(slope - weight[:, None] * v).max()) / scale
    negative = np.flatnonzero(weight < -tolerance * max(float(np.abs(weight).max()), 1e-300))
    reason = "the score is an integral of the identification with a nonnegative weight"
    if residual > tolerance:
        reason = "the derivative of the score is not a multiple of the identification with one weight for all labels"
    elif negative.size:
        reason = (
            f"the derivative of the score has the wrong sign: its weight would be negative at prediction {points[negative[0]]:.6g}"
        )
    return Representation(residual <= tolerance and not negative.size, reason, points, weight, residual)


def _as_function(identification: TwoArguments | Property) -> TwoArguments:
    return identification.identify if isinstance(identification, Property) else identification


def _cuts(g: Array, y: Array, origin: float, breakpoints: Callable[[Array], Any] | None) -> list[Array]:
    """From the start to the prediction, with every breakpoint in between, in order."""
    inner = y[..., None]
    if breakpoints is not None:
        inner = np.concatenate([inner, np.asarray(breakpoints(y), dtype=np.float64).reshape(*y.shape, -1)], axis=-1)
    begin = np.full_like(g, origin)
    low, high = np.minimum(begin, g)[..., None], np.maximum(begin, g)[..., None]
    inner = np.sort(np.clip(inner, low, high), axis=-1)
    inner = np.where((begin <= g)[..., None], inner, inner[..., ::-1])
    return [begin, *np.moveaxis(inner, -1, 0), g]
