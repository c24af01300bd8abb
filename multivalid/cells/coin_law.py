"""How many of many coins fall high, each with a chance of its own: the exact law, by one integral.

With K(z) = Σ n·log(1 − p + p·eᶻ) and any θ > 0,

    Pr[N > s] + Pr[N = s]/2 = 1/(2π) ∫ exp(K(θ + it) − (θ + it)·s) · ½·coth((θ + it)/2) dt        over −π < t < π.

Where θ is about the one at which s is expected, nothing cancels: small tails have their digits too. The integrand is smooth and
periodic, or gone before ±π, so that a sum over a few places is the integral to nine digits.

Chances of 1,000 rows cannot all be had from sums, but two for each level and group can (`chances`): where every prediction has its own
level they are the chances themselves; elsewhere the rows of a level differ little, and what is left is mostly below 0.001.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multivalid.properties.base import Array

PLACES = 80  # of the integral, on one half
WIDTH = 9.0  # standard deviations that it spans: e^(−40) is left out
FARTHEST = 90.0  # log-odds
HALVINGS = 20  # any θ is right; a good one is good enough
WHOLE = 1e-6  # numbers so near to a whole one are meant to be it


@dataclass(frozen=True)
class CoinLaw:
    """Chances and how many coins have each (kinds, groups)."""

    chance: Array
    number: Array

    def tails(self, count: Array) -> tuple[Array, Array]:
        """Probability of fewer, and of more; half that of as many belongs to each. Between whole numbers, a straight line.

        Examples
        --------
        >>> law = CoinLaw(np.array([[0.01], [0.9]]), np.array([[3.0], [1.0]]))
        >>> fewer, more = law.tails(np.array([3.0]))  # Pr[N = 3] = 3·0.01²·0.99·0.9 + 0.01³·0.1, Pr[N = 4] = 0.01³·0.9
        >>> float(round(more[0] / (0.9e-6 + (2.673e-4 + 1e-7) / 2), 9))
        1.0
        """
        nearest = np.rint(count)
        count = np.where(np.abs(count - nearest) < WHOLE, nearest, count)
        below = np.floor(count)
        part, made = count - below, self._whole_tails(below)
        if not part.any():
            return made
        low, high = ((1 - part) * one + part * other for one, other in zip(made, self._whole_tails(below + 1), strict=True))
        return low, high

    def _whole_tails(self, count: Array) -> tuple[Array, Array]:
        total = self.number.sum(axis=0)
        upper = count >= (self.number * self.chance).sum(axis=0)
        # The tail away from the mean is the small one: where it lies below, coins are turned over.
        turned = CoinLaw(np.where(upper, self.chance, 1 - self.chance), self.number)
        tail = turned._upper(np.where(upper, count, total - count))
        return np.where(upper, 1 - tail, tail), np.where(upper, tail, 1 - tail)

    def _upper(self, count: Array) -> Array:
        """Probability of more and half that of as many, for counts not below the mean."""
        possible = np.where(self.chance > 0, self.number, 0.0).sum(axis=0)
        logs = (self.number * np.log(np.where(self.chance > 0, self.chance, 1.0))).sum(axis=0)
        # All that may fall high do; more than that never do.
        tail = np.where(count > possible, 0.0, np.exp(logs) / 2)
        left = np.flatnonzero(count < possible)
        if left.size:
            tail[left] = CoinLaw(self.chance[:, left], self.number[:, left])._integral(count[left])
        return tail

    def _integral(self, count: Array) -> Array:
        theta = self._tilt(count)
        _, spread = self._tilted(theta)
        span = np.minimum(np.pi, WIDTH / np.sqrt(np.maximum(spread, 1e-300)))
        t = (np.arange(PLACES)[:, None] + 0.5) / PLACES * span
        size, angle, height = np.zeros(t.shape), -t * count, -theta * count
        factor, sine, cosine, half = np.exp(theta), np.sin(t), np.cos(t), np.sin(t / 2) ** 2
        for chance, number in zip(self.chance, self.number, strict=True):
            if number.any():
                low, high = 1 - chance, chance * factor
                both = low + high
                height = height + number * np.log(both)
                size += number / 2 * np.log1p(-np.minimum(4 * (low / both) * (high / both) * half, 1 - 1e-16))
                angle += number * np.arctan2(high * sine, low + high * cosine)
        value = np.exp(size + 1j * angle) / np.tanh((theta + 1j * t) / 2)
        tail = np.exp(np.minimum(height, 700.0)) * value.real.mean(axis=0) * span / (2 * np.pi)
        return np.asarray(np.clip(tail, 0.0, 1.0))

    def _tilt(self, count: Array) -> Array:
        """θ at which about `count` is expected, but not so small that the pole at 0 is near."""
        low, high = np.zeros(count.shape), np.full(count.shape, FARTHEST)
        for _ in range(HALVINGS):
            theta = (low + high) / 2
            above = self._tilted(theta)[0] > count
            high, low = np.where(above, theta, high), np.where(above, low, theta)
        spread = self._tilted(np.zeros(count.shape))[1]
        return np.maximum(low, 1 / np.sqrt(np.maximum(spread, 1.0)))

    def _tilted(self, theta: Array) -> tuple[Array, Array]:
        """Mean and variance of N when all log-odds are larger by θ."""
        factor = np.exp(theta)
        both = 1 - self.chance + self.chance * factor
        p = self.chance * factor / both
        return (self.number * p).sum(axis=0), (self.number * p * (1 - self.chance) / both).sum(axis=0)
