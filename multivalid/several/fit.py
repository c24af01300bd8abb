"""Several columns calibrated under their constraint: restore it, correct the columns, restore it again, and certify what comes out.

Columns that do not share one whole (quantiles) are corrected one by one, each by the fit of a single property, which keeps only what rows
held out confirm. Sorting afterwards lowers the summed pinball loss of every row, whatever its label, so what was confirmed for
each column holds for all of them after the constraint. Columns that share one whole (classes) are fitted together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from multivalid.audit.audit import audit_source
from multivalid.batch.statement import add_holdout, test_when_read
from multivalid.practical.certify import certify
from multivalid.practical.goal import level_grid
from multivalid.properties.target import Array, Target
from multivalid.several.by_theorem import after_constraint
from multivalid.several.certificate import SeveralCertificate
from multivalid.several.goal import Goal
from multivalid.several.predictor import ColumnsPredictor
from multivalid.several.work import work_out
from multivalid.sources.memory import MemorySource as Rows


@dataclass(frozen=True)
class SeveralFit:
    """A predictor, the levels of each fitted row (rows, columns), and a call that works out the certificate."""

    predictor: ColumnsPredictor
    levels: NDArray[np.intp]
    stated: Callable[[], SeveralCertificate]

    def certified(self, first: str) -> SeveralCertificate:
        """What is guaranteed, its note behind what is to be said first."""
        made = self.stated()
        return replace(made, note="\n".join(filter(None, [first, made.note])))


def fit(rows: Rows, target: Target, goal: Goal, *, held: Rows | None = None) -> SeveralFit:
    """Fit all columns and say what holds of them after the constraint, also on rows held out."""
    start = _mended(rows, target)
    worked = work_out(start, target, goal)
    final = worked.predictor.predict(rows.predictions, rows.membership)
    grids = tuple(level_grid(final[:, k], rows.weights, goal.practical(k).levels, goal.grids[k]) for k in range(final.shape[1]))
    predictor = replace(worked.predictor, grids=grids)
    # What the caller may change before anybody asks for the certificate is copied.
    start, broken = start.detached(), int(np.count_nonzero(target.breaks(rows.predictions)))
    given = None if held is None else _mended(held, target).detached()
    seen = (
        None if given is None or held is None else replace(given, predictions=predictor.predict(held.predictions, held.membership))
    )

    def stated() -> SeveralCertificate:
        parts = []
        for k, coordinate in enumerate(target.coordinates):
            alone, prop, grid = replace(start, predictions=final).column(k), coordinate.predicted, grids[k]
            if goal.mode == "practical":
                steps = [_mean(start, prop.score(values[:, k], start.labels)) for values in (start.predictions, final)]
                said = worked.notes[k] if worked.notes else ""
                moves = len(predictor.parts[k].patches) if predictor.parts else 0
                one = certify(alone, prop, grid, moves, steps, alpha=goal.alpha[k], stopped=worked.stopped, note=said)
            else:
                one = after_constraint(worked.stated[k], alone, prop, grid)
                if seen is None:
                    one = test_when_read(one, partial(audit_source, alone, prop, grid, beyond=True, values=False))()
            parts.append(one if seen is None else add_holdout(one, seen.column(k), prop))
        return SeveralCertificate.of(
            mode=goal.mode,
            keys=target.keys,
            parts=tuple(parts),
            potential=_losses(target, start, final),
            holdout_loss=None if given is None or seen is None else _losses(target, given, seen.predictions),
            broken=broken,
            note=worked.note,
        )

    levels = np.stack([grid.round(column) for grid, column in zip(grids, final.T, strict=True)], axis=1)
    return SeveralFit(predictor, levels, stated)


def _mended(rows: Rows, target: Target) -> Rows:
    return replace(rows, predictions=target.mend(rows.predictions))


def _losses(target: Target, before: Rows, after: Array) -> Array:
    """Mean loss of the predictions given, their constraint restored, and of those handed out."""
    return np.array([_mean(before, target.losses(values, before.labels)) for values in (before.predictions, after)])


def _mean(rows: Rows, values: Array) -> float:
    return float(rows.weights @ values / rows.weights.sum())
