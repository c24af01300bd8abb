"""Predictions of the practical mode where the rows live: the formula of the model as expressions of an engine."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from multivalid.atoms.keys import look_up, place
from multivalid.atoms.names import PREDICTION
from multivalid.errors import InputError
from multivalid.evaluators import NoColumns
from multivalid.groups.engine import balanced
from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import Frame, schema_of
from multivalid.practical.predictor import LinkPredictor
from multivalid.properties.ops import expressions

FOUND = "__mv_found"


def predicting_link(frame: Frame, groups: FittedGroups, predictor: LinkPredictor, output: str = PREDICTION) -> Frame:
    """Final predictions as expressions of the base prediction and the groups; nothing is computed yet."""
    members = ExpressionMembers(groups.expressions(schema_of(frame)))  # first: a column that is missing is an error in any case
    if predictor.model is None:
        return frame.with_columns(nw.col(PREDICTION).alias(output))
    if frame.implementation.is_ibis():
        raise InputError(
            "predictions of a practical model are not supported on Ibis, which hands numbers to its engine as decimals; use the engine "
            'itself (a DuckDB relation, Spark), polars, or mode="theorem".'
        )
    names = [name for name in frame.collect_schema().names() if name != output]
    found = None
    if predictor.forest is not None:
        frame = predictor.forest.on_frame(frame.with_columns(nw.lit(0.0, dtype=nw.Float64).alias(FOUND)), FOUND)
        found = nw.col(FOUND)
    by = Expressions(frame)
    made = predictor.calibrated(by, nw.col(PREDICTION), members, found)
    return by.frame.select(*names, made.alias(output))


class Expressions:
    """Rows of an engine: results that are kept become columns of the frame."""

    def __init__(self, frame: Frame) -> None:
        self.frame, self.ops = frame, expressions()

    def place(self, value: Any, edges: Sequence[float], *, inclusive: bool = False) -> Any:
        return place(value, np.nextafter(edges, -np.inf) if inclusive else np.asarray(edges))

    def look_up(self, place: Any, values: Sequence[float]) -> Any:
        return look_up(place, values)

    def keep(self, name: str, value: Any) -> Any:
        self.frame = self.frame.with_columns(value.alias(f"__mv_{name}"))
        return nw.col(f"__mv_{name}")


class ExpressionMembers(NoColumns):
    """Groups as conditions on the columns of a frame."""

    def __init__(self, flags: list[Any]) -> None:
        self.flags = flags

    def total(self, values: Sequence[float]) -> Any:
        shifts = [expressions().where(flag, float(value), 0.0) for flag, value in zip(self.flags[1:], values, strict=True)]
        return balanced(shifts, operator.add) if shifts else expressions().filled(0.0, None)

    def holds(self, group: int) -> Any:
        return self.flags[group]
