"""How large a group's error may be: limits for E = Σ p·v² that hold with a stated probability.

The plug-in error of a level is too large by the variance of its mean. With N_j that variance times the level's mass,
Ê = Σ p̂v̂² − ΣN_j, and around the truth Ê has variance 4E·N̄ + 2ΣN_j² and third moment 24E·N̄² + 8ΣN_j³. The upper limit U is the E for
which Ê lies just in the lower tail. It is asymptotic: it takes variances from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from multivalid.cells.pearson import quantile
from multivalid.cells.residual import NoiseTest, ratio
from multivalid.properties.base import Array

Sums = Mapping[str, Array]
STEPS = 12  # the quantile moves little with E: a few steps settle it


@dataclass(frozen=True)
class ErrorLimits:
    """Limits of each group's E.

    `sums` by (level, group); `row_variance(E/μ)` gives the variance of Σx in each cell that one should reckon with where the mean square of
    V's bias is E/μ, for one number per group; `honest` is the unbiased one, for Ê. `skewness` is that of each group's ΣwV where it comes
    from the rows: a sample without the large values that are to come shows too small a mean and too small a spread at once.
    """

    sums: Sums
    row_variance: Callable[[Array], Array]
    honest: Array
    skewness: Array | float = 0.0

    @cached_property
    def whole(self) -> float:
        """Total weight."""
        return float(self.sums["weight"][:, 0].sum())

    @cached_property
    def mass(self) -> Array:
        """Each group's share of the weight."""
        return np.asarray(self.sums["weight"].sum(axis=0) / self.whole)

    @cached_property
    def plain(self) -> Array:
        """Σ p·v² as it was seen."""
        return np.asarray(ratio(self.sums["v"] ** 2, self.sums["weight"]).sum(axis=0) / self.whole)

    @cached_property
    def debiased(self) -> Array:
        """The same without what noise alone adds on average."""
        return np.asarray(self.plain - ratio(self.honest, self.sums["weight"]).sum(axis=0) / self.whole)

    def upper(self, level: float) -> Array:
        """U: the truth is larger with probability `level` only."""
        seen = np.maximum(self.debiased, 0.0)  # an estimate below 0 says no more than 0 does
        e = seen
        for _ in range(STEPS):
            typical, alone, reach = self._around(e, level)
            # Johnson's correction of a t statistic for skewed rows, on its longer side.
            reach = reach - np.abs(self.skewness) * (2 * reach**2 + 1) / 6
            lean = 2 * reach**2 * typical
            e = seen + lean + np.sqrt(lean**2 + reach**2 * (4 * seen * typical + alone))
        return np.asarray(e)

    def lower(self, level: float) -> Array:
        """The truth is smaller with probability `level` only; 0 where noise alone could have made what was seen."""
        seen = np.maximum(self.debiased, 0.0)
        e = seen
        for _ in range(STEPS):
            typical, alone, reach = self._around(e, 1 - level)
            lean = 2 * reach**2 * typical
            e = np.maximum(seen + lean - np.sqrt(lean**2 + reach**2 * (4 * seen * typical + alone)), 0.0)
        return np.asarray(e)

    def _around(self, e: Array, level: float) -> tuple[Array, Array, Array]:
        """The variance of Ê around a truth e is 4e·typical + alone; the quantile of its law at `level` is `reach` of its roots."""
        row = ratio(self.row_variance(ratio(e, self.mass)), self.sums["weight"])  # variance of V per unit of weight
        noise = row / self.whole
        weight = self.sums["weight"]
        mean = ratio((weight * row).sum(axis=0), weight.sum(axis=0))
        # Levels that are far off count most; what is seen to be off is partly noise, so each counts at least its noise.
        seen = ratio(self.sums["v"] ** 2, weight) + row
        typical = np.maximum(mean, ratio((seen * row).sum(axis=0), seen.sum(axis=0))) / self.whole
        alone = 2 * (noise**2).sum(axis=0)
        variance = 4 * e * typical + alone
        third = 24 * e * typical**2 + 8 * (noise**3).sum(axis=0)
        return typical, alone, quantile(level, ratio(third, variance**1.5))


def coin_limits(sums: Sums, stretch: Array) -> ErrorLimits:
    """For two-valued V: the larger of the variance that the prediction gives and the one seen, and room for a rate that is off."""
    size, u, weight = sums["u2"], sums["u"], sums["weight"]
    null = ratio(sums["u2q"], size)
    hits = np.clip(ratio(sums["v"] - sums["beyond"] + u - sums["ur"], u), 0.0, 1.0)
    seen = hits * (1 - hits)
    least = np.maximum(null, seen)
    per_weight = ratio(u, weight)

    def row_variance(bias: Array) -> Array:
        # A rate that is off by r has a variance larger by r at most.
        return np.asarray(np.minimum(least + ratio(np.sqrt(bias) * np.ones_like(u), per_weight), 0.25) * size * stretch)

    coins = ratio(u**2, size)  # as many coins of equal size would tell as much
    unbiased = np.where(coins > 1 + 1e-9, seen * ratio(coins, coins - 1), null)
    return ErrorLimits(sums, row_variance, np.asarray(unbiased * size * stretch))


def noise_limits(test: NoiseTest, stretch: Array) -> ErrorLimits:
    """For any other V: the variance of everyone at the level, widened where the group is noisier."""
    level = test.centred_levels * np.maximum(1.0, ratio(test.own_centred, test.centred_levels.sum(axis=0))) * stretch
    return ErrorLimits(test.sums, lambda bias: level, level, test.centred_skewness)
