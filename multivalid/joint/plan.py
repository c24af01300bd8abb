"""Grids, thresholds and rules of a run of Algorithm 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor
from typing import Any

import numpy as np

from multivalid import validate
from multivalid.batch.plan import DEFAULT_LEVELS, check_covers, label_range, population_slope, theorem_rule
from multivalid.batch.rules import Rule
from multivalid.errors import InputError
from multivalid.grid import Grid, checked_grid
from multivalid.joint.bounds import SecondBound, second_error_bound
from multivalid.joint.rules import PrintedCellRule
from multivalid.properties import Pair, PairFacts
from multivalid.properties.base import Array, Interval
from multivalid.sources.memory import MemorySource as Rows

OR_TWO = ", or two of them"  # what else a grid of a pair may be given as


@dataclass(frozen=True)
class JointPlan:
    """The numbers a run is made with; pairs of numbers are (first, second coordinate).

    Attributes
    ----------
    alpha : (float, float)
        α⁰ and α¹, the errors that the two stages reach, V¹ taken at the predicted γ⁰.
    second : SecondBound
        α¹*, for V¹ at the true Γ⁰ of each cell.
    drops : (float, float)
        What each update must lower its potential by.
    bounds : (int, int) or None
        T⁰ and T¹.
    """

    mode: str
    grids: tuple[Grid, Grid]
    rules: tuple[Rule, Rule]
    alpha: tuple[float, float]
    second: SecondBound
    lipschitz: tuple[float, float]
    drops: tuple[float, float]
    bounds: tuple[int, int]


def pair_facts(pair: Pair, labels: Array, weights: Array) -> PairFacts:
    """Facts for the unit interval where labels lie in it, else for the interval they span; rows of weight 0 do not count."""
    return pair.facts(*label_range(pair.first, labels, weights))


def two(value: Any, name: str) -> tuple[Any, Any]:
    """One value for both coordinates, or one for each."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != 2:
            raise InputError(f"{name} must be one value or two, one per coordinate of the pair, got {len(value)}.")
        return value[0], value[1]
    return value, value


def make_plan(
    rows: Rows,
    pair: Pair,
    *,
    mode: str,
    grid: Any,
    m: Any,
    alpha: Any,
    lipschitz: Any,
    ready: tuple[Grid, Grid] | None = None,
) -> JointPlan:
    """Settle grids, thresholds and rules for `mode` "theorem" or "paper"; `ready` are grids that need no check."""
    facts = pair_facts(pair, rows.labels, rows.weights)
    if mode == "paper":
        facts = _facts_as_printed(facts, rows.labels[rows.weights > 0])
    grids = _grids(rows, pair, facts, mode, grid, m) if ready is None else ready
    wanted = [None if a is None else validate.positive(a, "alpha") for a in two(alpha, "alpha")]
    given = [None if c is None else validate.positive(c, "lipschitz") for c in two(lipschitz, "lipschitz")]
    known = [
        given[0] if given[0] is not None else facts.first.lipschitz,
        given[1] if given[1] is not None else facts.second_lipschitz,
    ]
    steep = (
        known[0] if known[0] is not None else population_slope(_only(rows, 0), pair.first, grids[0], facts.first),
        known[1] if known[1] is not None else second_slope(rows, pair, grids[1]),
    )
    facts = _as_far_as(grids[0], pair, facts)
    return _plan_as_printed(facts, grids, steep, wanted) if mode == "paper" else _theorem(facts, grids, steep, wanted)


def _as_far_as(grid: Grid, pair: Pair, facts: PairFacts) -> PairFacts:
    """Facts with the L_c that holds for first predictions anywhere on the grid, which may reach beyond the labels."""
    ends, (lo, hi), domain = facts.labels, (grid.points[0], grid.points[-1]), pair.first.label_domain
    wide = max(min(ends.lo, float(lo)), domain.lo), min(max(ends.hi, float(hi)), domain.hi)
    if wide == (ends.lo, ends.hi) or facts.conditional_lipschitz is None:
        return facts
    return replace(facts, conditional_lipschitz=pair.facts(*wide).conditional_lipschitz)


