"""A low quantile with the distance to a high one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multivalid import validate
from multivalid.properties.base import Array, Interval, Property
from multivalid.properties.ops import Ops
from multivalid.properties.pairs.base import Pair, PairFacts
from multivalid.properties.quantile import Quantile


@dataclass(frozen=True)
class QuantileIQR(Pair):
    """The low quartile with the interquartile range: V¹ = 1[y ≤ γ⁰ + γ¹] − high.

    Examples
    --------
    >>> QuantileIQR().solve([1, 2, 3, 10])
    (1.0, 2.0)
    """

    low: float = 0.25
    high: float = 0.75

    def __post_init__(self) -> None:
        low, high = validate.low_and_high(self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def first(self) -> Property:
        return Quantile(self.low)

    @property
    def names(self) -> tuple[str, str]:
        return f"quantile {self.low:g}", f"distance from quantile {self.low:g} to {self.high:g}"

    @property
    def has_target(self) -> bool:
        return False

    def second_residual(self, ops: Ops, first: Any, second: Any, label: Any) -> Any:
        # Distances are compared as y − γ⁰ ≤ γ¹: that is how solve_second forms them, so its answer is covered to the last bit.
        return ops.where(label - first <= second, 1 - self.high, -self.high)

    def second_scoring(self, ops: Ops, first: Any, second: Any, label: Any) -> Any:
        return (1 - self.high) * second + ops.maximum(label - first - second, 0.0)

    def solve_second(self, first: float, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        return Quantile(self.high).solve(validate.vector(labels, "labels") - first, sample_weight)

    def solve_second_segments(self, first: Array, labels: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        law = np.repeat(np.arange(starts.size), np.diff(np.append(starts, labels.size)))
        distance = labels - first[law]
        order = np.lexsort((distance, law))
        return Quantile(self.high).solve_segments(distance[order], weights[order], starts)

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> PairFacts:
        length, most = hi - lo, max(self.high, 1 - self.high)
        first = self.first.facts(lo, hi)
        reason = "the coverage of a single label jumps; L¹ and L_c are the largest label density, estimated per cell on data"
        # A γ⁰ above the high quantile asks for a negative distance, so the range is two-sided.
        hull = Interval(-length, length)
        return PairFacts(first.labels, first, hull, most, None, None, most * 2 * length, None, reason)

    @property
    def spec(self) -> str:
        return f"quantile_iqr:{self.low!r}:{self.high!r}"
