"""How many levels the theorem needs when the user names none: so many that it promises less than a constant prediction has."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from multivalid.atoms.response import Response
from multivalid.batch.plan import Plan, levels_below
from multivalid.batch.rules import violation
from multivalid.errors import InputError
from multivalid.properties.base import Array

MOST_LEVELS = 10_000
TRIES = 8
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
