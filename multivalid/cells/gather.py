"""Which law a coordinate's V follows, and the terms of its sums: the same for arrays and for an engine's expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import frexp, isfinite, ldexp
from typing import Any

from multivalid.cells.terms import Coverage, Law, Residual, Row, Term, TwoValued
from multivalid.properties import Property
from multivalid.properties.ops import Ops
from multivalid.properties.target import Coordinate


@dataclass(frozen=True)
class ChanceTerms:
    """The law of a coordinate's V, with the units of its sums: mean weight, and a power of two near the largest V."""

    coordinate: Coordinate
    law: Law
    mean_weight: float
    scale: float
    unit: bool  # the two values of V differ by 1, so that u is the weight

    @classmethod
    def of(
        cls, coordinate: Coordinate, *, binary: bool, mean_weight: float, largest: float, ends: tuple[float, float]
    ) -> ChanceTerms:
        """Two values where the property says so, or where labels are 0 and 1; else any law with mean 0.

        `binary`: every label is 0 or 1; `largest`: about how large V is, where nothing else tells; `ends`: of the predictions.
        """
        predicted = coordinate.predicted
        if isinstance(predicted, Property) and predicted.two_values is not None:
            return cls(coordinate, Coverage(chance=-predicted.two_values[0]), mean_weight, 1.0, unit=True)
        if isinstance(predicted, Property) and (binary or predicted.of_event):
            # V = prediction − label
            difference = predicted.identify(0.25, [0.0, 1.0]).tolist() == [0.25, -0.75]
            law = TwoValued(outside=not 0 <= ends[0] <= ends[1] <= 1)
            return cls(coordinate, law, mean_weight, 1.0, unit=predicted.of_event or difference)
        scale = ldexp(1.0, frexp(largest)[1]) if isfinite(largest) and largest > 0 else 1.0
        return cls(coordinate, Residual(), mean_weight, scale, unit=False)  # any law with mean 0

    def terms(self, ops: Ops, columns: Sequence[Any], label: Any, weight: Any, v: Any, plain: bool = False) -> dict[str, Term]:
        """The terms that the law needs besides those of every cell."""
        prediction = columns[self.coordinate.column]
        w = weight if plain else weight / self.mean_weight
        low: Any = None
        high: Any = None
        tied: Any = None
        if isinstance(self.law, Coverage):
            low, high = -self.law.chance, 1 - self.law.chance
            tied = label == prediction
        elif isinstance(self.law, TwoValued) and self.unit:
            low, high = prediction - 1.0, prediction
        elif isinstance(self.law, TwoValued):
            low, high = (self.coordinate.residual(ops, columns, ops.filled(end, label)) for end in (1.0, 0.0))
        return self.law.terms(Row(w, v / self.scale, prediction, low, high, tied, plain and self.unit, ops.number))
