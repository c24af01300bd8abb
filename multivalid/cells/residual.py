"""Chance where V may have any law: its spread at a level is learned from everyone there, and widened where a group is noisier.

Arrays have shape (levels, groups) or (groups,); group 0 is everyone. x = wV has mean 0 when predictions are right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from multivalid.cells.merge import ALMOST, add_up, count, join_levels
from multivalid.cells.pearson import lower_tail, upper_tail
from multivalid.cells.two_valued import shape_tail, two_sided
from multivalid.properties.base import Array

Sums = Mapping[str, Array]

NEIGHBOURS = (0.25, 0.5, 1.0, 0.5, 0.25)  # how much the levels around one tell about its spread
ENOUGH = 8.0 * ALMOST  # (Σx²)²/Σx⁴ of a part: about 24 rows of normal noise
EACH_SIDE = 5  # rows needed above and below 0
HEAVY = 4.0 * ALMOST  # (Σx²)²/Σx⁴ below this: one row, or very few, carry the sum of squares


def smooth(column: Array) -> Array:
    """Each level with its neighbours (axis 0)."""
    reach = len(NEIGHBOURS) // 2
    padded = np.pad(column, [(reach, reach)] + [(0, 0)] * (column.ndim - 1))
    return np.asarray(sum(weight * padded[k : k + column.shape[0]] for k, weight in enumerate(NEIGHBOURS)))


def ratio(top: Array, bottom: Array) -> Array:
    """top/bottom, 0 where there is nothing below."""
    top, bottom = np.broadcast_arrays(top, bottom)
    return np.divide(top, bottom, out=np.zeros(top.shape), where=bottom > 0)


def larger_skewness(third: Array, variance: Array) -> Array:
    """Of each group's sum: its own, or what everyone's would be for so much of the variance, the larger in size."""
    own = ratio(third, variance**1.5)
    shared = third[:1] / np.maximum(variance[:1], 1e-300) * ratio(np.ones_like(own), np.sqrt(variance))
    return np.asarray(np.where(np.abs(own) >= np.abs(shared), own, shared))


def skewed_tails(z: Array, skewness: Array, own: Array | float) -> tuple[Array, Array]:
    """Probability of so low and of so high a studentised sum.

    A skewed law moves the tails by an amount that the sample tells badly; each tail is the largest of the normal one and the two that a
    skewness as seen would give, without and with the variance estimated from the same terms. `own` is the part of the variance
    estimate that the terms of the sum make themselves.
    """
    laws = [(0.0 * z, 0.0 * z), (0.0 * z, skewness), (-own * skewness / 2, (1 - 3 * own) * skewness)]
    low, high = (np.max([tail(z - shift, bend) for shift, bend in laws], axis=0) for tail in (lower_tail, upper_tail))
    return low, high


@dataclass(frozen=True)
class NoiseTest:
    """Tests of gap and shape for every group.

    `sums` are those of `Residual`, by (level, group).
    """

    sums: Sums

    @cached_property
    def total(self) -> dict[str, Array]:
        """The sums over all levels of each group."""
        return {name: column.sum(axis=0) for name, column in self.sums.items()}

    @cached_property
    def level_variance(self) -> Array:
        """Variance of Σx in every cell, from everyone at the level and its neighbours, before a group's own noise is seen."""
        everyone = ratio(smooth(self.sums["x2"][:, 0]), smooth(self.sums["weight2"][:, 0]))
        return np.asarray(everyone[:, None] * self.sums["weight2"])

    @cached_property
    def noisier(self) -> Array:
        """How many times the variance that its levels suggest a group has, at least 1."""
        return np.maximum(1.0, ratio(self.total["x2"], self.level_variance.sum(axis=0)))

    @cached_property
    def variance(self) -> Array:
        """Variance of each group's ΣwV."""
        return np.asarray(self.level_variance.sum(axis=0) * self.noisier)

    def gap(self) -> Array:
        """Two-sided p-value of ΣwV; 1 where V is 0 in every row."""
        variance = self.variance
        z = ratio(self.total["v"], np.sqrt(variance))
        own = np.minimum(ratio(variance, variance[:1]), 1.0)  # the part of the variance estimate that the group itself makes
        p = two_sided(*skewed_tails(z, self.skewness, own))
        return np.asarray(np.where(variance > 0, p, np.where(self._exact, 1.0, np.nan)))

    @cached_property
    def skewness(self) -> Array:
        """Of each group's ΣwV."""
        return larger_skewness(self.total["x3"], self.variance)

    def few(self) -> NDArray[np.bool_]:
        """Whether the rows cannot tell: too few on one side of 0, or one row carries the sum of squares."""
        t = self.total
        sides = np.minimum(t["above"], t["below"]) < EACH_SIDE
        return np.asarray((sides | (ratio(t["x2"] ** 2, t["x4"]) < HEAVY)) & ~self._exact)

    @property
    def _exact(self) -> NDArray[np.bool_]:
        """Whether V is 0 in every row, and there are rows enough to say so."""
        return np.asarray((self.total["x2"] == 0) & (self.total["rows"] >= 2 * EACH_SIDE))

    @cached_property
    def chi_square(self) -> tuple[Array, Array]:
        """Σz² over levels joined until each is about normal, scaled so that a χ² law fits, and its degrees of freedom."""
        fourth = ratio(smooth(self.sums["x4"][:, 0]), smooth(self.sums["weight2"][:, 0]))[:, None] * self.sums["weight2"]
        parts = join_levels(lambda v, f: (v > 0) & (v**2 >= ENOUGH * f), self.level_variance, fourth)  # an empty level is no part
        parts_of = count(parts)
        v, variance, fourth, rows = (
            add_up(parts, column) for column in (self.sums["v"], self.level_variance, fourth, self.sums["rows"])
        )
        square = ratio(v**2, variance * self.noisier).sum(axis=0)
        excess = ratio(fourth, variance**2) - 3 * ratio(np.ones_like(rows), rows) * (rows > 0)
        stretch = np.maximum(1.0, 1 + np.where(variance > 0, excess, 0.0).sum(axis=0) / (2 * parts_of))
        return square / stretch, np.asarray(np.where((parts_of > 1) & (self.variance > 0), parts_of / stretch, 0.0))

    def shape(self) -> Array:
        """p-value of a wrong shape along the prediction; nan with one part."""
        return shape_tail(*self.chi_square)

    @cached_property
    def centred_levels(self) -> Array:
        """Like `level_variance`, about everyone's mean at the level: what limits need where predictions may be off."""
        x2, w2v, weight2, v, weight, rows = (self.sums[name][:, 0] for name in ("x2", "w2v", "weight2", "v", "weight", "rows"))
        mean = ratio(v, weight)
        about = np.maximum(x2 - 2 * mean * w2v + mean**2 * weight2, 0.0) * ratio(rows, rows - 1)
        return np.asarray(ratio(smooth(about), smooth(weight2))[:, None] * self.sums["weight2"])

    @cached_property
    def own_centred(self) -> Array:
        """Variance of each group's ΣwV about its own mean, from its own rows."""
        t = self.total
        mean = ratio(t["v"], t["weight"])
        return np.asarray(np.maximum(t["x2"] - 2 * mean * t["w2v"] + mean**2 * t["weight2"], 0.0) * ratio(t["rows"], t["rows"] - 1))

    @property
    def centred_variance(self) -> Array:
        """The larger of the two: what an interval needs."""
        return np.asarray(np.maximum(self.centred_levels.sum(axis=0), self.own_centred))

    @cached_property
    def centred_skewness(self) -> Array:
        """Of each group's ΣwV about its own mean; exact for equal weights."""
        t = self.total
        mean, size = ratio(t["v"], t["weight"]), ratio(t["weight2"], t["weight"])  # rows of this size carry the sums
        third = t["x3"] - 3 * mean * size * t["x2"] + 3 * mean**2 * size * t["w2v"] - mean**3 * size * t["weight2"]
        return np.asarray(ratio(third, np.maximum(self.centred_variance, 0.0) ** 1.5))
