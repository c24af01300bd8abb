"""Chance where V has two values: its law is known when predictions are right, so nothing is estimated.

Arrays have shape (levels, groups) or (groups,). S = ΣwV = Σu(b − p) is a weighted sum of independent coins with known chances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from multivalid.cells import coins
from multivalid.cells.chances import whole_points
from multivalid.cells.coin_law import CoinLaw
from multivalid.cells.merge import ALMOST, add_up, count, join_levels
from multivalid.properties.base import Array

Sums = Mapping[str, Array]

ENOUGH = 5.0 * ALMOST  # variance of a part, in coins: its sum is then close to normal
LOPSIDED = 0.5 / ALMOST  # with unequal weights: the largest skewness of a part
COINS = 4  # a sum in which fewer coins than this matter has no bell shape whatever its moments
ROUNDING = 1e-12
SINGLE = 1e-6  # of single precision: a prediction of 1.0000001 means 1


def two_sided(low: Array, high: Array) -> Array:
    """Twice the smaller tail, at most 1."""
    return np.asarray(np.minimum(2 * np.minimum(low, high), 1.0))


def _skewness(third: Array, variance: Array) -> Array:
    return np.divide(third, variance**1.5, out=np.zeros_like(variance), where=variance > 0)


def nearest_to_zero(low: Array, high: Array) -> Array:
    """The point of [low, high] nearest to 0."""
    return np.asarray(np.clip(0.0, low, high))


def shape_tail(statistic: Array, freedom: Array) -> Array:
    """Upper tail of χ²; nan where there is no degree of freedom."""
    from scipy.special import gammaincc

    return np.asarray(np.where(freedom > 0, gammaincc(np.maximum(freedom, 1e-9) / 2, statistic / 2), np.nan))


def coin_size(sums: Sums) -> Array:
    """That of a typical coin, in units of the sums: the size of all where they are alike."""
    return np.sqrt(np.divide(sums["u4q"], sums["u2q"], out=np.ones_like(sums["u2q"]), where=sums["u2q"] > 0))


def within_range(sums: Sums) -> Sums:
    """The sums with V as it would be were every prediction inside the range of its labels."""
    return {**sums, "v": sums["v"] - sums["beyond"]}


def coin_tails(sums: Sums, s: Array, unequal: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Probability that S is as low, and as high, as `s`, from its moments; half of what was seen counts.

    `unequal`: the coins of a group differ in size.
    """
    variance, third, unit = sums["u2q"], sums["u3t"], coin_size(sums)
    # Low values are counted: for the probability of an event they are the events, and a small chance has its digits.
    law = (sums["ur"] - s) / unit, sums["ur"] / unit, variance / unit**2, -third / unit**3
    low, high = coins.upper_tail(*law), coins.lower_tail(*law)
    if not unequal.any():
        return low, high
    from scipy.special import ndtr

    # A binomial law ends on its short side; a sum with a few large coins does not.
    z, skewness = np.divide(s, np.sqrt(variance), out=np.zeros_like(s), where=variance > 0), _skewness(third, variance)
    return (
        np.where(unequal & (skewness > 0), np.maximum(low, ndtr(z)), low),
        np.where(unequal & (skewness < 0), np.maximum(high, ndtr(-z)), high),
    )


