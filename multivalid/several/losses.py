"""What is lost at η, for all columns: each on a scale of its own (quantiles), or as shares of one whole (classes)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from multivalid.practical.data import Matching, Outcomes
from multivalid.properties.base import Array
from multivalid.properties.target import Target
from multivalid.several.shares import LEAST

SHARE = 0.3  # of the rows on which V changes within the window of its slope

Index = NDArray[np.intp]


@dataclass(frozen=True)
class OwnScales:
    """Columns that are corrected each on its own scale; weights have mean one."""

    target: Target
    scales: Sequence[Matching]
    outcomes: Outcomes

    # As good on new rows as deeper and slower trees, in half of their time.
    depth: ClassVar[int] = 3
    rate: ClassVar[float] = 0.3

    def residuals(self, eta: Array) -> list[Array]:
        """w·V of each column."""
        return [scale.identify(one, self.outcomes) for scale, one in zip(self.scales, eta, strict=True)]

    def slopes(self, eta: Array) -> list[Array]:
        """The slope of w·V, over a window that is chosen anew."""
        for scale, one in zip(self.scales, eta, strict=True):
            scale.widen(one, self.outcomes, SHARE)
        return [np.maximum(scale.slope(one, self.outcomes), 0.0) for scale, one in zip(self.scales, eta, strict=True)]

    def losses(self, eta: Array) -> Array:
        """The weighted loss of each row after the constraint."""
        return np.asarray(self.outcomes.weights * self.target.losses(self._final(eta), self.outcomes.labels))

    def leans(self, first: Array, then: Array) -> tuple[Array, Array]:
        """How far rows lean from one η towards another, and its variance if the first is right (see `accept.HeldOut`)."""
        before, after = self._final(first), self._final(then)
        lean = (self.target.residuals(before, self.outcomes.labels) * (before - after)).sum(axis=1)
        spread = np.zeros(len(lean))
        # V has two values, and its law is known: of two levels a < b the covariance is a·(1 − b).
        tau = [-one.predicted.two_values[0] for one in self.target.coordinates]
        for (i, a), (j, b) in product(enumerate(tau), repeat=2):
            spread += min(a, b) * (1 - max(a, b)) * (after - before)[:, i] * (after - before)[:, j]
        return self.outcomes.weights * lean, self.outcomes.weights**2 * spread

    def _final(self, eta: Array) -> Array:
        made = np.column_stack([scale.link.inverse(one, handed_out=True) for scale, one in zip(self.scales, eta, strict=True)])
        return self.target.mend(made)

    def take(self, rows: Index) -> OwnScales:
        """The same for some of the rows."""
        return OwnScales(self.target, [Matching(one.prop, one.link) for one in self.scales], self.outcomes.pick(rows))


@dataclass(frozen=True)
class OneWhole:
    """Shares of one whole, exp(η) divided by their sum; labels are codes, weights have mean one."""

    target: Target
    outcomes: Outcomes

    # Several groups at once decide how one whole is shared; steps are smaller as every class moves all.
    depth: ClassVar[int] = 4
    rate: ClassVar[float] = 0.2

    @property
    def codes(self) -> Index:
        """The label of each row, by number."""
        return self.outcomes.labels.astype(np.intp)

    def residuals(self, eta: Array) -> list[Array]:
        """w·V of each class."""
        share = _shares(eta)
        share[self.codes, np.arange(len(self.outcomes))] -= 1
        return list(self.outcomes.weights * share)

    def slopes(self, eta: Array) -> list[Array]:
        """The curvature of the log loss in each class."""
        share = _shares(eta)
        return list(self.outcomes.weights * share * (1 - share))

    def losses(self, eta: Array) -> Array:
        """The weighted loss of each row after the constraint."""
        return np.asarray(self.outcomes.weights * self.target.losses(_shares(eta).T, self.outcomes.labels))

    def leans(self, first: Array, then: Array) -> tuple[Array, Array]:
        """How far rows lean from one η towards another, and its variance if the first is right (see `accept.HeldOut`)."""
        return lean_of_shares(_shares(first), _shares(then), self.codes, self.outcomes.weights)

    def take(self, rows: Index) -> OneWhole:
        """The same for some of the rows."""
        return OneWhole(self.target, self.outcomes.pick(rows))


def lean_of_shares(before: Array, after: Array, codes: Index, weights: Array) -> tuple[Array, Array]:
    """The gain in log loss of each row to first order, −Σ V·Δ log p, and its variance if `before` is right; both (classes, rows)."""
    move = np.log(np.maximum(after, LEAST)) - np.log(np.maximum(before, LEAST))
    mean = (before * move).sum(axis=0)
    lean = move[codes, np.arange(codes.size)] - mean
    return np.asarray(weights * lean), np.asarray(weights**2 * np.maximum((before * move**2).sum(axis=0) - mean**2, 0.0))


def _shares(eta: Array) -> Array:
    up = np.exp(eta - eta.max(axis=0))
    return np.asarray(up / up.sum(axis=0))
