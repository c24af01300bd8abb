"""Intervals for the gap where V has two values: the chances are tilted until the sum seen is unlikely.

p_i(θ) = expit(logit p_i + θ) keeps every chance between 0 and 1. The limits are the mean of p(θ) − p at the two θ for which the sum
seen lies just in a tail. Within a level the chances are replaced by two values that share their first three moments, so that sums
suffice; at θ = 0 variance and skewness are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from multivalid.cells.chances import two_points
from multivalid.cells.coins import lower_tail, upper_tail
from multivalid.cells.limits import coin_limits
from multivalid.cells.two_valued import coin_size, nearest_to_zero, within_range
from multivalid.properties.base import Array

FARTHEST = 40.0  # log-odds: e⁻⁴⁰ is nothing
HALVINGS = 36  # 80/2³⁶: θ to nine places


@dataclass(frozen=True)
class TiltedChances:
    """Two chances per (level, group) with their weights (2, levels, groups), and how their tilt moves the sum's moments."""

    chance: Array
    weight: Array
    variance: Array  # of the sum, at θ = 0, per group
    third: Array
    per_square: Array  # Σu²/Σu and Σu³/Σu per cell: from moments in u to those of the sum
    per_cube: Array
    expected: Array  # of the sum of low coins, at θ = 0, per group
    unit: Array  # size of a typical coin, per group

    @classmethod
    def of(cls, sums: Mapping[str, Array]) -> TiltedChances:
        """From the sums of `TwoValued`, for the coin that counts low values: of rare events, the one whose small chance has digits."""
        chance, weight = two_points(sums["u"], sums["ur"], sums["uq"], -sums["ut"])
        some = sums["u"] > 0
        square, cube = (np.divide(sums[k], sums["u"], out=np.zeros_like(sums["u"]), where=some) for k in ("u2", "u3"))
        total = {name: sums[name].sum(axis=0) for name in ("u2q", "u3t", "u4q", "ur")}
        return cls(chance, weight, total["u2q"], -total["u3t"], square, cube, total["ur"], coin_size(total))

    def moments(self, theta: Array) -> tuple[Array, Array, Array]:
        """How far the tilt moves the sum's mean, and its variance and third moment then, for one θ per group."""
        factor = np.exp(theta)
        odds = 1 - self.chance + self.chance * factor
        p = self.chance * factor / odds
        change = self.weight * (p - self.chance)
        q, q0 = p * (1 - self.chance) / odds, self.chance * (1 - self.chance)
        spread = self.weight * (q - q0)
        lean = self.weight * (q * (1 - 2 * p) - q0 * (1 - 2 * self.chance))
        variance = self.variance + (self.per_square * spread).sum(axis=(0, 1))
        third = self.third + (self.per_cube * lean).sum(axis=(0, 1))
        return change.sum(axis=(0, 1)), np.maximum(variance, 0.0), third

    def best(self, seen: Array) -> tuple[Array, Array]:
        """What one expects of the sum when the chances are tilted towards what was seen as far as they can be, and its variance then."""
        low, high = np.full(seen.shape, -FARTHEST), np.full(seen.shape, FARTHEST)
        for _ in range(HALVINGS):
            theta = (low + high) / 2
            above = self.moments(theta)[0] > seen
            high, low = np.where(above, theta, high), np.where(above, low, theta)
        return self.moments((low + high) / 2)[:2]

    def limit(self, seen: Array, level: float, *, upper: bool) -> Array:
        """The mean shift at which a sum as far out as the one seen has probability `level`."""
        low, high = np.full(seen.shape, -FARTHEST), np.full(seen.shape, FARTHEST)
        for _ in range(HALVINGS):
            theta = (low + high) / 2
            shift, variance, third = self.moments(theta)
            safe = np.maximum(variance, 1e-12 * self.variance + 1e-100)
            law = (self.expected + seen) / self.unit, (self.expected + shift) / self.unit, safe / self.unit**2, third / self.unit**3
            # The tail that shrinks as θ leaves the data behind: below the sum seen for the upper limit, above it for the lower.
            too_far = lower_tail(*law) < level if upper else upper_tail(*law) > level
            high, low = np.where(too_far, theta, high), np.where(too_far, low, theta)
        return self.moments((low + high) / 2)[0]


