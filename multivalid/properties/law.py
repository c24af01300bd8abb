"""A distribution on finitely many labels: the form in which counterexamples are written down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.base import Array
from multivalid.properties.scale import scaled_weights


@dataclass(frozen=True)
class Law:
    """A discrete distribution: `values` increasing and distinct, `weights` positive with sum one.

    Build one with `Law.of`, which sorts, merges equal values and scales the weights.

    Examples
    --------
    >>> Law.of([1, 0, 1], [1, 2, 1])
    Law(values=(0.0, 1.0), weights=(0.5, 0.5))
    >>> Law.point(0).mix(Law.point(1), 0.25)
    Law(values=(0.0, 1.0), weights=(0.25, 0.75))
    """

    values: tuple[float, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, values: Any, weights: Any = None) -> Law:
        """The law with these values and weights (equal weights when none are given)."""
        y, w = normal_form(values, weights)
        return cls(tuple(y.tolist()), tuple(w.tolist()))

    @classmethod
    def point(cls, value: float) -> Law:
        """All mass on one value."""
        return cls((validate.real(value, "value"),), (1.0,))

    @classmethod
    def bernoulli(cls, probability: float) -> Law:
        """One with the given probability, zero otherwise."""
        p = validate.real(probability, "probability")
        if not 0.0 <= p <= 1.0:
            raise InputError(f"probability must lie in [0, 1], got {probability!r}.")
        return cls.of([0.0, 1.0], [1.0 - p, p])

    def mix(self, other: Law, weight: float) -> Law:
        """weight × this law + (1 − weight) × the other."""
        share = validate.real(weight, "weight")
        if not 0.0 <= share <= 1.0:
            raise InputError(f"weight must lie in [0, 1], got {weight!r}.")
        mine, theirs = np.multiply(self.weights, share), np.multiply(other.weights, 1.0 - share)
        return Law.of(self.values + other.values, np.concatenate([mine, theirs]))

    def __str__(self) -> str:
        if len(self.values) == 1:
            return f"surely {self.values[0]:.6g}"
        atoms = zip(self.values, self.weights, strict=True)
        return ", ".join(f"{value:.6g} with probability {weight:.6g}" for value, weight in atoms)


def normal_form(values: Any, weights: Any = None, name: str = "labels") -> tuple[Array, Array]:
    """Distinct sorted values and their weights, scaled to sum one; values of weight zero are dropped."""
    y = validate.vector(values, name)
    w = validate.weights(weights, y.size)
    kept = w > 0
    distinct, place = np.unique(y[kept], return_inverse=True)
    share = np.bincount(place, weights=scaled_weights(w[kept]), minlength=distinct.size)
    return distinct, share / share.sum()
