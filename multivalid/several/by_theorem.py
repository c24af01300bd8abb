"""The loop of the theorem on each of several columns by itself; the constraint is restored afterwards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from multivalid.batch import theorem
from multivalid.batch.certificate import Certificate
from multivalid.batch.plan import Wish
from multivalid.batch.predictor import Predictor
from multivalid.cells.statistics import CellStatistics
from multivalid.grid import Grid
from multivalid.properties.target import Target
from multivalid.several.goal import Goal
from multivalid.sources.memory import MemorySource as Rows


def fit_each(rows: Rows, target: Target, goal: Goal) -> tuple[list[Predictor], list[Certificate]]:
    """The loop of the theorem on each column by itself."""
    parts: list[Predictor] = []
    stated: list[Certificate] = []
    for k, coordinate in enumerate(target.coordinates):
        alone, prop = rows.column(k), coordinate.predicted
        wish = Wish(goal.mode, goal.grids[k], goal.m[k], goal.alpha[k], goal.lipschitz[k])
        made = theorem.fit(alone, prop, wish, control=goal.control)
        parts.append(made.predictor)
        stated.append(made.certificate)
    return parts, stated


def after_constraint(stated: Certificate, rows: Rows, prop: Any, grid: Grid) -> Certificate:
    """The certificate of one column's loop, with the error measured after the constraint, which the theorem does not speak of."""
    error = float(CellStatistics.of(rows.cells(prop, [grid])[0]).errors.max())
    kept = error <= stated.alpha
    note = f"Before the constraint was restored the error was {stated.error:.3g}, after it {error:.3g}."
    status = stated.status if kept or stated.status != "converged" else "uncalibrated"
    return replace(stated, error=error, status=status, sample_bound=None, note="\n".join(filter(None, [stated.note, note])))
