"""The practical mode on rows that stay where they are: fitted on a sample, applied and judged on all of them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from multivalid.atoms import select
from multivalid.atoms.keys import look_up, place
from multivalid.atoms.lazy import LazyRows
from multivalid.atoms.select import Rows
from multivalid.atoms.summary import LABEL, PREDICTION, WEIGHT
from multivalid.audit.lazy import audit_lazy
from multivalid.batch.lazy import judge
from multivalid.errors import InputError
from multivalid.evaluators import NoColumns
from multivalid.groups.engine import balanced
from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import Frame, schema_of
from multivalid.practical import fit as practical
from multivalid.practical.predictor import LinkPredictor
from multivalid.properties import Property
from multivalid.properties.ops import expressions

FOUND = "__mv_found"
SAMPLE = 1_000_000  # rows that come to the driver; all of them where there are no more


def fit_lazy(
    rows: LazyRows,
    prop: Property,
    goal: practical.Goal,
    *,
    held: LazyRows | None = None,
    random_state: int = 0,
) -> practical.PracticalFit:
    """Fit on at most `SAMPLE` rows; the certificate says so, and tells the error on all of them where no rows are held out to tell it."""
    if goal.grid is not None:
        rows.check(goal.grid)
    local, at_random = _local(rows, random_state)
    done = practical.fit(local, prop, goal, random_state=random_state)
    certificate = done.certificate
    if len(local) < len(rows):
        how = "a random sample of" if at_random else "the first"
        note = f"Fitted on {how} {len(local):,} of {len(rows):,} rows"
        if held is None:
            after = rows.predicting(predicting_link(rows.frame, rows.groups, done.predictor))
            reached = audit_lazy(after, prop, done.predictor.grid, beyond=True, values=False).error
            note += f"; worst group error on all of them {reached:.3g}"
        certificate = replace(certificate, note=f"{note}.\n{certificate.note}".rstrip())
    if held is not None:
        after = held.predicting(predicting_link(held.frame, held.groups, done.predictor))
        certificate = judge(certificate, after, prop)
    return replace(done, certificate=certificate)


def _local(rows: LazyRows, seed: int) -> tuple[Rows, bool]:
    frame, at_random = rows.sample(SAMPLE, seed)
    made = select.rows(LABEL, PREDICTION, groups=rows.groups, data=frame.to_native(), sample_weight=WEIGHT)
    return made, at_random


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
