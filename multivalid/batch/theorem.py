"""Algorithm 1 with its guarantee, and Algorithm 2 as a function of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.atoms.response import Response, response
from multivalid.atoms.select import Rows
from multivalid.atoms.table import build, totals
from multivalid.audit.audit import audit_rows
from multivalid.batch import bounds
from multivalid.batch.algorithm import Patch, Progress, Trace, run
from multivalid.batch.certificate import Certificate
from multivalid.batch.patches import replay
from multivalid.batch.rules import PrintedRule, Rule, TheoremRule, violation
from multivalid.batch.state import State
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.properties import Property
from multivalid.properties.base import Array, Facts

DEFAULT_LEVELS = 20
DELTA = 0.05  # confidence of the finite-sample bounds


@dataclass(frozen=True)
class Fit:
    """Levels of the fitted rows, the patches that lead there, and what is guaranteed."""

    grid: Grid
    levels: NDArray[np.intp]
    patches: list[Patch]
    certificate: Certificate


@dataclass(frozen=True)
class Plan:
    """The numbers a run is made with."""

    mode: str
    grid: Grid
    rule: Rule
    alpha: float
    lipschitz: float
    drop_bound: float


def label_facts(prop: Property, labels: Array) -> Facts:
    """Facts for the unit interval where labels lie in it, else for the interval they span."""
    lo, hi = float(labels.min()), float(labels.max())
    if lo >= 0 and hi <= 1:
        lo, hi = 0.0, 1.0
    elif lo == hi:
        lo, hi = lo - 0.5, hi + 0.5
    domain = prop.label_domain
    return prop.facts(max(lo, domain.lo), min(hi, domain.hi))


def plan(
    rows: Rows, prop: Property, *, mode: str, grid: Grid | None, m: int | None, alpha: float | None, lipschitz: float | None
) -> Plan:
    """Settle grid, threshold and rule for `mode` "theorem" or "paper"."""
    facts = label_facts(prop, rows.labels)
    m = None if m is None else validate.count(m, "m")
    alpha = None if alpha is None else validate.positive(alpha, "alpha")
    if grid is not None:
        _covers(grid, facts, prop)
        grid.check(rows.predictions)
    known = facts.lipschitz if lipschitz is None else validate.positive(lipschitz, "lipschitz")
    if grid is None:
        levels = m or _levels_for(alpha, known, facts.range.length)
        lo, hi = facts.range
        grid = Grid.paper(levels, lo, hi) if mode == "paper" else Grid.uniform(lo, hi, levels)
    steep = known if known is not None else population_slope(rows, prop, grid)
    return _printed(grid, steep, alpha) if mode == "paper" else _theorem(grid, steep, alpha)


def _theorem(grid: Grid, lipschitz: float, alpha: float | None) -> Plan:
    step = 4 * lipschitz**2 * grid.gap**2
    if alpha is None:
        alpha = 2 * step
    threshold = (alpha - step) / len(grid)
    if threshold <= 0:
        raise InputError(
            f"alpha={alpha:g} is out of reach of a grid with gap {grid.gap:g} and L={lipschitz:g}: levels alone cost "
            f"4L²g² = {step:g}; take alpha above that, or at least m = {ceil(len(grid) * sqrt(2 * step / alpha))} levels."
        )
    least = threshold / (4 * lipschitz)
    return Plan("theorem", grid, TheoremRule(threshold, 2 * lipschitz * grid.gap, least), alpha, lipschitz, least)


def _printed(grid: Grid, lipschitz: float, alpha: float | None) -> Plan:
    m, span = len(grid), grid.hi - grid.lo
    asked = 4 * lipschitz**2 * span**2 / m if alpha is None else alpha
    # The printed proof turns a violation of α/m into a drop of α/(2Lm) − L/m² (lengths in units of the range).
    drop = asked / (2 * lipschitz * m) - lipschitz * span**2 / m**2
    return Plan("paper", grid, PrintedRule(asked), asked, lipschitz, drop)


def _levels_for(alpha: float | None, lipschitz: float | None, span: float) -> int:
    if alpha is None or lipschitz is None:
        return DEFAULT_LEVELS
    return max(1, ceil(lipschitz * span * sqrt(8 / alpha)))


def _covers(grid: Grid, facts: Facts, prop: Property) -> None:
    slack = 1e-9 * max(facts.range.length, 1e-300)
    if grid.lo > facts.range.lo + slack or grid.hi < facts.range.hi - slack:
        raise InputError(
            f"grid covers [{grid.lo:g}, {grid.hi:g}], but {prop!r} of these labels can be anywhere in "
            f"[{facts.range.lo:g}, {facts.range.hi:g}]; use Grid.uniform({facts.range.lo:g}, {facts.range.hi:g}, m), or leave grid=None."
        )


def population_slope(rows: Rows, prop: Property, grid: Grid) -> float:
    """The steepest rise of the population's mean V between neighbouring levels: L where single labels make V jump."""
    answer = response(prop, grid, rows.labels)
    v = answer.identify_grid(_label_sums(answer, rows.labels, rows.weights)) / rows.weights.sum()
    if v.size < 2:
        return 1.0
    return max(float((np.diff(v) / np.diff(grid.points)).max()), 1e-12)