def limits(sums: Mapping[str, Array], level: float) -> tuple[Array, Array]:
    """Lower and upper limit for ΣwV/Σw of each group, each missed with probability `level`; ties count where they hurt less."""
    tilted = TiltedChances.of(sums)
    total = {name: sums[name].sum(axis=0) for name in ("weight", "v", "u", "ur")}
    tied = sums["tied"].sum(axis=0) if "tied" in sums else np.zeros_like(total["v"])
    ends = []
    for upper in (False, True):
        # With ties the truth is a range too; the point of it nearest to 0 grows with both of its ends.
        b = _limit(tilted, total, total["v"], level, upper)
        ends.append(np.clip(0.0, _limit(tilted, total, total["v"] - tied, level, upper), b) if tied.any() else b)
    return ends[0], ends[1]


def gap_limits(sums: Mapping[str, Array], level: float) -> tuple[Array, Array]:
    """Limits for ΣwV/Σw of each group, by tilting the chances, and wider where outcomes vary more than that explains."""
    inside = within_range(sums)
    totals = {name: inside[name].sum(axis=0) for name in ("v", "weight", "beyond")}
    tied = inside["tied"].sum(axis=0) if "tied" in inside else np.zeros_like(totals["v"])
    own = coin_limits(sums, np.ones_like(totals["v"])).honest.sum(axis=0)
    low, high = widen(*limits(inside, level), inside, nearest_to_zero(totals["v"] - tied, totals["v"]), own, level)
    moved = _ratio(totals["beyond"], totals["weight"])
    return low + moved, high + moved


def widen(low: Array, high: Array, sums: Mapping[str, Array], seen: Array, own: Array, level: float) -> tuple[Array, Array]:
    """Limits with room for chances that no tilt reaches.

    Over-confident predictions say 0.01 and 0.99 where the chances are 0.3 and 0.7: outcomes then vary more than the tilted chances allow.
    `own` is the variance of each group's sum about the rates seen at its levels. What it has above that of the tilt, beyond its own
    noise, is added to the squares of both half-widths. Chances of 0 and 1 do not move at all: the limits are then those of one rate for the
    whole group.
    """
    from scipy.special import ndtri

    total = {name: sums[name].sum(axis=0) for name in ("weight", "u", "u2", "ur", "u2q", "u4q")}
    noise = coin_size(total) * np.sqrt(own * np.clip(1 - 4 * _ratio(own, total["u2"]), 0.0, 1.0))
    expected, variance = TiltedChances.of(sums).best(-seen)
    more = _ratio(np.maximum(own - variance - noise / 2, 0.0), total["weight"] ** 2) * ndtri(level) ** 2
    middle, ends = _ratio(seen, total["weight"]), [_ratio(end, total["weight"]) for end in (total["ur"] - total["u"], total["ur"])]
    moved = (np.abs(expected + seen) <= 1e-6 * total["u"]) & (total["u2q"] > 0)
    apart = _one_rate(total, seen, level)
    below, above = (np.sqrt(half**2 + more) for half in (middle - low, high - middle))
    wide = np.maximum(middle - below, ends[0]), np.minimum(middle + above, ends[1])
    return tuple(  # type: ignore[return-value]
        np.where(moved, np.where(more > 0, new, old), one) for old, new, one in zip((low, high), wide, apart, strict=True)
    )


def _one_rate(total: Mapping[str, Array], seen: Array, level: float) -> tuple[Array, Array]:
    """Limits where every coin has the same chance, which nothing is known of (Jeffreys' interval)."""
    from scipy.special import betaincinv

    coins = _ratio(total["u"] ** 2, total["u2"])
    hits = np.clip(_ratio(seen + total["u"] - total["ur"], total["u"]), 0.0, 1.0) * coins
    low, high = (betaincinv(hits + 0.5, coins - hits + 0.5, chance) for chance in (level, 1 - level))
    low, high = np.where(hits <= 0, 0.0, low), np.where(hits >= coins, 1.0, high)
    made = [_ratio(total["u"] * rate - total["u"] + total["ur"], total["weight"]) for rate in (low, high)]
    return made[0], made[1]


def _ratio(top: Array, bottom: Array) -> Array:
    return np.divide(top, bottom, out=np.zeros(np.broadcast(top, bottom).shape), where=bottom > 0)


def _limit(tilted: TiltedChances, total: Mapping[str, Array], seen: Array, level: float, upper: bool) -> Array:
    found = -tilted.limit(-seen, level, upper=not upper)
    # Where every coin fell the same way, the truth may be as extreme as the coins.
    lowest, highest = total["ur"] - total["u"], total["ur"]
    edge = 1e-12 * np.maximum(total["u"], 1e-300)
    found = np.where(seen >= highest - edge, highest, found) if upper else np.where(seen <= lowest + edge, lowest, found)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(found / total["weight"])