@dataclass(frozen=True)
class CoinTest:
    """Tests of gap and shape for every group.

    `sums` are those of `TwoValued`, by (level, group).
    """

    sums: Sums

    @cached_property
    def total(self) -> dict[str, Array]:
        """The sums over all levels of each group."""
        return {name: column.sum(axis=0) for name, column in self.sums.items()}

    @cached_property
    def unequal(self) -> NDArray[np.bool_]:
        """Whether a group's coins are of unequal size: then a skewed sum need not look like a binomial law."""
        t = self.total
        return np.asarray(t["u2"] ** 2 < (1 - 1e-9) * t["u"] * t["u3"])

    @cached_property
    def of_one_size(self) -> tuple[NDArray[np.intp], CoinLaw]:
        """Groups whose coins differ in their chances alone, and the exact law of how many of them fall low."""
        unit = coin_size(self.total)
        first, variance, third = self.sums["ur"] / unit, self.sums["uq"] / unit, -self.sums["ut"] / unit
        chance, number = whole_points(self.sums["rows"], first, variance, third)
        used = number > 0
        alike = np.where(used, chance, 0.0).max(axis=(0, 1)) <= np.where(used, chance, 1.0).min(axis=(0, 1)) * (1 + 1e-9)
        groups = np.flatnonzero(~self.unequal & ~alike & (self.total["u2q"] > 0))
        kinds = (2 * self.sums["rows"].shape[0], -1)
        return groups, CoinLaw(*(one[:, :, groups].reshape(*kinds) for one in (chance, number)))

    def ends(self, sums: Sums) -> tuple[Array, Array]:
        """S with ties counted as low and as high: the two are equal for V without jumps."""
        return sums["v"] - sums.get("tied", np.zeros(1)), sums["v"]

    def gap(self) -> Array:
        """Two-sided p-value of S, group by group; 1 where ties make up the whole difference."""
        low, high = self.ends(self.total)
        return np.asarray(np.where((low < 0) & (high > 0), 1.0, self._tails(nearest_to_zero(low, high))))

    def smallest(self) -> Array:
        """The smallest p-value that any outcome could give: all coins high, or all low."""
        t = self.total
        most = t["ur"] + t["beyond"]
        return np.minimum(self._tails(most - t["u"]), self._tails(most))

    def _tails(self, s: Array) -> Array:
        t = self.total
        low, high = coin_tails(t, s, self.unequal)
        exact, law = self.of_one_size
        high[exact], low[exact] = law.tails(((t["ur"] - s) / coin_size(t))[exact])
        # Predictions that leave nothing to chance are right, or wrong beyond doubt.
        sure = np.where(np.abs(s) <= ROUNDING * np.maximum(t["u"], 1.0), 1.0, 0.0)
        return np.asarray(np.where(t["u2q"] <= 0, sure, two_sided(low, high)))

    def few(self) -> NDArray[np.bool_]:
        """Whether a few heavy rows decide: their weights hide the others."""
        t = self.total
        effective = np.divide(t["u2"] ** 2, t["u4"], out=np.zeros_like(t["u4"]), where=t["u4"] > 0)
        return np.asarray(effective < np.minimum(COINS, t["rows"]) * (1 - 1e-6))

    @cached_property
    def chi_square(self) -> tuple[Array, Array]:
        """Σz² over levels joined until each is about normal, scaled so that a χ² law fits, and its degrees of freedom."""
        parts = join_levels(self._enough(), self.sums["u2q"], self.sums["u2"], self.sums["u3t"], self.sums["rows"])
        parts_of = count(parts)
        made = {
            name: add_up(parts, self.sums[name])
            for name in ("v", "u2q", "u4q", "u4qq", *(("tied",) if "tied" in self.sums else ()))
        }
        s, variance = nearest_to_zero(*self.ends(made)), made["u2q"]
        used = variance > 0
        square = np.divide(s**2, variance, out=np.zeros_like(s), where=used).sum(axis=0)
        fourth = np.divide(made["u4q"] - 6 * made["u4qq"], variance**2, out=np.zeros_like(s), where=used)
        stretch = np.maximum(1.0, (2 * parts_of + fourth.sum(axis=0)) / (2 * parts_of))
        return square / stretch, np.asarray(np.where(parts_of > 1, parts_of / stretch, 0.0))

    def shape(self) -> Array:
        """p-value of a wrong shape along the prediction; nan with one part, 0 where certain predictions were wrong at a level."""
        certain = (self.sums["u2q"] <= 0) & (np.abs(nearest_to_zero(*self.ends(self.sums))) > SINGLE * self.sums["u"])
        return np.asarray(np.where(certain.any(axis=0), 0.0, shape_tail(*self.chi_square)))

    def _enough(self) -> Callable[..., NDArray[np.bool_]]:
        unequal = self.unequal

        def enough(variance: Array, size: Array, third: Array, rows: Array) -> NDArray[np.bool_]:
            # In coins: the variance divided by the mean square of u.
            number = np.divide(variance * rows, size, out=np.zeros_like(size), where=size > 0)
            return np.asarray((number >= ENOUGH) & (~unequal | (np.abs(_skewness(third, variance)) <= LOPSIDED)))

        return enough
