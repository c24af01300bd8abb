"""Algorithm 1 with its guarantee, and Algorithm 2 as a function of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.atoms.response import Response, response
from multivalid.atoms.select import Rows
from multivalid.atoms.table import build
from multivalid.audit.audit import Audit
from multivalid.audit.audit import audit_source as audit_rows
from multivalid.batch import bounds
from multivalid.batch.algorithm import Patch, Trace, run
from multivalid.batch.batched import Cells, LabelTable, affordable, run_batched
from multivalid.batch.certificate import Certificate
from multivalid.batch.control import UNLIMITED, Control
from multivalid.batch.default_levels import LARGEST_TABLE, trivial_error
from multivalid.batch.patches import predict, replay
from multivalid.batch.plan import Plan, label_bound, levels_below
from multivalid.batch.predictor import LevelPredictor
from multivalid.batch.rules import Rule, TheoremRule, worst_error
from multivalid.batch.state import State
from multivalid.cells.sentences import unknown_lines
from multivalid.cells.tabulate import tabulate
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.levels import SIGNIFICANCE
from multivalid.properties import Property
from multivalid.properties.base import Array


@dataclass(frozen=True)
class Fit:
    """Levels of the fitted rows, the patches that lead there, and what is guaranteed."""

    grid: Grid
    levels: NDArray[np.intp] | None
    patches: list[Patch]
    certificate: Certificate

    @property
    def predictor(self) -> LevelPredictor:
        """What the patches make of new rows."""
        return LevelPredictor(self.grid, self.patches)


def fit(
    rows: Rows,
    prop: Property,
    plan: Plan,
    *,
    held: Rows | None = None,
    batched: bool = False,
    control: Control = UNLIMITED,
) -> Fit:
    """Run a plan on rows, one cell at a time or in rounds, and state what it guarantees, also on rows held out."""
    grid = plan.grid
    start = grid.round(rows.predictions)
    table: CellTable
    if batched:
        trace, table, told = _rounds(rows, prop, plan, control)
        levels = replay(trace.patches, start, len(grid), rows.membership)
    else:
        trace, table, row_atom, told = _run(rows.labels, rows.weights, rows.membership, start, prop, grid, plan.rule, control)
        levels = table.level[row_atom]
    certificate = _certify(rows, prop, plan, trace, table, told)
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
    trace, state, row_atom, _ = _run(y, w, groups, start.astype(np.intp), property, grid, rule, Control(max_updates))
    return state.level[row_atom], trace


def _run(
    labels: Array,
    weights: Array,
    membership: Membership,
    start: NDArray[np.intp],
    prop: Property,
    grid: Grid,
    rule: Rule,
    control: Control,
) -> tuple[Trace, State, NDArray[np.intp], Start]:
    answer = response(prop, grid, labels)
    bins, moments = answer.encode(labels)
    table, row_atom = build(membership.by_row(), start, bins, moments * weights[:, None], membership.groups)
    state = State(table, answer, grid, float(weights @ answer.score_constant(labels)))
    told = Start.of_atoms(state, answer)
    return run(state, rule, control), state, row_atom, told


def _rounds(rows: Rows, prop: Property, plan: Plan, control: Control) -> tuple[Trace, Cells, Start]:
    answer = response(prop, plan.grid, rows.labels)
    affordable(plan.grid, answer, rows.membership.groups)
    constant = float(rows.weights @ answer.score_constant(rows.labels))
    first = LabelTable(answer, plan.grid)(rows)
    trace, cells = run_batched(
        first, lambda patches: LabelTable(answer, plan.grid, patches)(rows), answer, plan.grid, plan.rule, constant=constant,
        control=control,
    )  # fmt: skip
    return trace, cells, Start.of_cells(first, answer, plan.grid)


class Start(NamedTuple):
    """Errors before the first update: of the best constant prediction, and of the input."""

    trivial: float | None
    before: float

    @classmethod
    def of_atoms(cls, state: State, answer: Response) -> Start:
        """From the table of atoms, where they stand."""
        table = state.table
        if answer.bins * table.groups * answer.width > LARGEST_TABLE:
            return cls(None, worst_error(state.mass, state.identification))
        by_bin = tabulate(table.bits[table.atom], table.bin, table.sums, answer.bins, table.groups)
        return cls(trivial_error(by_bin, answer, state.total), worst_error(state.mass, state.identification))

    @classmethod
    def of_cells(cls, sums: Array, answer: Response, grid: Grid) -> Start:
        """From the sums of (level, bin, group) of a pass."""
        cells = Cells(sums, answer, grid, 0.0)
        return cls(trivial_error(sums.sum(axis=0), answer, cells.total), worst_error(cells.mass, cells.identification))


class CellTable(Protocol):
    """Mass and ΣwV of every (level, group), as shares of the total weight."""

    mass: Array
    identification: Array


def _certify(rows: Rows, prop: Property, plan: Plan, trace: Trace, state: CellTable, told: Start) -> Certificate:
    best = prop.score(prop.solve_points(rows.labels), rows.labels)
    optimal = float(rows.weights @ best / rows.weights.sum())
    bound = label_bound(prop, plan.grid, rows.labels, rows.weights)
    return certify(plan, trace, state, optimal=optimal, bound=bound, rows=effective_rows(rows.weights), **told._asdict())


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


def effective_rows(weights: Array) -> float:
    """Kish's effective number of rows: how many of equal weight would carry as much information."""
    return float(weights.sum() ** 2 / (weights @ weights))


def with_holdout(certificate: Certificate, rows: Rows, held: Rows, prop: Property, grid: Grid, patches: list[Patch]) -> Certificate:
    """The certificate with the error on rows that were not used."""
    predictions = predict(patches, held.predictions, grid, held.membership)
    return judged(certificate, rows, replace(held, predictions=predictions), prop, grid)


def judged(certificate: Certificate, rows: Rows, held: Rows, prop: Property, grid: Grid) -> Certificate:
    """The certificate with error, debiased error and population bound on held-out rows that carry their final predictions."""
    found = audit_rows(held, prop)
    return judged_by(certificate, found)


def judged_by(certificate: Certificate, found: Audit) -> Certificate:
    """The same from an audit of the held-out rows; the bound is the asymptotic one of `Audit.holdout_bound`."""
    unbiased = float(found.table["debiased"].max())
    told = " ".join(["On held-out rows:", found.verdict, *unknown_lines(found.table, found.coordinates[0].units)])
    return replace(
        certificate, holdout_error=found.error, holdout_debiased=unbiased, holdout_bound=found.holdout_bound[0],
        note=f"{certificate.note} {told}".strip(),
    )  # fmt: skip
