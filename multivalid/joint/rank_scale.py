"""Labels as shares of the population below them: the scale on which quantiles of skewed labels with ties are easy to move.

A quantile of a monotone transform is the transform of the quantile, so the first coordinate may be calibrated on any such scale. On
this one labels are spread evenly over [0, 1] whatever their tail, and a tie (no claim at all) is an interval that predictions can be
inside of, which stands for the tied value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from multivalid import json_checks as read
from multivalid.errors import ModelFileError
from multivalid.evaluators import Arrays, Evaluator
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

    def onto(self, by: Evaluator, value: Any) -> Any:
        """Share of the labels at or below each value, for rows of any kind."""
        origins, starts, slopes = self._forward
        at = by.keep("rank", by.place(value, self._plain_values, inclusive=True))
        share = by.look_up(at, starts) + (value - by.look_up(at, origins)) * by.look_up(at, slopes)
        return by.keep("share", by.ops.maximum(by.ops.minimum(share, 1 - EDGE), EDGE))

    def back(self, by: Evaluator, share: Any) -> Any:
        """Values at these shares, the lower one where a share is that of a whole tie (up to rounding)."""
        knots, origins, starts, slopes = self._inverse
        lower = by.keep("share", share - ROUNDING)
        at = by.keep("rank", by.place(lower, knots, inclusive=True))
        return by.keep("value", by.look_up(at, slopes) * (lower - by.look_up(at, origins)) + by.look_up(at, starts))

    def forward(self, values: Array) -> Array:
        """Share of the labels at or below each value."""
        return np.asarray(self.onto(Arrays(), values))

    def inverse(self, shares: Array) -> Array:
        """Values at these shares."""
        return np.asarray(self.back(Arrays(), shares))

    @cached_property
    def _plain_values(self) -> list[float]:
        return list(map(float, self.values))

    @cached_property
    def _forward(self) -> tuple[list[float], list[float], list[float]]:
        """Origin, share there and slope of each piece: below all values, from one value to the next, from the last on."""
        rise = (self.below[1:] - self.upto[:-1]) / np.diff(self.values)
        return [0.0, *self._plain_values], [0.0, *map(float, self.upto)], [0.0, *map(float, rise), 0.0]

    @cached_property
    def _inverse(self) -> tuple[list[float], list[float], list[float], list[float]]:
        """Knots of the share, and origin, value there and slope of each piece between them."""
        knots, values = np.stack([self.below, self.upto], axis=1).reshape(-1), np.repeat(self.values, 2)
        room = np.diff(knots)
        rise = np.divide(np.diff(values), room, out=np.zeros_like(room), where=room > 0)
        first = [float(knots[0]), *map(float, knots)]
        return list(map(float, knots)), first, [float(values[0]), *map(float, values)], [0.0, *map(float, rise), 0.0]

    def spread(self, labels: Array, random: np.random.Generator) -> Array:
        """Labels on this scale, ties spread evenly over their interval."""
        at = np.clip(np.searchsorted(self.values, labels, side="left"), 0, self.values.size - 1)
        tied = self.values[at] == labels
        even = self.below[at] + random.random(labels.size) * (self.upto[at] - self.below[at])
        return np.where(tied, even, self.forward(labels))

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
