"""Shortfall risk (zero utility): the amount γ that makes an expected loss of Y − γ vanish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from multivalid.errors import InputError, PropertyError
from multivalid.properties.base import Array, Facts, Interval, Location, broadcast
from multivalid.properties.function import MESH, checked, name_of
from multivalid.properties.quadrature import integrate

PROBES = np.concatenate([-np.geomspace(4.0, 1e-3, 60), [0.0], np.geomspace(1e-3, 4.0, 60)])


@dataclass(frozen=True, repr=False)
class Shortfall(Location):
    """The γ with E[loss(Y − γ)] = 0, for an increasing, vectorised `loss` with loss(0) = 0; V = −loss(y − γ).

    `loss` may have a kink at 0 (it is integrated on each side of it); kinks elsewhere cost accuracy of the score.

    Examples
    --------
    >>> import numpy as np
    >>> round(Shortfall(np.expm1).solve([0.0, 1.0]), 6)  # an exponential loss gives the entropic risk
    0.620115
    """

    loss: Callable[[Array], Array]

    def __post_init__(self) -> None:
        if not callable(self.loss):
            raise InputError(f"loss must be a function of an array, got {self.loss!r}.")
        values = self._loss(PROBES)
        middle = PROBES.size // 2
        if abs(values[middle]) > 1e-12:
            raise PropertyError(f"loss(0) must be 0, got {values[middle]:g}; subtract it.")
        falling = np.flatnonzero(np.diff(values) < 0)
        if falling.size or not (values[0] < 0 < values[-1]):
            at = PROBES[falling[0]] if falling.size else 0.0
            raise PropertyError(f"loss must increase, but it does not near {at:g}; for E[loss(γ − Y)] change its sign.")

    def __repr__(self) -> str:
        return f"Shortfall({name_of(self.loss)})"

    @property
    def flat(self) -> bool:
        """Whether the loss stands still somewhere, so that a law can have an interval of values."""
        return bool((np.diff(self._loss(PROBES)) <= 0).any())

    def _loss(self, values: Array) -> Array:
        return checked(self.loss, "loss", values)

    def identify(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        g, y = broadcast(prediction, label)
        return -self._loss(y - g)

    def score(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        g, y = broadcast(prediction, label)
        return integrate(self._loss, np.zeros_like(y), y - g)

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> Facts:
        mesh = np.linspace(lo - hi, hi - lo, MESH)
        values = self._loss(mesh)
        steepest, flattest = _slopes(mesh, values)
        ends = Interval(lo, hi)
        span = max(float(self.score(hi, lo)), float(self.score(lo, hi)))
        anti = None if flattest <= 1e-12 * steepest else 1 / flattest
        return Facts(ends, ends, float(np.abs(values).max()), steepest, "", anti, span)


def _slopes(mesh: Array, values: Array) -> tuple[float, float]:
    """The steepest and the flattest slope, moved outwards by as much as slopes change from one mesh interval to the next."""
    slopes = np.diff(values) / np.diff(mesh)
    change = np.abs(np.diff(slopes))
    change[change.size // 2] = 0.0  # the kink at 0 is a mesh point: slopes on its two sides do not inform each other
    doubt = np.maximum(np.append(change, 0.0), np.append(0.0, change))
    return float((slopes + doubt).max()), float((slopes - doubt).min())
