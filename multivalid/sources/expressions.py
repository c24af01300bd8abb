"""Formulas as expressions of an engine: what is used several times becomes a column, and is worked out once."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from multivalid.atoms.keys import look_up, place
from multivalid.evaluators import NoColumns
from multivalid.groups.engine import balanced
from multivalid.groups.remote import Frame
from multivalid.properties.ops import Ops, expressions


class Unevaluated:
    """Formulas of an engine before there is a frame: what is kept will be a column."""

    @property
    def ops(self) -> Ops:
        return expressions()

    def place(self, value: Any, edges: Sequence[float], *, inclusive: bool = False) -> Any:
        return place(value, np.nextafter(edges, -np.inf) if inclusive else np.asarray(edges))

    def look_up(self, place: Any, values: Sequence[float]) -> Any:
        return look_up(place, values)

    def keep(self, name: str, value: Any) -> Any:
        return nw.col(f"__mv_{name}")


class Expressions(Unevaluated):
    """Rows of an engine: results that are kept become columns of the frame."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

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
