"""From the plan that rows held out confirmed to a predictor, its levels still to be chosen."""

from __future__ import annotations

from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.practical.columns import Columns
from multivalid.practical.forest import Forest
from multivalid.practical.from_columns.plan import Plan
from multivalid.practical.link import Link
from multivalid.practical.predictor import Ending, LinkPredictor
from multivalid.properties.base import Array


def predictor_of(
    plan: Plan, link: Link, columns: Columns, predictions: Array, membership: Membership
) -> tuple[LinkPredictor, Array]:
    """The predictor of a plan, and what it makes of the predictions of rows with these codes and groups."""
    forest = Forest.of(columns.bins, plan.trees) if plan.trees else None
    last = None if plan.last is None else Ending(plan.last.model, plan.last.rounds)
    made = LinkPredictor(Grid([0.0]), link, None if plan.untouched else plan.start.model, plan.start.rounds, forest, last)
    return made, made.predict(predictions, membership, None if forest is None else forest.sums(columns.codes_for(forest.bins)))
