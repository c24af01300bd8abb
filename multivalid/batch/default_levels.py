"""How many levels the theorem needs when the user names none: so many that it promises less than a constant prediction has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from multivalid.atoms.response import Response, response
from multivalid.atoms.select import Rows
from multivalid.batch.plan import Plan, levels_below, make_plan
from multivalid.batch.rules import violation
from multivalid.cells.tabulate import tabulate_groups
from multivalid.errors import InputError
from multivalid.properties import Property
from multivalid.properties.base import Array

MOST_LEVELS = 10_000
TRIES = 8
LARGEST_TABLE = 1 << 24  # numbers: where labels are tabulated value by value, (label × group) may not fit
Draft = Callable[[int | None], Plan]  # the plan on so many levels, None for the usual number
Trivial = Callable[[Plan], float | None]  # the error of the best constant prediction on a plan's levels


def enough_levels(draft: Draft, trivial: Trivial) -> Plan:
    """The first plan whose alpha is at most the error of the best constant prediction; refused where 10,000 levels are not enough."""
    plan = draft(None)
    for _ in range(TRIES):
        constant = trivial(plan)
        if constant is None or plan.alpha <= constant:
            return plan
        span = plan.grid.hi - plan.grid.lo
        needed = levels_below(0.9 * constant, plan.lipschitz, span) if constant > 0 else MOST_LEVELS + 1
        if needed > MOST_LEVELS:
            raise _refusal(plan, constant)
        plan = draft(max(needed, len(plan.grid) + 1))
    return plan


def plan_of(
    rows: Rows, prop: Property, *, mode: str, grid: Any, m: int | None, alpha: float | None, lipschitz: float | None
) -> Plan:
    """The plan of a fit; where nobody named levels or an error, the theorem's is on enough levels to promise something."""

    def draft(levels: int | None) -> Plan:
        return make_plan(rows, prop, mode=mode, grid=grid, m=levels, alpha=alpha, lipschitz=lipschitz)

    if mode == "theorem" and grid is None and m is None and alpha is None:
        return enough_levels(draft, lambda plan: trivial_of_rows(rows, prop, plan))
    return draft(m)


def _refusal(plan: Plan, constant: float) -> InputError:
    finest = 8 * plan.lipschitz**2 * ((plan.grid.hi - plan.grid.lo) / MOST_LEVELS) ** 2
    return InputError(
        f'mode="theorem" can promise nothing here: the best constant prediction has an error of {constant:.3g} in every group, and '
        f"{MOST_LEVELS:,} levels with L = {plan.lipschitz:.3g} promise {finest:.3g}; groups that differ so little need no theorem: use "
        f'mode="practical", or name m or alpha to run it all the same.'
    )


def trivial_error(by_bin: Array, answer: Response, total: float) -> float | None:
    """The error of the best constant prediction on the grid, from Σw·t_k(y) of every (label bin, group).

    None where there is no group but everyone: a constant is then right, whatever it is worth.
    """
    if by_bin.shape[1] < 2:
        return None
    mass = by_bin[:, :, 0].sum(axis=0) / total
    v = np.stack([answer.on_grid(by_bin[:, g])[0] for g in range(by_bin.shape[1])]) / total
    return float(violation(mass[:, None], v).max(axis=0).min())


def trivial_of_rows(rows: Rows, prop: Property, plan: Plan) -> float | None:
    """The same for rows in memory."""
    answer = response(prop, plan.grid, rows.labels)
    if answer.bins * rows.membership.groups * answer.width > LARGEST_TABLE:
        return None
    bins, moments = answer.encode(rows.labels)
    columns = [np.ascontiguousarray(column) for column in (moments * rows.weights[:, None]).T]
    sums = np.stack(tabulate_groups(rows.membership, bins.astype(np.intp), columns, answer.bins), axis=2)
    return trivial_error(sums, answer, float(rows.weights.sum()))
