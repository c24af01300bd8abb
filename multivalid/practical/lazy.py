"""The practical mode on rows that stay where they are: fitted on a sample, applied and judged on all of them."""

from __future__ import annotations

import operator
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
from multivalid.batch.algorithm import Progress
from multivalid.batch.lazy import judge
from multivalid.errors import InputError
from multivalid.groups.engine import balanced
from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import Frame
from multivalid.practical import fit as practical
from multivalid.practical.formula import eta, summed_shifts
from multivalid.practical.link import SNAP
from multivalid.practical.predictor import LinkPredictor
from multivalid.practical.shifts import ShiftRound
from multivalid.properties import Property
from multivalid.properties.ops import expressions

SAMPLE = 1_000_000  # rows that come to the driver; all of them where there are no more
_ETA, _BASE, _PULL = "__mv_eta", "__mv_base", "__mv_pull"


def fit_lazy(
    rows: LazyRows,
    prop: Property,
    goal: practical.Goal,
    *,
    held: LazyRows | None = None,
    progress: Progress | None = None,
    random_state: int = 0,
) -> practical.PracticalFit:
    """Fit on at most `SAMPLE` rows; the certificate says so, and tells the error on all of them where no rows are held out to tell it."""
    if goal.grid is not None:
        rows.check(goal.grid)
    local, at_random = _local(rows, random_state)
    done = practical.fit(local, prop, goal, progress=progress, random_state=random_state)
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
        certificate = judge(certificate, rows, after, prop, done.predictor.grid)
    return replace(done, certificate=certificate)


def _local(rows: LazyRows, seed: int) -> tuple[Rows, bool]:
    frame, at_random = rows.sample(SAMPLE, seed)
    made = select.rows(LABEL, PREDICTION, groups=rows.groups, data=frame.to_native(), sample_weight=WEIGHT)
    return made, at_random


def predicting_link(frame: Frame, groups: FittedGroups, predictor: LinkPredictor, output: str = PREDICTION) -> Frame:
    """Final predictions as expressions of the base prediction and the groups; nothing is computed yet."""
    if predictor.model is None:
        return frame.with_columns(nw.col(PREDICTION).alias(output))
    if frame.implementation.is_ibis():
        raise InputError(
            "predictions of a practical model are not supported on Ibis, which hands numbers to its engine as decimals; use the engine "
            'itself (a DuckDB relation, Spark), polars, or mode="theorem".'
        )
    names = [name for name in frame.collect_schema().names() if name != output]
    flags = groups.expressions(frame.collect_schema())
    ops = expressions()
    staged = frame.with_columns(predictor.link.onto(ops, nw.col(PREDICTION)).alias(_BASE))
    staged = staged.with_columns(summed_shifts(ops, predictor.model, nw.col(_BASE), flags[1:]).alias(_PULL))
    staged = staged.with_columns(eta(ops, predictor.model, nw.col(_BASE), nw.col(_PULL), flags[1:]).alias(_ETA))
    for made in predictor.rounds:
        staged = staged.with_columns(shifted(made, nw.col(_ETA), flags).alias(_ETA))
    return staged.select(*names, predictor.link.back(ops, nw.col(_ETA), SNAP).alias(output))


def shifted(made: ShiftRound, eta: Any, flags: list[Any]) -> Any:
    """`ShiftRound.apply` as an expression."""
    level = place(eta, made.edges)
    terms = [eta]
    for group in sorted({group for group, _, _ in made.shifts}):
        table = np.zeros(made.edges.size + 1)
        for g, at, amount in made.shifts:
            table[at] += amount if g == group else 0.0
        terms.append(expressions().where(flags[group], look_up(level, table.tolist()), 0.0))
    return balanced(terms, operator.add)
