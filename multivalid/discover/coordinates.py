"""What is predicted, coordinate by coordinate: V, and the law that V has when predictions are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multivalid.cells.terms import Law, Residual, Row, TwoValued
from multivalid.properties import EventProbability, Mean, Property, Quantile
from multivalid.properties.base import Array
from multivalid.properties.target import Coordinate, OwnColumn, Target


@dataclass(frozen=True)
class Searched:
    """One column of the predictions.

    Attributes
    ----------
    law : Law
        Two-valued for quantiles and for labels 0 and 1, where nothing about chance need be estimated.
    """

    coordinate: Coordinate
    law: Law

    @property
    def prop(self) -> Property | None:
        """The property where the coordinate has one of its own."""
        return self.coordinate.predicted if isinstance(self.coordinate, OwnColumn) else None

    @property
    def percent(self) -> bool:
        """Whether a gap is a difference of shares."""
        return isinstance(self.law, TwoValued)

    def row(self, weight: Any, v: Any, prediction: Any, label: Any, as_number: Any) -> Row:
        """What the sums of the law are made of: columns of NumPy or expressions of an engine."""
        if isinstance(self.law, Residual):
            return Row(weight, v, prediction, as_number=as_number)
        if isinstance(self.prop, Quantile):
            tau = self.prop.tau
            # As columns, whatever the frame: V is low or high by these amounts for every row.
            low, high = weight * 0.0 - tau, weight * 0.0 + (1 - tau)
            return Row(weight, v, prediction, low, high, label == prediction, as_number=as_number)
        return Row(weight, v, prediction, prediction - 1.0, prediction, as_number=as_number)


def coordinates(target: Target, events: bool) -> list[Searched]:
    """The coordinates of what is predicted; `events`: labels say whether an event happened."""
    return [Searched(one, _law(one, events)) for one in target.coordinates]


def _law(coordinate: Coordinate, events: bool) -> Law:
    prop = coordinate.predicted if isinstance(coordinate, OwnColumn) else None
    if isinstance(prop, Quantile):
        return TwoValued(jumps=True, outside=True)
    return TwoValued(outside=True) if isinstance(prop, EventProbability) or (isinstance(prop, Mean) and events) else Residual()


def identifications(target: Target, predictions: Array, labels: Array) -> list[Array]:
    """V of every coordinate for every row."""
    return [np.ascontiguousarray(column) for column in target.residuals(predictions, labels).T]
