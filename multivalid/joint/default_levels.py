"""How many levels the theorem needs for a pair when the user names none: so many that it promises less than a constant pair has.

The errors promised are α⁰ = 8(L⁰g⁰)² and α¹* = K·α⁰ + 2α¹, g the gap between levels. Where the range of the second coordinate starts
or ends where that of the first does (expected shortfall and value at risk), both grids share their gap at first: rounding then keeps
their order.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt
from typing import Any

import numpy as np

from multivalid.batch.default_levels import MOST_LEVELS, TRIES
from multivalid.batch.plan import DEFAULT_LEVELS
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.joint.plan import JointPlan, make_plan, pair_facts
from multivalid.joint.trivial import trivial_errors
from multivalid.properties import Pair, PairFacts
from multivalid.sources.memory import MemorySource as Rows

MOST_CELLS = 1 << 24  # (level⁰, level¹, group): a few arrays of so many numbers fit the memory of a small machine
SPARE = 0.9  # of the error of a constant prediction: what is promised should be below it
Two = tuple[float, float]


def plan_of(rows: Rows, pair: Pair, *, mode: str, grid: Any, m: Any, alpha: Any, lipschitz: Any) -> JointPlan:
    """The plan of a run; with levels that promise something where the user leaves them to the theorem."""
    if mode != "theorem" or any(value is not None for value in (grid, m, alpha)):
        return make_plan(rows, pair, mode=mode, grid=grid, m=m, alpha=alpha, lipschitz=lipschitz)
    facts, groups = pair_facts(pair, rows.labels, rows.weights), rows.membership.groups

    def draft(levels: tuple[int, int]) -> JointPlan:
        grids = default_grids(facts, levels)
        return make_plan(rows, pair, mode=mode, grid=None, m=levels, alpha=None, lipschitz=lipschitz, ready=grids)

    usual = draft((DEFAULT_LEVELS, _like_first(DEFAULT_LEVELS, facts) or DEFAULT_LEVELS))
    try:
        return _promising(usual, draft, trivial_errors(rows, pair), groups)
    except InputError:
        if groups > 1:
            raise
        return usual  # nobody asked for groups: the run is worth having, and its certificate says that it promises nothing


def _promising(plan: JointPlan, draft: Callable[[tuple[int, int]], JointPlan], constant: Two, groups: int) -> JointPlan:
    """The first plan that promises less than a constant pair has; refused where none does.

    Where labels are ties L grows with the levels, and the number needed with it: the last try has as many as there is room for.
    """
    for left in reversed(range(TRIES)):
        if _promises(plan, constant):
            return plan
        levels = _try_finer(plan, constant, groups)
        plan = draft(levels if left else _most_levels(levels, groups))
    if _promises(plan, constant):
        return plan
    raise _refusal(plan, constant, (plan.alpha[0], plan.second.value or 0.0), (len(plan.grids[0]), len(plan.grids[1])))


def default_grids(facts: PairFacts, levels: tuple[int, int]) -> tuple[Grid, Grid]:
    """Even grids over both ranges; the second on the points of the first as far as that goes, where it has as fine a gap."""
    first, (lo, hi) = Grid.uniform(*facts.first.range, levels[0]), facts.second_range
    if levels[1] != _like_first(levels[0], facts):
        return first, Grid.uniform(lo, hi, levels[1])
    # The very same points, then more of them a little beyond the range: equal levels are equal to the last digit.
    steps = first.gap * np.arange(1, levels[1] - levels[0] + 1)
    if lo == facts.first.range.lo:
        points = np.concatenate([first.points, first.points[-1] + steps])
    else:
        points = np.concatenate([first.points[0] - steps[::-1], first.points])
    return first, Grid(points, lo=min(lo, float(points[0])), hi=max(hi, float(points[-1])))


def _like_first(levels: int, facts: PairFacts) -> int | None:
    """How many levels of the second coordinate have the gap of so many of the first; None where the two do not share an end."""
    own, second = facts.first.range, facts.second_range
    if not (second.length > own.length > 0 and (second.lo == own.lo or second.hi == own.hi)):
        return None
    wanted = ceil(levels * second.length / own.length * (1 - 1e-12))
    return wanted if wanted <= MOST_LEVELS else None


def _promises(plan: JointPlan, constant: Two) -> bool:
    second = plan.second.value
    return plan.alpha[0] <= constant[0] and (second is None or second <= constant[1])


def _try_finer(plan: JointPlan, constant: Two, groups: int) -> tuple[int, int]:
    """Levels that promise less than a constant pair has, were L to stay as it is; refused where 10,000 of either are not enough."""
    m = [len(grid) for grid in plan.grids]
    square = [alpha * count**2 for alpha, count in zip(plan.alpha, m, strict=True)]  # α = square/m²
    second = plan.second.value
    share = 0.0 if second is None else max(second - 2 * plan.alpha[1], 0.0) / plan.alpha[0] * square[0]
    rest = 0.0 if second is None else 2 * square[1]
    finest = (square[0] / MOST_LEVELS**2, (share + rest) / MOST_LEVELS**2)
    if finest[0] > constant[0] or (second is not None and finest[1] > constant[1]):
        raise _refusal(plan, constant, finest)
    limit = [max(SPARE * error, least) for error, least in zip(constant, finest, strict=True)]
    if second is None:
        return min(max(ceil(sqrt(square[0] / limit[0])), m[0] + 1), MOST_LEVELS), m[1]
    wanted = [max(sqrt(square[0] / limit[0]), sqrt(2 * share / limit[1])), max(sqrt(2 * rest / limit[1]), 1.0)]
    if wanted[0] > MOST_LEVELS:
        wanted = [float(MOST_LEVELS), sqrt(rest / max(limit[1] - share / MOST_LEVELS**2, rest / MOST_LEVELS**2))]
    elif wanted[1] > MOST_LEVELS:
        wanted = [max(wanted[0], sqrt(share / max(limit[1] - rest / MOST_LEVELS**2, share / MOST_LEVELS**2))), float(MOST_LEVELS)]
    made = min(max(ceil(wanted[0]), m[0] + 1), MOST_LEVELS), min(ceil(wanted[1]), MOST_LEVELS)
    if made[0] * made[1] * groups > MOST_CELLS:
        raise InputError(
            f'mode="theorem" needs about m = ({made[0]:,}, {made[1]:,}) levels to promise less than the errors of one pair of predictions '
            f"for everybody, {constant[0]:.3g} and {constant[1]:.3g}; with {groups} groups these are {made[0] * made[1] * groups:,} cells, "
            f'more than the {MOST_CELLS:,} that it works on. Use mode="practical", fewer groups, or name m to run it all the same.'
        )
    return made


def _most_levels(levels: tuple[int, int], groups: int) -> tuple[int, int]:
    """As many levels in about this proportion as the table of cells has room for."""
    times = max(sqrt(MOST_CELLS / (levels[0] * levels[1] * groups)), 1.0)
    return min(int(levels[0] * times), MOST_LEVELS), min(int(levels[1] * times), MOST_LEVELS)


def _refusal(plan: JointPlan, constant: Two, finest: Two, levels: tuple[int, int] = (MOST_LEVELS, MOST_LEVELS)) -> InputError:
    return InputError(
        f'mode="theorem" can promise nothing here: one pair of predictions for everybody has errors of {constant[0]:.3g} and '
        f"{constant[1]:.3g} in its worst group, and m = ({levels[0]:,}, {levels[1]:,}) levels with L = {plan.lipschitz[0]:.3g} and "
        f'{plan.lipschitz[1]:.3g} promise {finest[0]:.3g} and {finest[1]:.3g}; use mode="practical", or name m or alpha to run it all the '
        f"same."
    )
