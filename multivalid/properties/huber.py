"""Huber's location: the mean of labels that pull with at most a fixed force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multivalid import validate
from multivalid.properties.base import Array, Facts, Interval, Location, Pieces
from multivalid.properties.ops import Ops


@dataclass(frozen=True)
class Huber(Location):
    """Huber's M-functional: V = clip(γ − y, −k, k), S the usual half square with linear tails.

    Between the mean (large k) and the median (small k). Labels farther than k from γ all pull alike, so a law can have an
    interval of values; `solve` gives its lowest point.

    Examples
    --------
    >>> round(Huber(1.0).solve([0, 0, 0, 100]), 12)
    0.333333333333
    """

    k: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", validate.positive(self.k, "k"))

    def residual(self, ops: Ops, prediction: Any, label: Any) -> Any:
        return ops.minimum(ops.maximum(prediction - label, -self.k), self.k)

    def scoring(self, ops: Ops, prediction: Any, label: Any) -> Any:
        distance = ops.absolute(prediction - label)
        near = ops.minimum(distance, self.k)
        return ops.power(near, 2) / 2 + self.k * (distance - near)

    def statistics(self, ops: Ops, label: Any) -> list[Any]:
        return [label, ops.power(label, 2)]

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> Facts:
        span = hi - lo
        near = min(span, self.k)
        return Facts(Interval(lo, hi), Interval(lo, hi), near, 1.0, "", None, near**2 / 2 + self.k * (span - near))

    def pieces(self, points: Array) -> Pieces:
        one, nil, k = np.ones_like(points), np.zeros_like(points), self.k
        identify = [[k * one, nil, nil], [points, -one, nil], [-k * one, nil, nil]]
        score = [
            [k * points - k * k / 2, -k * one, nil],
            [points**2 / 2, -points, one / 2],
            [-k * points - k * k / 2, k * one, nil],
        ]
        return Pieces(np.stack([points - k, points + k]), _coefficients(identify), _coefficients(score))

    @property
    def spec(self) -> str:
        return f"huber:{self.k!r}"


def _coefficients(pieces: list[list[Array]]) -> Array:
    return np.stack([np.stack(piece, axis=1) for piece in pieces])
