"""Labels as shares of the population below them: the scale on which quantiles of skewed labels with ties are easy to move.

A quantile of a monotone transform is the transform of the quantile, so the first coordinate may be calibrated on any such scale. On
this one labels are spread evenly over [0, 1] whatever their tail, and a tie (no claim at all) is an interval that predictions can be
inside of, which stands for the tied value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multivalid import json_checks as read
from multivalid.errors import ModelFileError
from multivalid.properties.base import Array

MOST_KNOTS = 2000
ROUNDING = 1e-9
EDGE = 1e-6  # shares stay this far inside (0, 1): the log-odds of the ends are infinite


@dataclass(frozen=True)
class RankScale:
    """Knots of the distribution of the labels: just below each value the share is `below`, at the value it is `upto`.

    Examples
    --------
    >>> scale = RankScale.of(np.array([0.0, 0.0, 1.0, 3.0]), np.ones(4))
    >>> scale.forward(np.array([0.0, 2.0]))
    array([0.5 , 0.75])
    >>> scale.inverse(np.array([0.2, 0.5, 0.7, 0.999]))
    array([0., 0., 1., 3.])
    """

    values: Array
    below: Array
    upto: Array

    @classmethod
    def of(cls, labels: Array, weights: Array) -> RankScale:
        """From labels; where distinct values are many, the knots are those at even steps of the share."""
        kept = weights > 0
        values, place = np.unique(labels[kept], return_inverse=True)
        share = np.bincount(place.reshape(-1), weights=weights[kept], minlength=values.size)
        upto = np.cumsum(share) / share.sum()
        below = np.append(0.0, upto[:-1])
        if values.size > MOST_KNOTS:
            step = np.floor(upto * MOST_KNOTS)
            ends = np.flatnonzero(np.append(np.diff(step) > 0, True) | np.append(True, np.diff(step) > 0))
            values, below, upto = values[ends], below[ends], upto[ends]
        return cls(values, below, upto)

    def forward(self, values: Array) -> Array:
        """Share of the labels at or below each value."""
        at = np.searchsorted(self.values, values, side="right") - 1
        lo, hi = np.clip(at, 0, None), np.minimum(at + 1, self.values.size - 1)
        room = self.values[hi] - self.values[lo]
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(room > 0, (values - self.values[lo]) / room, 0.0)
        between = self.upto[lo] + part * (self.below[hi] - self.upto[lo])
        inside = np.where(hi > lo, between, self.upto[lo])
        return np.clip(np.where(at < 0, 0.0, inside), EDGE, 1 - EDGE)

    def spread(self, labels: Array, random: np.random.Generator) -> Array:
        """Labels on this scale, ties spread evenly over their interval."""
        at = np.clip(np.searchsorted(self.values, labels, side="left"), 0, self.values.size - 1)
        tied = self.values[at] == labels
        even = self.below[at] + random.random(labels.size) * (self.upto[at] - self.below[at])
        return np.where(tied, even, self.forward(labels))

    def inverse(self, shares: Array) -> Array:
        """Values at these shares, the lower one where a share is that of a whole tie (up to rounding)."""
        knots = np.stack([self.below, self.upto], axis=1).reshape(-1)
        return np.asarray(np.interp(shares - ROUNDING, knots, np.repeat(self.values, 2)))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"values": self.values.tolist(), "below": self.below.tolist(), "upto": self.upto.tolist()}

    @classmethod
    def from_json(cls, data: Any) -> RankScale:
        """The scale that `to_json` described, checked."""
        found = read.record(data, "a rank scale", ("values", "below", "upto"))
        values = read.increasing(found["values"], "the values of a rank scale")
        below, upto = (read.numbers(found[name], f"{name} of a rank scale") for name in ("below", "upto"))
        sizes = values.size == below.size == upto.size and values.size > 0
        knots = np.stack([below, upto], axis=1).reshape(-1) if sizes else np.zeros(0)
        if not sizes or (np.diff(knots) < 0).any() or knots[0] < 0 or knots[-1] > 1 + 1e-9:
            raise ModelFileError("a rank scale must have as many shares as values, from 0 to 1, that do not fall.")
        return cls(values, below, upto)
