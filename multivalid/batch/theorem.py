"""Algorithm 1 with its guarantee, and Algorithm 2 as a function of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.atoms.response import response
from multivalid.atoms.table import build
from multivalid.audit.audit import Audit, audit_source
from multivalid.batch import bounds
from multivalid.batch.algorithm import Trace, run
from multivalid.batch.certificate import Certificate
from multivalid.batch.control import UNLIMITED, Control
from multivalid.batch.default_levels import enough_levels
from multivalid.batch.measured import CellTable, Measured, measure
from multivalid.batch.plan import Plan, Wish, facts_of, levels_below, settle, slope, wished_grid
from multivalid.batch.predictor import LevelPredictor
from multivalid.batch.rules import TheoremRule, worst_error
from multivalid.batch.state import State
from multivalid.cells.sentences import unknown_lines
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.levels import SIGNIFICANCE
from multivalid.properties import Property
from multivalid.sources.open import Source


@dataclass(frozen=True)
class Fit:
    """Levels and the patches between them, where the fitted rows end (None where rows are not seen), and what is guaranteed."""

    predictor: LevelPredictor
    levels: NDArray[np.intp] | None
    certificate: Certificate
    judged: Audit | None = None  # the audit of the rows held out


def fit(
    source: Source,
    prop: Property,
    wish: Wish,
    *,
    held: Source | None = None,
    batched: bool = False,
    control: Control = UNLIMITED,
) -> Fit:
    """Levels, sums of the rows on them, a run (one cell at a time, or in rounds), and what it guarantees, also on rows held out."""
    plan, measured = _settled(source, prop, wish.checked(), batched)
    done = measured.run(plan.rule, control)
    bound = max(facts_of(source, prop).bound, source.largest_residual(prop, plan.grid))
    optimal = measured.best / source.totals.weight
    certificate = certify(
        plan, done.trace, done.cells, optimal=optimal, bound=bound, rows=source.totals.effective, **done.start._asdict()
    )
    predictor = LevelPredictor(plan.grid, done.trace.patches)
    found = None if held is None else audit_source(held.predicted_by(predictor, beside=True), prop, values=False)
    return Fit(predictor, done.levels, certificate if found is None else judged_by(certificate, found), found)


def _settled(source: Source, prop: Property, wish: Wish, batched: bool) -> tuple[Plan, Measured]:
    """The plan, and the rows measured on its levels: so many that it promises something, where the theorem is to choose."""
    facts = facts_of(source, prop)
    known = facts.lipschitz if wish.lipschitz is None else wish.lipschitz
    seen: dict[int, Measured] = {}

    def draft(m: int | None) -> Plan:
        grid = wished_grid(wish._replace(m=m), facts, known, source, prop)
        if known is not None:
            settle(wish.mode, grid, known, wish.alpha)  # refuses what is out of reach before any row is read
        measured = seen[len(grid)] = measure(source, prop, grid, batched=batched)
        steep = known
        if steep is None:
            steep = slope(measured.answer.on_grid(measured.everyone)[0] / source.totals.weight, grid, facts)
        return settle(wish.mode, grid, steep, wish.alpha)

    if not wish.open:
        plan = draft(wish.m)
    else:
        plan = enough_levels(draft, lambda plan: seen[len(plan.grid)].trivial, groups=len(source.groups) > 1)
    return plan, seen[len(plan.grid)]


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
    >>> import numpy as np
    >>> from multivalid import Grid, Mean, Membership
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
    if groups.rows != y.size:
        raise InputError(f"groups has {groups.rows} rows but labels has {y.size}; both must describe the same rows.")
    w = validate.weights(sample_weight, y.size)
    threshold, lipschitz = validate.positive(threshold, "threshold"), validate.positive(lipschitz, "lipschitz")
    rule = TheoremRule(threshold, 2 * lipschitz * grid.gap, threshold / (4 * lipschitz))
    answer = response(property, grid, y)
    bins, moments = answer.encode(y)
    table, row_atom = build(groups.by_row(), start.astype(np.intp), bins, moments * w[:, None], groups.groups)
    state = State(table, answer, grid, float(w @ answer.score_constant(y)))
    trace = run(state, rule, Control(max_updates))
    return state.level[row_atom], trace


def certify(
    plan: Plan,
    trace: Trace,
    state: CellTable,
    *,
    optimal: float,
    bound: float,
    rows: float,
    trivial: float | None = None,
    before: float | None = None,
) -> Certificate:
    """What a finished run guarantees.

    `optimal` is the least mean score, `bound` limits |V|, `rows` is the effective number, `trivial` the error of the best constant
    prediction, `before` that of the input.
    """
    error = worst_error(state.mass, state.identification)
    drops = trace.drops
    most = bounds.update_bound(trace.potential[0], optimal, 0.25, plan.drop_bound) if plan.drop_bound > 0 else None
    # Cells that no level improves do no harm when every group's error is within what was asked for all the same.
    reached = trace.status == "converged" or (trace.status == "blocked" and error <= plan.alpha)
    empty = trivial is not None and plan.alpha > trivial
    return Certificate(
        status=("vacuous" if empty else "converged") if reached else trace.status,
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
            error, rows=rows, bound=bound, levels=len(plan.grid), groups=state.mass.shape[1], updates=len(trace.patches),
            delta=SIGNIFICANCE,
        ),
        note="\n".join(filter(None, [_needed(plan, trivial) if empty and reached else "", _note(plan, trace), trace.note])),
        trivial=trivial,
        error_before=before,
    )  # fmt: skip


def _needed(plan: Plan, trivial: float | None) -> str:
    """How many levels an error below that of a constant takes."""
    if not trivial:
        return "No number of levels promises less than a constant prediction has here: its error is 0."
    levels = levels_below(trivial, plan.lipschitz, plan.grid.hi - plan.grid.lo)
    return f"To promise less than a constant prediction has, m = {levels:,} levels are needed."


def _note(plan: Plan, trace: Trace) -> str:
    if plan.mode == "paper" and trace.status == "blocked":
        return "The printed loop would repeat for ever here: the level of least |V| does not lower the score of the worst cell."
    if trace.steepest > plan.lipschitz * (1 + 1e-9):
        return (
            f"In some cell V rises with slope {trace.steepest:.3g}, steeper than the L = {plan.lipschitz:.3g} assumed; "
            f"errors stated are as measured, the a-priori bounds assume L."
        )
    return ""


def judged(certificate: Certificate, held: Source, prop: Property) -> Certificate:
    """The certificate with error, debiased error and population bound on held-out rows that carry their final predictions."""
    return judged_by(certificate, audit_source(held, prop, values=False))


def judged_by(certificate: Certificate, found: Audit) -> Certificate:
    """The same from an audit of the held-out rows; the bound is the asymptotic one of `Audit.holdout_bound`."""
    unbiased = float(found.table["debiased"].max())
    told = " ".join(["On held-out rows:", found.verdict, *unknown_lines(found.table, found.coordinates[0].units)])
    return replace(
        certificate, holdout_error=found.error, holdout_debiased=unbiased, holdout_bound=found.holdout_bound[0],
        note=f"{certificate.note} {told}".strip(),
    )  # fmt: skip
