"""Several columns calibrated under their constraint: restore it, correct the columns, restore it again, and certify what comes out.

Columns that do not share one whole (quantiles) are corrected one by one, each by the fit of a single property, which keeps only what rows
held out confirm. Sorting afterwards lowers the summed pinball loss of every row, whatever its label, so what was confirmed for
each column holds for all of them after the constraint. Columns that share one whole (classes) are fitted together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.batch import theorem
from multivalid.batch.certificate import Certificate
from multivalid.batch.control import INTERRUPTED, Control
from multivalid.batch.plan import Wish
from multivalid.batch.predictor import Predictor
from multivalid.cells.statistics import CellStatistics
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.levels import given_grids
from multivalid.practical import fit as practical
from multivalid.practical.certify import certify
from multivalid.properties.base import Array
from multivalid.properties.target import Target
from multivalid.several.certificate import SeveralCertificate
from multivalid.several.predictor import ColumnsPredictor
from multivalid.several.with_trees import with_trees, without_patches
from multivalid.sources.memory import MemorySource as Rows

MANY_ROWS = 50_000  # from here on trees of columns fitted one by one are not grown again: little to gain, and slow


@dataclass(frozen=True)
class Goal:
    """What the user fixed; grid, m, alpha and lipschitz have one value per column."""

    mode: str
    grids: Sequence[Grid | None]
    m: Sequence[Any]
    alpha: Sequence[Any]
    lipschitz: Sequence[Any]
    control: Control
    seed: int
    interrupted: bool = False  # Ctrl-C came before the fit began

    @classmethod
    def of(cls, target: Target, mode: str, grid: Any, m: Any, alpha: Any, lipschitz: Any, control: Control, seed: int) -> Goal:
        """Every option for every column: one value for all, or one each."""
        width = len(target.coordinates)
        grids = given_grids(grid, width) or [None] * width
        count, error, steep = (each(value, width, name) for value, name in ((m, "m"), (alpha, "alpha"), (lipschitz, "lipschitz")))
        return cls(mode, grids, count, error, steep, control, seed)

    def practical(self, k: int) -> practical.Goal:
        """What is asked of one column; an interruption ends the fit of all."""
        return practical.Goal(self.m[k], self.grids[k], self.alpha[k], replace(self.control, keep_interrupted=False))


@dataclass(frozen=True)
class SeveralFit:
    """A predictor, the levels of each fitted row (rows, columns), and the certificate."""

    predictor: ColumnsPredictor
    levels: NDArray[np.intp]
    certificate: SeveralCertificate


def each(value: Any, width: int, name: str) -> list[Any]:
    """One value per column.

    Examples
    --------
    >>> each(20, 3, "m"), each([5, 10], 2, "m")
    ([20, 20, 20], [5, 10])
    """
    if not isinstance(value, (list, tuple)):
        return [value] * width
    if len(value) != width:
        raise InputError(f"{name} must be one value, or {width} of them, one per column, got {value!r}.")
    return list(value)


def fit(rows: Rows, target: Target, goal: Goal, *, held: Rows | None = None) -> SeveralFit:
    """Fit all columns and say what holds of them after the constraint, also on rows held out."""
    start = replace(rows, predictions=target.mend(rows.predictions))
    worked = _work_out(start, target, goal)
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
    certificate = SeveralCertificate(
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


@dataclass(frozen=True)
class _Worked:
    """A predictor; certificates or notes of each column before the last constraint; what to say of all; whether Ctrl-C came."""

    predictor: ColumnsPredictor
    stated: Sequence[Certificate] = ()
    notes: Sequence[str] = ()
    note: str = ""
    stopped: bool = False


def _work_out(rows: Rows, target: Target, goal: Goal) -> _Worked:
    """The fit itself; `rows` keep the constraint."""
    untouched = ColumnsPredictor(target, (Grid([0.0]),) * len(target.coordinates), [])
    try:
        if goal.interrupted:
            raise KeyboardInterrupt
        if goal.mode != "practical":
            parts, stated = _by_theorem(rows, target, goal)
            return _Worked(replace(untouched, parts=parts), stated)
        return _together(rows, target, goal, untouched) if target.coupled else _one_by_one(rows, target, goal, untouched)
    except KeyboardInterrupt:
        if not goal.control.keep_interrupted or goal.mode != "practical":
            raise
        return _Worked(untouched, note=f"{INTERRUPTED} Only the constraint was restored.", stopped=True)


def _together(rows: Rows, target: Target, goal: Goal, untouched: ColumnsPredictor) -> _Worked:
    """All columns at once, as shares of one whole."""
    from multivalid.several import classes_fit  # with parts of SciPy that take their time to load, and that nothing else needs

    tried = classes_fit.fit(rows, target, goal.seed)
    if isinstance(tried, str):
        return _Worked(untouched, note=tried)
    ground, rival = replace(untouched, together=tried.untouched), replace(untouched, together=tried.kept)
    grown, said = with_trees(rows, target, ground, rival, goal.seed, anew=True)
    predictor = grown if grown is not None else replace(untouched, together=tried.on_all_rows())
    return _Worked(predictor, note="\n".join(filter(None, [tried.report, said])))


def _one_by_one(rows: Rows, target: Target, goal: Goal, untouched: ColumnsPredictor) -> _Worked:
    """Each column by the fit of a single property."""
    fits = [
        practical.work_out(rows.column(k), one.predicted, goal.practical(k), random_state=goal.seed)
        for k, one in enumerate(target.coordinates)
    ]
    alone = replace(untouched, parts=[one.predictor for one in fits])
    grown, said = with_trees(rows, target, without_patches(alone), alone, goal.seed, anew=len(rows) < MANY_ROWS)
    return _Worked(alone if grown is None else grown, notes=[one.note for one in fits], note=said)


def _by_theorem(rows: Rows, target: Target, goal: Goal) -> tuple[list[Predictor], list[Certificate]]:
    """The loop of the theorem on each column by itself."""
    parts: list[Predictor] = []
    stated: list[Certificate] = []
    for k, coordinate in enumerate(target.coordinates):
        alone, prop = rows.column(k), coordinate.predicted
        wish = Wish(goal.mode, goal.grids[k], goal.m[k], goal.alpha[k], goal.lipschitz[k])
        made = theorem.fit(alone, prop, wish, control=goal.control)
        parts.append(made.predictor)
        stated.append(made.certificate)
    return parts, stated


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
