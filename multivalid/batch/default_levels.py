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


def enough_levels(draft: Draft, trivial: Trivial, *, groups: bool) -> Plan:
    """The first plan whose alpha is at most the error of the best constant prediction; refused where 10,000 levels are not enough.

    Without `groups` the usual plan is worth having all the same, and its certificate says that it promises nothing.
    """
    plan = usual = draft(None)
    constant = 0.0
    for left in reversed(range(TRIES)):
        found = trivial(plan)
        if found is None or plan.alpha <= found:
            return plan
        constant = found
        span, levels = plan.grid.hi - plan.grid.lo, len(plan.grid)
        needed = levels_below(0.9 * constant, plan.lipschitz, span) if constant > 0 else MOST_LEVELS + 1
        if needed > MOST_LEVELS or levels == MOST_LEVELS:
            break
        # Where labels are ties L grows with the levels, and the number needed with it: the last try is the finest grid of all.
        plan = draft(max(needed, levels + 1) if left > 1 else MOST_LEVELS)
    if groups:
        raise _refusal(plan, constant)
    return usual


def _refusal(plan: Plan, constant: float) -> InputError:
    finest = 8 * plan.lipschitz**2 * ((plan.grid.hi - plan.grid.lo) / MOST_LEVELS) ** 2
    return InputError(
        f'mode="theorem" can promise nothing here: a constant prediction has an error of at most {constant:.3g} in every group, and '
        f"{MOST_LEVELS:,} levels with L = {plan.lipschitz:.3g} promise {finest:.3g}; use "
        f'mode="practical", or name m or alpha to run it all the same.'
    )


def trivial_error(by_bin: Array, answer: Response, total: float) -> float:
    """The error of the best constant prediction on the grid, from Σw·t_k(y) of every (label bin, group).

    Where there is no group but everyone the best constant is right, whatever it is worth. There it is the error of the worst one: what no
    constant breaks is no promise.
    """
    mass = by_bin[:, :, 0].sum(axis=0) / total
    v = np.stack([answer.on_grid(by_bin[:, g])[0] for g in range(by_bin.shape[1])]) / total
    worst = violation(mass[:, None], v).max(axis=0)
    return float(worst.min() if by_bin.shape[1] > 1 else worst.max())
