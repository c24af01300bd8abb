"""The practical fit, wherever rows live, and its certificate.

Settings were chosen by the experiment in benchmarks/decisions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from multivalid.audit.audit import Audit, audit_source
from multivalid.batch.certificate import Certificate
from multivalid.batch.statement import add_holdout_audit
from multivalid.practical.all_rows import moves_whole, refit
from multivalid.practical.certify import certify
from multivalid.practical.goal import Goal, level_grid
from multivalid.practical.predictor import LinkPredictor
from multivalid.practical.work import Worked, mean_score, work_out
from multivalid.properties.base import Property
from multivalid.sources.memory import MemorySource as Rows
from multivalid.sources.open import Source

SAMPLE = 1_000_000  # rows of an engine that come to the driver; all of them where there are no more
MANY = 4  # times as many are copied rows of which half of the sample will do, where all of them move all that is fitted on it


@dataclass(frozen=True)
class PracticalFit:
    """A predictor, and calls that work out the final level of each fitted row (None where rows are not seen) and the certificate."""

    predictor: LinkPredictor
    levels: Callable[[], NDArray[np.intp]] | None
    stated: Callable[[], Certificate]
    judged: Audit | None = None  # the audit of the rows held out

    @cached_property
    def certificate(self) -> Certificate:
        """What is guaranteed."""
        return self.stated()


def fit(
    source: Source,
    prop: Property,
    goal: Goal,
    *,
    held: Source | None = None,
    random_state: int = 0,
) -> PracticalFit:
    """Fit the practical mode and say what it guarantees, also on rows held out; on a sample where rows are in an engine and many."""
    if goal.grid is not None:
        source.check(goal.grid)
    halved = source.copied and len(source) > MANY * SAMPLE
    rows, at_random = source.sample(SAMPLE // 2 if halved else SAMPLE, random_state)
    done, note = work_out(rows, prop, goal, random_state=random_state), ""
    if halved and not (done.stopped or moves_whole(done)):
        rows, at_random = source.sample(SAMPLE, random_state)
        done = work_out(rows, prop, goal, random_state=random_state, like=done)
    if len(rows) < len(source):
        done, note = _on_all_rows(source, rows, prop, goal, done, at_random)
    predictor, grid = done.predictor, done.predictor.grid
    fitted = replace(rows.detached(), predictions=done.final)  # what the caller does to his arrays does not change the certificate
    if note and held is None:
        reached = audit_source(source.predicted_by(predictor), prop, grid, beyond=True, values=False).error
        note += f" Worst group error on all of them {reached:.3g}."
    found = None if held is None else audit_source(held.predicted_by(predictor, beside=True), prop, values=False)

    def stated() -> Certificate:
        certificate = certify(
            fitted, prop, grid, len(predictor.patches), done.potential, alpha=goal.alpha, stopped=done.stopped,
            note=f"{note}\n{done.note}".strip(),
        )  # fmt: skip
        return certificate if found is None else add_holdout_audit(certificate, found)

    return PracticalFit(predictor, (lambda: grid.round(done.final)) if rows is source else None, stated, found)


def _on_all_rows(source: Source, rows: Rows, prop: Property, goal: Goal, done: Worked, at_random: bool) -> tuple[Worked, str]:
    """What was fitted on a sample of the rows, moved to where all of them put it, and a sentence that says which it is."""
    sample = f"{'a random sample of' if at_random else 'the first'} {len(rows):,} of {len(source):,} rows"
    model = None if done.stopped else refit(source, done, prop, float(rows.weights[rows.weights > 0].mean()))
    if model is None:
        return done, f"Fitted on {sample}."
    predictor = replace(done.predictor, model=model)
    final = predictor.predict(rows.predictions, rows.membership)
    scores = [*done.potential[:-1], mean_score(rows, prop, final)]
    if scores[0] - scores[-1] < (scores[0] - done.potential[-1]) / 2:
        return done, f"Fitted on {sample}; a step towards all of them would have lost half of what was gained."
    grid = level_grid(final, rows.weights, goal.levels, goal.grid)
    moved = replace(done, predictor=replace(predictor, grid=grid), final=final, potential=scores)
    return moved, (
        f"The curve and the shifts of all groups were fitted on all {len(source):,} rows by one pass of sums; what shape they have was "
        f"chosen, and what is said of the rows fitted was measured, on {sample}."
    )
