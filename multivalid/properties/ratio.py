"""Ratios of expectations, such as cost per claim or a claims-weighted mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.properties.base import Array, Facts, Interval, Pieces, Property, one_piece
from multivalid.properties.function import MESH, Function, name_of, power_or_function
from multivalid.properties.ops import NUMPY, Ops


@dataclass(frozen=True, repr=False)
class Ratio(Property):
    """E[a(Y)] / E[b(Y)] with b > 0: V = γ·b(y) − a(y) and S = b(y)γ²/2 − a(y)γ.

    `numerator` and `denominator` are vectorised functions of the labels, or whole numbers for powers.

    Examples
    --------
    >>> Ratio(2, 1).solve([1, 3])
    2.5
    """

    numerator: Callable[[Array], Array] | int
    denominator: Callable[[Array], Array] | int

    def __post_init__(self) -> None:
        power_or_function(self.numerator, "numerator")
        power_or_function(self.denominator, "denominator")

    def __repr__(self) -> str:
        return f"Ratio({name_of(self.numerator)}, {name_of(self.denominator)})"

    def statistics(self, ops: Ops, label: Any) -> list[Any]:
        return [Function(self.numerator, "numerator")(ops, label), Function(self.denominator, "denominator")(ops, label)]

    def residual(self, ops: Ops, prediction: Any, label: Any) -> Any:
        a, b = self.statistics(ops, label)
        return prediction * b - a

    def scoring(self, ops: Ops, prediction: Any, label: Any) -> Any:
        a, b = self.statistics(ops, label)
        return (prediction * b / 2 - a) * prediction

    def best_prediction(self, ops: Ops, label: Any) -> Any:
        a, b = self.statistics(ops, label)
        return a / b

    def must_be_positive(self, ops: Ops, label: Any) -> Any:
        return self.statistics(ops, label)[1]

    def solve_segments(self, labels: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        a, b = self.statistics(NUMPY, labels)
        return np.asarray(np.add.reduceat(weights * a, starts) / np.add.reduceat(weights * b, starts))

    @property
    def degree(self) -> int | None:
        whole = isinstance(self.numerator, int) and isinstance(self.denominator, int)
        return self.numerator - self.denominator if whole else None  # type: ignore[operator]

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> Facts:
        a, b = self.statistics(NUMPY, np.linspace(lo, hi, MESH))
        kept = b > 0  # the denominator may touch zero at the edge of the label range
        if not kept.any():
            raise InputError(
                f"the denominator of {self!r} is nowhere positive for labels in [{lo:g}, {hi:g}]; choose other labels."
            )
        ratio = a[kept] / b[kept]
        ends = Interval(float(ratio.min()), float(ratio.max()))
        most = float(b.max())
        bound = float(max(np.abs(ends.lo * b - a).max(), np.abs(ends.hi * b - a).max()))
        anti = float(1 / b.min()) if b.min() > 0 else None
        return Facts(Interval(lo, hi), ends, bound, most, "", anti, most * ends.length**2 / 2)

    def pieces(self, points: Array) -> Pieces:
        one, nil = np.ones_like(points), np.zeros_like(points)
        return one_piece(np.stack([nil, -one, points], axis=1), np.stack([nil, -points, points**2 / 2], axis=1))

    def solve_moments(self, means: Array) -> Array:
        return np.asarray(means[:, 1] / means[:, 2])

    @property
    def spec(self) -> str | None:
        whole = isinstance(self.numerator, int) and isinstance(self.denominator, int)
        return f"ratio:{self.numerator}:{self.denominator}" if whole else None
