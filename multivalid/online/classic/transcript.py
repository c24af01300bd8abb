"""What has happened, as far as calibration can tell: two numbers per group and level.

n(G, γ) is the weight of the rounds of group G in which γ was played, R(G, γ) the sum of V over them. From these follow
K₂(G) = Σ_γ R² / n exactly, at any time, in memory that does not grow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Transcript:
    """n and R as arrays [level, group], with the error they imply.

    Levels come first because a round changes many groups of one level: these lie side by side in memory.

    Examples
    --------
    >>> t = Transcript(groups=2, levels=3)
    >>> n, r = t.add(np.array([0, 1]), 2, 0.5, 1.0)
    >>> n, r = t.add(np.array([0]), 2, -0.25, 1.0)
    >>> t.squared()
    array([0.03125, 0.25   ])
    """

    def __init__(self, groups: int, levels: int) -> None:
        self.n: Array = np.zeros((levels, groups))
        self.r: Array = np.zeros((levels, groups))
        self.rows = np.zeros(groups, dtype=np.int64)
        self.rounds = 0
        self.weight = 0.0

    def add(self, active: Index, level: int, value: float, weight: float) -> tuple[Array, Array]:
        """One round: the groups `active`, the level played, V of the outcome, its weight; returns the changed n and R."""
        counts, sums = self.n[level], self.r[level]
        n, r = counts[active] + weight, sums[active] + weight * value
        counts[active], sums[active] = n, r
        self.rows[active] += 1
        self.rounds += 1
        self.weight += weight
        return n, r

    def increment(self, active: Index, level: int, value: float, weight: float) -> Array:
        """By how much K₂ of each active group would rise: an identity, not a bound.

        Notes
        -----
        With n and R before the round: ΔK₂ = (2·R·w·V + w²·V²)/(n + w) − w·R²/(n·(n + w)), the last term absent where n = 0.
        """
        n, r = self.n[level, active], self.r[level, active]
        after = n + weight
        if weight == 0.0:
            return np.zeros(active.size)
        step = weight * value
        return np.asarray((2 * r * step + step**2) / after - weight * r**2 / (np.where(n > 0, n, 1.0) * after))

    def squared(self) -> Array:
        """K₂ of each group."""
        return np.asarray((self.r**2 / self._counts()).sum(axis=0))

    def absolute(self) -> Array:
        """Σ_γ |R| of each group."""
        return np.asarray(np.abs(self.r).sum(axis=0))

    def largest(self) -> Array:
        """max_γ |R| of each group."""
        return np.asarray(np.abs(self.r).max(axis=0))

    def worst_level(self) -> Index:
        """The level with the largest share of K₂, per group."""
        return np.asarray((self.r**2 / self._counts()).argmax(axis=0), dtype=np.intp)

    def _counts(self) -> Array:
        return np.where(self.n > 0, self.n, 1.0)
