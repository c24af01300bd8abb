"""The practical fit with columns: groups that nobody named are found, as rules, as trees, or as both, and kept if held-out rows confirm.

From rows to a problem on codes, to which `choice.py` finds the way, and from the plan it chose to a predictor with its certificate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.batch.certificate import Certificate
from multivalid.practical.certify import certify
from multivalid.practical.columns import Columns
from multivalid.practical.from_columns.choice import choose
from multivalid.practical.from_columns.predictor import predictor_of
from multivalid.practical.from_columns.problem import Problem
from multivalid.practical.from_columns.rules_as_groups import add_as_groups
from multivalid.practical.goal import Goal, level_grid
from multivalid.practical.predictor import LinkPredictor
from multivalid.practical.work import mean_score
from multivalid.properties.base import Property
from multivalid.sources.memory import MemorySource as Rows


@dataclass(frozen=True)
class ColumnsFit:
    """What a fit with columns made: predictor, levels of the fitted rows, certificate, and these rows in all groups, named and found."""

    predictor: LinkPredictor
    levels: NDArray[np.intp]
    certificate: Certificate
    rows: Rows


def fit_from_columns(
    rows: Rows,
    prop: Property,
    goal: Goal,
    columns: Columns,
    *,
    blocks: NDArray[Any] | None = None,
    random_state: int = 0,
) -> ColumnsFit:
    """Fit named and found groups; `columns` has the codes of these rows, `blocks` says which rows belong together."""
    problem = Problem.of(rows, prop, goal, columns, blocks)
    columns = problem.columns
    chosen = choose(problem, blocks, random_state)
    groups, membership = add_as_groups(rows, chosen.plan.rules, columns)
    wide = replace(rows, groups=groups, membership=membership)
    bare, predictions = predictor_of(chosen.plan, problem.loss.link, columns, rows.predictions, membership)
    predictor = replace(bare, grid=level_grid(predictions, rows.weights, goal.levels, goal.grid))
    done = wide.with_predictions(predictions)
    potential = [mean_score(rows, prop, one) for one in (rows.predictions, predictions)]
    certificate = certify(
        done, prop, predictor.grid, len(predictor.patches), potential, alpha=goal.alpha, stopped=chosen.stopped,
        note="\n".join(chosen.report),
    )  # fmt: skip
    return ColumnsFit(predictor, predictor.grid.round(predictions), certificate, wide)
