"""Several columns calibrated under their constraint: restore it, correct the columns, restore it again, and certify what comes out.

Columns that do not share one whole (quantiles) are corrected one by one, each by the fit of a single property, which keeps only what rows
held out confirm. Sorting afterwards lowers the summed pinball loss of every row, whatever its label, so what was confirmed for
each column holds for all of them after the constraint. Columns that share one whole (classes) are fitted together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.batch import theorem
from multivalid.batch.certificate import Certificate
from multivalid.cells.statistics import CellStatistics
from multivalid.grid import Grid
from multivalid.practical import fit as practical
from multivalid.practical.certify import certify
from multivalid.properties.target import Array, Target
from multivalid.several.certificate import SeveralCertificate
from multivalid.several.goal import Goal
from multivalid.several.predictor import ColumnsPredictor
from multivalid.several.work import work_out
from multivalid.sources.memory import MemorySource as Rows


@dataclass(frozen=True)
class SeveralFit:
    """A predictor, the levels of each fitted row (rows, columns), and the certificate."""

    predictor: ColumnsPredictor
    levels: NDArray[np.intp]
    certificate: SeveralCertificate


def fit(rows: Rows, target: Target, goal: Goal, *, held: Rows | None = None) -> SeveralFit:
    """Fit all columns and say what holds of them after the constraint, also on rows held out."""
    start = replace(rows, predictions=target.mend(rows.predictions))
    worked = work_out(start, target, goal)
    predictor = worked.predictor
    final = predictor.predict(rows.predictions, rows.membership)
    grids = tuple(
        goal.grids[k] or practical.level_grid(final[:, k], rows.weights, goal.practical(k).levels) for k in range(final.shape[1])
    )
    predictor = replace(predictor, grids=grids)
    done = replace(rows, predictions=final)
    seen = None if held is None else replace(held, predictions=predictor.predict(held.predictions, held.membership))
    made = []
    for k, coordinate in enumerate(target.coordinates):
        alone, prop, grid = done.column(k), coordinate.predicted, grids[k]
        if goal.mode == "practical":
            steps = [_mean(rows, prop.score(values[:, k], rows.labels)) for values in (start.predictions, final)]
            said = worked.notes[k] if worked.notes else ""
            moves = len(predictor.parts[k].patches) if predictor.parts else 0
            one = certify(alone, prop, grid, moves, steps, alpha=goal.alpha[k], stopped=worked.stopped, note=said)
        else:
            one = _after(worked.stated[k], alone, prop, grid)
        made.append(one if seen is None else theorem.judged(one, seen.column(k), prop))
    certificate = SeveralCertificate.of(
        mode=goal.mode,
        keys=target.keys,
        parts=tuple(made),
        potential=_losses(target, start, final),
        holdout_loss=None if held is None or seen is None else _losses(target, _mended(held, target), seen.predictions),
        broken=int(np.count_nonzero(target.breaks(rows.predictions))),
        note=worked.note,
    )
    levels = np.stack([grid.round(column) for grid, column in zip(grids, final.T, strict=True)], axis=1)
    return SeveralFit(predictor, levels, certificate)


def _after(stated: Certificate, rows: Rows, prop: Any, grid: Grid) -> Certificate:
    """The certificate of one column's loop, with the error measured after the constraint, which the theorem does not speak of."""
    error = float(CellStatistics.of(rows.cells(prop, [grid])[0]).errors.max())
    kept = error <= stated.alpha
    note = f"Before the constraint was restored the error was {stated.error:.3g}, after it {error:.3g}."
    status = stated.status if kept or stated.status != "converged" else "uncalibrated"
    return replace(stated, error=error, status=status, sample_bound=None, note="\n".join(filter(None, [stated.note, note])))


def _mended(rows: Rows, target: Target) -> Rows:
    return replace(rows, predictions=target.mend(rows.predictions))


def _losses(target: Target, before: Rows, after: Array) -> Array:
    """Mean loss of the predictions given, their constraint restored, and of those handed out."""
    return np.array([_mean(before, target.losses(values, before.labels)) for values in (before.predictions, after)])


def _mean(rows: Rows, values: Array) -> float:
    return float(rows.weights @ values / rows.weights.sum())
