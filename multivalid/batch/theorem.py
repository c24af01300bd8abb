"""Algorithm 1 with its guarantee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.audit.audit import Audit, audit_source
from multivalid.batch.certificate import Certificate
from multivalid.batch.control import UNLIMITED, Control
from multivalid.batch.default_levels import enough_levels
from multivalid.batch.measured import Measured, measure
from multivalid.batch.plan import Plan, Wish, facts_of, settle, slope, wished_grid
from multivalid.batch.predictor import LevelPredictor
from multivalid.batch.statement import add_holdout_audit, certify, test_when_read
from multivalid.properties import Property
from multivalid.sources.open import Source


@dataclass(frozen=True)
class Fit:
    """Levels and the patches between them, where the fitted rows end (None where rows are not seen), and what is guaranteed: by the run
    alone, and with the verdict of rows held out, or of the rows fitted where there are none."""

    predictor: LevelPredictor
    levels: NDArray[np.intp] | None
    certificate: Certificate
    stated: Callable[[], Certificate]
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
    plan, measured = _settle(source, prop, wish.checked(), batched)
    done = measured.run(plan.rule, control)
    bound = max(facts_of(source, prop).bound, source.largest_residual(prop, plan.grid))
    optimal = measured.best / source.totals.weight
    certificate = certify(
        plan, done.trace, done.cells, optimal=optimal, bound=bound, rows=source.totals.effective, **done.start._asdict()
    )
    predictor = LevelPredictor(plan.grid, done.trace.patches)
    if held is not None:
        found = audit_source(held.predicted_by(predictor, beside=True), prop, values=False)
        return Fit(predictor, done.levels, certificate, lambda: add_holdout_audit(certificate, found), found)
    fitted = source.detached()
    stated = test_when_read(
        certificate, lambda: audit_source(fitted.predicted_by(predictor), prop, plan.grid, beyond=True, values=False)
    )
    if done.levels is None:
        stated()  # now: an engine may be closed by the time somebody asks
    return Fit(predictor, done.levels, certificate, stated)


def _settle(source: Source, prop: Property, wish: Wish, batched: bool) -> tuple[Plan, Measured]:
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
