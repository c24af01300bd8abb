"""Algorithm 1 on rows that stay where they are: the engine makes the atoms, the loop never knows the difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from multivalid import validate
from multivalid.atoms.lazy import LazyRows
from multivalid.atoms.partitions import fold
from multivalid.atoms.probe import largest_identification
from multivalid.atoms.response import Piecewise, response
from multivalid.atoms.select import Rows
from multivalid.atoms.table import totals
from multivalid.audit.audit import LEVELS
from multivalid.audit.lazy import audit_lazy
from multivalid.batch import theorem
from multivalid.batch.algorithm import Patch, Trace, run
from multivalid.batch.batched import LabelTable, affordable, run_batched
from multivalid.batch.certificate import Certificate
from multivalid.batch.control import Control
from multivalid.batch.default_levels import enough_levels, trivial_error
from multivalid.batch.plan import Plan, label_facts, make_plan, settle, slope
from multivalid.batch.predictor import LevelPredictor
from multivalid.batch.state import State
from multivalid.cells.tabulate import tabulate
from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.properties import Property
from multivalid.properties.base import Array
from multivalid.sources.engine import EngineValues

Settled = Callable[[Array], Plan]


def fit_lazy(
    rows: LazyRows,
    prop: Property,
    *,
    mode: str,
    grid: Grid | None,
    m: int | None,
    alpha: float | None,
    lipschitz: float | None,
    held: LazyRows | None,
    batched: bool,
    control: Control,
) -> theorem.Fit:
    """Levels, atoms (or passes over the rows, if `batched`), plan, run, certificate: the same patches as on the collected rows."""
    ends = _ends(rows)
    facts = label_facts(prop, ends.labels)
    known = facts.lipschitz if lipschitz is None else validate.positive(lipschitz, "lipschitz")
    alpha = None if alpha is None else validate.positive(alpha, "alpha")
    if isinstance(grid, Grid):
        rows.check(grid)
    if mode == "theorem" and grid is None and m is None and alpha is None:
        m = _chosen_levels(rows, prop, known, batched)
    # Where L is not known yet, any L settles the levels; the steepest rise of the population's V then takes its place.
    draft = make_plan(ends, prop, mode=mode, grid=grid, m=m, alpha=None if known is None else alpha, lipschitz=known or 1.0)
    answer = response(prop, draft.grid, ends.labels)
    assert isinstance(answer, Piecewise)

    def settled(by_bin: Array) -> Plan:
        """The plan, once Σw·t_k(y) of all rows is known for every label bin."""
        if known is not None:
            return draft
        steep = slope(answer.on_grid(by_bin)[0] / by_bin[:, 0].sum(), draft.grid, facts)
        return settle(mode, draft.grid, steep, alpha)

    run_on = _in_rounds if batched else _one_by_one
    trace, table, best, plan, told = run_on(rows, prop, draft, answer, settled, control)
    bound = max(facts.bound, largest_identification([rows], prop, plan.grid))
    optimal = best / rows.totals.weight
    certificate = theorem.certify(plan, trace, table, optimal=optimal, bound=bound, rows=rows.totals.effective, **told._asdict())
    if held is not None:
        after = held.predicting(LevelPredictor(plan.grid, trace.patches).on_frame(held.frame, held.groups))
        # Predictions are levels of the grid: where these are few, those that occur are what would be chosen, after more passes.
        occurring = EngineValues(after).distinct(LEVELS.few) if len(plan.grid) <= LEVELS.few else None
        certificate = judge(certificate, after, prop, None if occurring is None else Grid(occurring))
    return theorem.Fit(plan.grid, None, trace.patches, certificate)


def _chosen_levels(rows: LazyRows, prop: Property, known: float | None, batched: bool) -> int:
    """How many levels promise less than a constant prediction has, from sums over (label bin × group)."""
    ends, found = _ends(rows), {}
    facts = label_facts(prop, ends.labels)

    def draft(m: int | None) -> Plan:
        plan = make_plan(ends, prop, mode="theorem", grid=None, m=m, alpha=None, lipschitz=known or 1.0)
        answer = response(prop, plan.grid, ends.labels)
        assert isinstance(answer, Piecewise)
        if batched:
            affordable(plan.grid, answer, len(rows.groups))
            sums = fold(rows.frame, rows.groups, LabelTable(answer, plan.grid)).sum(axis=0)
        else:
            table = rows.atoms(prop, plan.grid, answer)[0]
            sums = tabulate(table.bits[table.atom], table.bin, table.sums, answer.bins, table.groups)
        found[len(plan.grid)] = trivial_error(sums, answer, rows.totals.weight)
        if known is not None:
            return plan
        steep = slope(answer.on_grid(sums[:, 0])[0] / sums[:, 0, 0].sum(), plan.grid, facts)
        return settle("theorem", plan.grid, steep, None)

    return len(enough_levels(draft, lambda plan: found[len(plan.grid)]).grid)


def _one_by_one(
    rows: LazyRows, prop: Property, draft: Plan, answer: Piecewise, settled: Settled, control: Control
) -> tuple[Trace, theorem.CellTable, float, Plan, theorem.Start]:
    table, constant, best = rows.atoms(prop, draft.grid, answer)
    plan = settled(np.stack([totals(table.bin, column, answer.bins) for column in table.sums.T], axis=1))
    state = State(table, answer, plan.grid, constant)
    told = theorem.Start.of_atoms(state, answer)
    return run(state, plan.rule, control), state, best, plan, told


def _in_rounds(
    rows: LazyRows, prop: Property, draft: Plan, answer: Piecewise, settled: Settled, control: Control
) -> tuple[Trace, theorem.CellTable, float, Plan, theorem.Start]:
    """No atoms are made: every round is a pass over the rows, which replays the patches so far."""
    affordable(draft.grid, answer, len(rows.groups))

    def measure(patches: Sequence[Patch]) -> Array:
        return fold(rows.frame, rows.groups, LabelTable(answer, draft.grid, patches))

    constant, best = rows.score_sums(prop, answer)
    first = measure(())
    plan = settled(first[:, :, 0].sum(axis=0))
    trace, cells = run_batched(first, measure, answer, plan.grid, plan.rule, constant=constant, control=control)
    return trace, cells, best, plan, theorem.Start.of_cells(first, answer, plan.grid)


def judge(certificate: Certificate, held: LazyRows, prop: Property, grid: Grid | None = None) -> Certificate:
    """The certificate with the error on held-out rows that carry their final predictions; `grid` has the levels where they are known."""
    return theorem.judged_by(certificate, audit_lazy(held, prop, grid, values=False))


def _ends(*parts: LazyRows) -> Rows:
    """Two rows that reach as far as all of them: enough to settle levels."""
    labels = np.array([min(p.totals.used_least for p in parts), max(p.totals.used_most for p in parts)])
    predictions = np.array([parts[0].totals.lowest, parts[0].totals.highest])
    members = Membership.from_masks([np.ones(2, dtype=bool)], 2)
    return Rows(labels, predictions, np.ones(2), parts[0].groups, members, None)