def _theorem(facts: PairFacts, grids: tuple[Grid, Grid], steep: tuple[float, float], wanted: list[float | None]) -> JointPlan:
    """Slices of cells run over either grid (the bound on V¹ needs V⁰ summed over γ¹), so the longer one sets the threshold of both."""
    most = max(len(grid) for grid in grids)
    made = [theorem_rule(*stage, most) for stage in zip(grids, steep, wanted, strict=True)]
    (rule0, alpha0, drop0), (rule1, alpha1, drop1) = made
    bounds = (_most_updates(facts.first.span, drop0), _most_updates(facts.second_span, drop1))
    second = second_error_bound(facts, alpha0, alpha1, reach=_points(grids[0]))
    return JointPlan("theorem", grids, (rule0, rule1), (alpha0, alpha1), second, steep, (drop0, drop1), bounds)


def _plan_as_printed(
    facts: PairFacts, grids: tuple[Grid, Grid], steep: tuple[float, float], wanted: list[float | None]
) -> JointPlan:
    m = len(grids[0])
    alpha = tuple(4 * c**2 / m if a is None else a for c, a in zip(steep, wanted, strict=True))
    drops = tuple(a / (2 * c * m) - c / m**2 for c, a in zip(steep, alpha, strict=True))
    spans = (facts.first.span, facts.second_span)
    bounds = tuple(_most_updates(span, drop) for span, drop in zip(spans, drops, strict=True))
    second = second_error_bound(replace(facts, bayes_scale=None), *alpha)
    if second.value is None:
        second = second_error_bound(facts, *alpha, reach=_points(grids[0]))
    rules = (PrintedCellRule(alpha[0] / m), PrintedCellRule(alpha[1] / m))
    return JointPlan("paper", grids, rules, _pair(alpha), second, steep, _pair(drops), (bounds[0], bounds[1]))


def _points(grid: Grid) -> Interval:
    return Interval(float(grid.points[0]), float(grid.points[-1]))


def _pair(values: tuple[float, ...]) -> tuple[float, float]:
    return values[0], values[1]


def _most_updates(span: float, drop: float) -> int:
    return floor(span / drop * (1 + 1e-12)) if drop > 0 else 0


def _facts_as_printed(facts: PairFacts, labels: Array) -> PairFacts:
    if labels.min() < 0 or labels.max() > 1:
        raise InputError(
            "mode='paper' of a pair is printed for labels in [0, 1] and for second coordinates in [0, 1]; rescale the labels, or use "
            "mode='theorem', which works in the label's own units."
        )
    return replace(facts, second_range=Interval(0.0, 1.0))


def _grids(rows: Rows, pair: Pair, facts: PairFacts, mode: str, grid: Any, m: Any) -> tuple[Grid, Grid]:
    ranges = (facts.first.range, facts.second_range)
    counts = [DEFAULT_LEVELS if c is None else validate.count(c, "m") for c in two(m, "m")]
    made = []
    for k, (given, ends, levels) in enumerate(zip(two(grid, "grid"), ranges, counts, strict=True)):
        if given is None:
            chosen = Grid.paper(levels, *ends) if mode == "paper" else Grid.uniform(*ends, levels)
        else:
            chosen = checked_grid(given, OR_TWO)
            check_covers(chosen, ends, f"the grid for {pair.names[k]}", "the target of a wrong first prediction")
            chosen.check(rows.predictions[:, k], f"y_pred ({pair.names[k]})")
        made.append(chosen)
    if mode == "paper" and len(made[0]) != len(made[1]):
        raise InputError(f"mode='paper' has one m for both coordinates, got {len(made[0])} and {len(made[1])} levels.")
    return made[0], made[1]


def second_slope(rows: Rows, pair: Pair, grid: Grid) -> float:
    """The steepest rise of the population's mean V¹ between neighbouring levels, at the population's Γ⁰."""
    kept = rows.weights > 0
    first = pair.first.solve(rows.labels[kept], rows.weights[kept])
    w = rows.weights[kept] / rows.weights.sum()
    v = np.array([w @ pair.identify_second(first, point, rows.labels[kept]) for point in grid.points])
    return max(float((np.diff(v) / np.diff(grid.points)).max()), 1e-12) if v.size > 1 else 1.0


def _only(rows: Rows, side: int) -> Rows:
    return replace(rows, predictions=rows.predictions[:, side])