def _label_sums(answer: Response, labels: Array, weights: Array) -> Array:
    bins, moments = answer.encode(labels)
    return np.stack([totals(bins, weights * t, answer.bins) for t in moments.T], axis=1)


def fit(
    rows: Rows,
    prop: Property,
    plan: Plan,
    *,
    held: Rows | None = None,
    max_updates: int | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Run a plan on rows and state what it guarantees, also on rows held out."""
    grid = plan.grid
    start = grid.round(rows.predictions)
    trace, state, row_atom = _run(rows.labels, rows.weights, rows.membership, start, prop, grid, plan.rule, max_updates, progress)
    levels = state.level[row_atom]
    certificate = _certify(rows, prop, plan, trace, state)
    if held is not None:
        certificate = with_holdout(certificate, rows, held, prop, grid, trace.patches)
    return Fit(grid, levels, trace.patches, certificate)


def recalibrate(
    labels: Any,
    levels: Any,
    groups: Membership,
    *,
    property: Property,
    grid: Grid,
    threshold: float,
    lipschitz: float,
    sample_weight: Any = None,
    max_updates: int | None = None,
) -> tuple[NDArray[np.intp], Trace]:
    """Algorithm 2: move cells with p·v² ≥ threshold and |v| > 2Lg until none is left, starting from given levels.

    Call it again with other groups, starting from the levels it returned: over all calls together it makes at most 4LB/threshold
    updates, B being the most that the score of one label varies over the grid.

    Returns
    -------
    levels, trace
        The new level of each row, and what was done.

    Examples
    --------
    >>> from multivalid.properties import Mean
    >>> grid = Grid.uniform(0, 1, 10)
    >>> everyone = Membership.from_masks([np.ones(4, dtype=bool)], rows=4)
    >>> levels, trace = recalibrate([0.9] * 4, [0] * 4, everyone, property=Mean(), grid=grid, threshold=0.01, lipschitz=1.0)
    >>> levels, trace.status
    (array([8, 8, 8, 8]), 'converged')
    """
    y = property.check_labels(validate.vector(labels, "labels"), "labels")
    start = np.asarray(levels)
    validate.same_length(start, y.size, "levels", "labels")
    if start.dtype.kind not in "iu" or start.min() < 0 or start.max() >= len(grid):
        raise InputError(f"levels must be whole numbers from 0 to {len(grid) - 1}, the indices of grid points.")
    w = validate.weights(sample_weight, y.size)
    threshold, lipschitz = validate.positive(threshold, "threshold"), validate.positive(lipschitz, "lipschitz")
    rule = TheoremRule(threshold, 2 * lipschitz * grid.gap, threshold / (4 * lipschitz))
    trace, state, row_atom = _run(y, w, groups, start.astype(np.intp), property, grid, rule, max_updates, None)
    return state.level[row_atom], trace


def _run(
    labels: Array,
    weights: Array,
    membership: Membership,
    start: NDArray[np.intp],
    prop: Property,
    grid: Grid,
    rule: Rule,
    max_updates: int | None,
    progress: Progress | None,
) -> tuple[Trace, State, NDArray[np.intp]]:
    answer = response(prop, grid, labels)
    bins, moments = answer.encode(labels)
    table, row_atom = build(membership.by_row(), start, bins, moments * weights[:, None], membership.groups)
    state = State(table, answer, grid)
    trace = run(state, rule, max_updates=max_updates, progress=progress)
    constant = float(weights @ answer.score_constant(labels)) / state.total
    trace.potential = [value + constant for value in trace.potential]
    return trace, state, row_atom


def _certify(rows: Rows, prop: Property, plan: Plan, trace: Trace, state: State) -> Certificate:
    error = float(violation(state.mass, state.identification).sum(axis=0).max())
    best = prop.score(prop.solve_points(rows.labels), rows.labels)
    optimal = float(rows.weights @ best / rows.weights.sum())
    drops = trace.drops
    most = bounds.update_bound(trace.potential[0], optimal, 0.25, plan.drop_bound) if plan.drop_bound > 0 else None
    facts = label_facts(prop, rows.labels)
    return Certificate(
        status=trace.status,
        mode=plan.mode,
        alpha=plan.alpha,
        error=error,
        updates=len(trace.patches),
        update_bound=most,
        initial=trace.potential[0],
        optimal=optimal,
        potential=np.asarray(trace.potential),
        least_drop=float(drops.min()) if drops.size else float("nan"),
        drop_bound=plan.drop_bound,
        lipschitz=plan.lipschitz,
        steepest=trace.steepest,
        blocked=trace.blocked,
        sample_bound=bounds.generalisation(
            error, rows=effective_rows(rows.weights), bound=facts.bound, levels=len(plan.grid), groups=rows.membership.groups,
            updates=len(trace.patches), delta=DELTA,
        ),
        note=_note(plan, trace),
    )  # fmt: skip


def _note(plan: Plan, trace: Trace) -> str:
    if plan.mode == "paper" and trace.status == "blocked":
        return "The printed loop would repeat for ever here: the level of least |V| does not lower the score of the worst cell."
    if trace.steepest > plan.lipschitz * (1 + 1e-9):
        return (
            f"In some cell V rises with slope {trace.steepest:.3g}, steeper than the L = {plan.lipschitz:.3g} assumed; "
            f"errors stated are as measured, the a-priori bounds assume L."
        )
    return ""


def effective_rows(weights: Array) -> float:
    """Kish's effective number of rows: how many of equal weight would carry as much information."""
    return float(weights.sum() ** 2 / (weights @ weights))


def with_holdout(certificate: Certificate, rows: Rows, held: Rows, prop: Property, grid: Grid, patches: list[Patch]) -> Certificate:
    """The certificate with the error on rows that were not used."""
    level = replay(patches, grid.round(held.predictions), len(grid), held.membership)
    return judged(certificate, rows, replace(held, predictions=grid.points[level]), prop, grid)


def judged(certificate: Certificate, rows: Rows, held: Rows, prop: Property, grid: Grid) -> Certificate:
    """The certificate with error, debiased error and population bound on held-out rows that carry their final predictions."""
    found = audit_rows(held, prop, grid)
    facts = label_facts(prop, np.concatenate([rows.labels, held.labels]))
    bound = bounds.generalisation(
        found.error,
        rows=effective_rows(held.weights),
        bound=facts.bound,
        levels=len(grid),
        groups=len(found.table["name"]),
        delta=DELTA,
    )
    unbiased = float(found.table["debiased"].max())
    return replace(certificate, holdout_error=found.error, holdout_debiased=unbiased, holdout_bound=bound)
