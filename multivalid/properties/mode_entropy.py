"""Functionals that only look at the sizes of the atoms of a law: mode and entropy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multivalid.properties.base import Array
from multivalid.properties.functional import Functional


@dataclass(frozen=True)
class Mode(Functional):
    """The most probable label (the lowest one on a tie).

    Examples
    --------
    >>> Mode().solve([3, 1, 1, 2])
    1.0
    """

    @property
    def degree(self) -> int:
        return 1

    def value_of(self, values: Array, weights: Array) -> float:
        # Equal counts can differ in the last bit once they are shares, and a tie must still be a tie.
        return float(values[np.argmax(weights >= weights.max() * (1 - 1e-12))])

    @property
    def spec(self) -> str:
        return "mode"


@dataclass(frozen=True)
class Entropy(Functional):
    """−Σ p·ln p over the distinct labels, in nats.

    Examples
    --------
    >>> round(Entropy().solve([0, 1]), 6)
    0.693147
    """

    def value_of(self, values: Array, weights: Array) -> float:
        return float(-(weights @ np.log(weights))) + 0.0  # a single atom gives −0.0

    @property
    def spec(self) -> str:
        return "entropy"
