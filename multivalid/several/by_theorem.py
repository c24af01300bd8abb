"""The loop of the theorem on each of several columns by itself; the constraint is restored afterwards."""

from __future__ import annotations

from multivalid.batch import theorem
from multivalid.batch.certificate import Certificate
from multivalid.batch.plan import Wish
from multivalid.batch.predictor import Predictor
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
