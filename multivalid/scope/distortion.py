"""Which distortion risk measures have convex level sets: the mean, the quantiles, q¹, q², and no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from multivalid.errors import InputError
from multivalid.properties.base import Array
from multivalid.properties.distortion import Distortion
from multivalid.properties.law import Law
from multivalid.scope.certificate import Counterexample, certify

PROBES = 1024
SAME = 1e-12
NEAREST = 1e-15  # a step closer to 0 than this is at 0
# Probabilities tried first for a counterexample, so that it can be read at a glance.
SIMPLE = (0.5, 0.25, 0.75, 0.3, 0.4, 0.2, 0.1, 0.6, 0.7, 0.8, 0.9, 0.05, 0.95)
SHARES = (0.5, 0.25, 0.75, 0.1, 0.9, 0.01)


@dataclass(frozen=True)
class DistortionClass:
    """What a distortion is: kind "mean", "quantile" (tau), "q1" (tau, c), "q2" (c), "none" (with a certificate) or "undecided"."""

    kind: str
    tau: float | None = None
    c: float | None = None
    certificate: Counterexample | None = None


def classify(risk: Distortion) -> DistortionClass:
    """Recognise h among the distortions with convex level sets, or refute it by laws on at most three points.

    h is read at about two thousand probabilities and, where it looks like a step, bisected to the last bit; the levels reported
    are good to 12 digits.

    References
    ----------
    Kou & Peng (2016), On the measurement of economic tail risk, Operations Research 64.
    Wang & Ziegel (2015), Elicitable distortion risk measures: a concise proof, Statistics & Probability Letters 100.

    Examples
    --------
    >>> from multivalid.properties import DistortionRisk
    >>> classify(DistortionRisk(lambda u: u)).kind
    'mean'
    >>> classify(DistortionRisk(lambda u: u > 0.1))
    DistortionClass(kind='quantile', tau=0.9, c=None, certificate=None)
    >>> classify(DistortionRisk(lambda u: u**2)).certificate.mixture_value
    0.1875
    """
    if not isinstance(risk, Distortion):
        raise InputError(f"risk must be a distortion risk measure, such as DistortionRisk(h), got {risk!r}.")
    u = _probes()
    h = risk.distort(u)
    if np.abs(h - u).max() <= SAME:
        return DistortionClass("mean")
    low, high = _first_above(risk, SAME), _first_above(risk, 1 - SAME)
    # The probes leave out 0 and 1, and what h does within a billionth of them: there a single step may hide.
    hidden = high < 1 and low > NEAREST and high - low <= SAME
    if np.ptp(h) <= SAME and not hidden:
        return DistortionClass("q2", c=_round(1 - float(h[0])))
    if high - low <= SAME:
        return _step(risk, low, high)
    certificate = refute(risk, (low, high))
    return DistortionClass("undecided" if certificate is None else "none", certificate=certificate)


def bernoulli_certificate(risk: Distortion, probability: float, weight: float = 0.5) -> Counterexample:
    """The point mass at c = h(p) against a 0/1 label with probability p: equal values, and the mixture c·h(b) + (1 − c)·h(a).

    Here a = (1 − weight)·p and b = weight + a are the chances that the mixture reaches 1 and c.

    Examples
    --------
    >>> from multivalid.properties import CVaR
    >>> round(bernoulli_certificate(CVaR(0.25), 0.375).mixture_value, 5)
    0.58333
    """
    c = float(risk.distort(np.array([probability]))[0])
    return certify(risk, Law.point(c), Law.bernoulli(probability), weight)


def refute(risk: Distortion, window: tuple[float, float] = (0.0, 1.0)) -> Counterexample | None:
    """The first simple counterexample with a clear gap, otherwise the one with the largest gap; None when all gaps vanish."""
    for p, share in _candidates(risk, window):
        try:
            return bernoulli_certificate(risk, p, share)
        except InputError:  # a gap that does not survive being recomputed from the laws: a jump of h met by rounding
            continue
    return None


def _candidates(risk: Distortion, window: tuple[float, float]) -> Iterator[tuple[float, float]]:
    simple = np.array(SIMPLE)
    gaps = _gaps(risk, simple, np.array([0.5]))[:, 0]
    yield from ((float(p), 0.5) for p in simple[gaps > 0.01])
    # Where h rises from 0 to 1 inside a narrow window, only mixtures as fine as the window see its shape.
    low, high = window
    p = np.concatenate([simple, low + (high - low) * np.linspace(0.01, 0.99, 99)])
    shares = np.concatenate([SHARES, (high - low) * np.array([0.5, 0.1, 0.02])])
    gaps = _gaps(risk, p, shares)
    for place in np.argsort(-gaps, axis=None)[:50]:
        row, column = np.unravel_index(place, gaps.shape)
        if gaps[row, column] > 1e-8:
            yield float(p[row]), float(shares[column])


def _gaps(risk: Distortion, p: Array, shares: Array) -> Array:
    """|Γ(mixture) − c| for every probability and share (rows × columns)."""
    c = risk.distort(p)[:, None]
    reach = (1 - shares) * p[:, None]
    mixed = c * risk.distort(shares + reach) + (1 - c) * risk.distort(reach)
    return np.abs(mixed - c)


def _step(risk: Distortion, low: float, high: float) -> DistortionClass:
    """A single jump from 0 to 1; a value in between at the jump itself makes it q¹."""
    at = float(risk.distort(np.array([low]))[0])  # not halfway: between neighbouring floats that is one of the two
    if SAME < at < 1 - SAME:
        return DistortionClass("q1", tau=_round(1 - (low + high) / 2), c=_round(1 - at))
    return DistortionClass("quantile", tau=_round(1 - high))


def _first_above(risk: Distortion, level: float) -> float:
    """The smallest float u with h(u) > level."""
    low, high = 0.0, 1.0
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high or high < NEAREST:
            return high
        if float(risk.distort(np.array([middle]))[0]) > level:
            high = middle
        else:
            low = middle


def _probes() -> Array:
    edge = np.geomspace(1e-9, 1e-3, 50)
    return np.unique(np.concatenate([np.arange(1, PROBES) / PROBES, edge, 1 - edge, np.arange(1, 1000) / 1000]))


def _round(value: float) -> float:
    """Twelve digits, and no more than fifteen places: 1 − (1 − 1e-6) is meant to be 1e-6."""
    short = float(f"{round(value, 15):.12g}")
    return short if 0 < short < 1 else value
