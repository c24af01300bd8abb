"""How much of the model of classes and how much of trees: both have seen the same rows, and those held out weigh them.

Trees fit their own rows too well and say too much of new ones; the model says too little where groups act together. Their mistakes differ,
so a mixture of both, with a shift for each class, is better than either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.properties.base import Array
from multivalid.several.descent import minimum
from multivalid.several.shares import Shares

STEPS = 20
TOLERANCE = 1e-7


@dataclass(frozen=True)
class Mixture:
    """η = (1 − share)·η of the model + share·η of the trees."""

    share: float

    @classmethod
    def of(cls, model: Array, trees: Array, codes: NDArray[np.intp], weights: Array) -> Mixture:
        """Of least log loss on rows that neither was fitted on; both η are (classes, rows)."""
        place, apart = np.arange(codes.size), trees - model
        weights = weights / weights.sum()

        def evaluate(at: Array) -> tuple[float, Array]:
            eta = model + at[0] * apart
            eta -= eta.max(axis=0)
            up = np.exp(eta)
            total = up.sum(axis=0)
            lost = np.log(total) - eta[codes, place]
            slope = np.einsum("kr,kr->r", up, apart) / total - apart[codes, place]
            return float(weights @ lost), np.array([weights @ slope])

        found = minimum(evaluate, np.array([0.5]), steps=STEPS, tolerance=TOLERANCE)
        return cls(float(np.clip(found[0], 0.0, 1.0)))

    def eta(self, model: Array, trees: Array) -> Array:
        """Of the same rows or others."""
        return np.asarray(model + self.share * (trees - model))

    def under_trees(self, model: Shares) -> Shares:
        """What the share of the trees stands on, so that both together are the mixture; trees alone stand on the logarithms given."""
        return model.holding((1 - self.share) * model.table)


def crossed(model: Array, trees: Array, codes: NDArray[np.intp], weights: Array, unit: NDArray[np.intp]) -> Array:
    """η of each half of the units of chance by the mixture that the other half chooses."""
    out = np.empty(model.shape)
    odd = unit % 2 == 1
    for half, other in ((~odd, odd), (odd, ~odd)):
        made = Mixture.of(model[:, other], trees[:, other], codes[other], weights[other])
        out[:, half] = made.eta(model[:, half], trees[:, half])
    return out
