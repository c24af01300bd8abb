"""Ratios of expectations, such as cost per claim or a claims-weighted mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from multivalid.errors import InputError
from multivalid.properties.base import Array, Facts, Interval, Pieces, Property, broadcast, one_piece
from multivalid.properties.function import MESH, Function, name_of, power_or_function


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

    def _parts(self, y: Array) -> tuple[Array, Array]:
        return Function(self.numerator, "numerator")(y), Function(self.denominator, "denominator")(y)

    def identify(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        g, y = broadcast(prediction, label)
        a, b = self._parts(y)
        return np.asarray(g * b - a)

    def score(self, prediction: ArrayLike, label: ArrayLike) -> Array:
        g, y = broadcast(prediction, label)
        a, b = self._parts(y)
        return np.asarray(b * g**2 / 2 - a * g)

    def solve_segments(self, labels: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
        a, b = self._parts(labels)
        return np.asarray(np.add.reduceat(weights * a, starts) / np.add.reduceat(weights * b, starts))

    def check_labels(self, labels: Array, name: str = "y_true") -> Array:
        _, b = self._parts(labels)
        bad = np.flatnonzero(b <= 0)
        if bad.size:
            raise InputError(
                f"{name} must keep the denominator of {self!r} positive: {bad.size} labels do not, the first at row "
                f"{bad[0]} (label {labels[bad[0]]:g}, denominator {b[bad[0]]:g})."
            )
        return labels

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> Facts:
        a, b = self._parts(np.linspace(lo, hi, MESH))
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

    def moments(self, labels: Array) -> Array:
        a, b = self._parts(labels)
        return np.stack([np.ones_like(labels), a, b], axis=1)

    def pieces(self, points: Array) -> Pieces:
        one, nil = np.ones_like(points), np.zeros_like(points)
        return one_piece(np.stack([nil, -one, points], axis=1), np.stack([nil, -points, points**2 / 2], axis=1))

    def solve_moments(self, means: Array) -> Array:
        return np.asarray(means[:, 1] / means[:, 2])

    @property
    def spec(self) -> str | None:
        whole = isinstance(self.numerator, int) and isinstance(self.denominator, int)
        return f"ratio:{self.numerator}:{self.denominator}" if whole else None
