"""From rows in memory to slices with their texts: one search per coordinate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from multivalid.discover.bins import encode
from multivalid.discover.features import Features
from multivalid.discover.search import Mask, Search, recentre
from multivalid.groups.nodes import And, Condition, render
from multivalid.properties.base import Array


@dataclass(frozen=True)
class Found:
    """A slice: for which coordinate, its condition, and the mean V of its rows in the part searched."""

    coordinate: int
    condition: Condition
    gap: float

    @property
    def text(self) -> str:
        """The condition, as `groups=` takes it."""
        return render(self.condition)


@dataclass(frozen=True)
class Slices:
    """What the search found, and what it would have found: the price of the best of all candidates by chance."""

    found: list[Found]
    price: float
    candidates: float


def search_slices(
    frame: nw.DataFrame[Any],
    features: Features,
    identified: Sequence[Array],
    weights: Array,
    named: Sequence[Mask],
    *,
    depth: int,
    most: int,
) -> Slices:
    """At most `most` slices over all coordinates, the most telling first."""
    codes = encode(features.bins, frame)
    ranked: list[tuple[float, Found]] = []
    price = candidates = 0.0
    for k, v in enumerate(identified):
        left = recentre(weights * v, named) if named else weights * v
        search = Search(features.bins, codes, left, depth)
        price, candidates = search.price(min(depth, 2)), sum(search.tried[:depth])
        for one in search.run(most):
            parts = [features.bins[c].condition(search.conditions[c].sets[which]) for c, which in sorted(one.terms)]
            condition = parts[0] if len(parts) == 1 else And(tuple(flat for part in parts for flat in _flat(part)))
            weight = float(weights[one.mask].sum())
            ranked.append((one.score, Found(k, condition, float(left[one.mask].sum() / weight) if weight else np.nan)))
    if len(identified) > 1:
        ranked.sort(key=lambda pair: -pair[0])
    return Slices([found for _, found in ranked[:most]], price, candidates)


def _flat(part: Condition) -> tuple[Condition, ...]:
    return part.parts if isinstance(part, And) else (part,)
