"""The scale on which groups add up: which summed shifts would say what a correction says, where their sum is bent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from multivalid.evaluators import Arrays, NoColumns
from multivalid.practical.model import Model
from multivalid.properties.base import Array

HALVINGS = 40


class _Summed(NoColumns):
    """Rows whose summed shifts are known."""

    def __init__(self, index: Array) -> None:
        self.index = index

    def total(self, values: Sequence[float]) -> Array:
        return self.index

    def holds(self, group: int) -> bool:
        return group == 0


def shifts_for(model: Model, base: Array, eta: Array, span: tuple[float, float]) -> Array:
    """The summed shifts within `span` with which the bent model, without products, goes from `base` to `eta`; else the nearer end."""
    bent = replace(model, pairs=np.zeros((2, 0), dtype=np.intp), products=np.zeros(0))
    low, high = (np.full(base.size, end) for end in span)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = bent.start(Arrays(), base, _Summed(middle)) < eta
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2)
