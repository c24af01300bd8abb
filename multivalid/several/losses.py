"""What is lost at η, for all columns: each on a scale of its own (quantiles), or as shares of one whole (classes)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.practical.data import Matching, Outcomes
from multivalid.properties.base import Array
from multivalid.properties.target import Target

SHARE = 0.3  # of the rows on which V changes within the window of its slope

Index = NDArray[np.intp]


@dataclass(frozen=True)
class OwnScales:
    """Columns that are corrected each on its own scale; weights have mean one."""

    target: Target
    scales: Sequence[Matching]
    outcomes: Outcomes

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
        final = np.column_stack([scale.link.final(one) for scale, one in zip(self.scales, eta, strict=True)])
        return np.asarray(self.outcomes.weights * self.target.losses(self.target.mend(final), self.outcomes.labels))

    def take(self, rows: Index) -> OwnScales:
        """The same for some of the rows."""
        return OwnScales(self.target, [Matching(one.prop, one.link) for one in self.scales], self.outcomes.pick(rows))


@dataclass(frozen=True)
class OneWhole:
    """Shares of one whole, exp(η) divided by their sum; labels are codes, weights have mean one."""

    target: Target
    outcomes: Outcomes

    def residuals(self, eta: Array) -> list[Array]:
        """w·V of each class."""
        share = _shares(eta)
        share[self.outcomes.labels.astype(np.intp), np.arange(len(self.outcomes))] -= 1
        return list(self.outcomes.weights * share)

    def slopes(self, eta: Array) -> list[Array]:
        """The curvature of the log loss in each class."""
        share = _shares(eta)
        return list(self.outcomes.weights * share * (1 - share))

    def losses(self, eta: Array) -> Array:
        """The weighted loss of each row after the constraint."""
        return np.asarray(self.outcomes.weights * self.target.losses(_shares(eta).T, self.outcomes.labels))

    def take(self, rows: Index) -> OneWhole:
        """The same for some of the rows."""
        return OneWhole(self.target, self.outcomes.pick(rows))


def _shares(eta: Array) -> Array:
    up = np.exp(eta - eta.max(axis=0))
    return np.asarray(up / up.sum(axis=0))
