"""What corrects several columns, before it is judged: one by one or together, then trees over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from multivalid.batch.certificate import Certificate
from multivalid.batch.control import INTERRUPTED
from multivalid.grid import Grid
from multivalid.practical import work as practical
from multivalid.practical.held_out import ONE_SPLIT
from multivalid.properties.target import Target
from multivalid.several.by_theorem import fit_each
from multivalid.several.goal import Goal
from multivalid.several.predictor import ColumnsPredictor
from multivalid.several.with_trees import NOTHING_GAINED, improve, with_trees, without_patches
from multivalid.sources.memory import MemorySource as Rows


@dataclass(frozen=True)
class Worked:
    """A predictor; certificates or notes of each column before the last constraint; what to say of all; whether Ctrl-C came."""

    predictor: ColumnsPredictor
    stated: Sequence[Certificate] = ()
    notes: Sequence[str] = ()
    note: str = ""
    stopped: bool = False


def work_out(rows: Rows, target: Target, goal: Goal) -> Worked:
    """The fit itself; `rows` keep the constraint."""
    untouched = ColumnsPredictor(target, (Grid([0.0]),) * len(target.coordinates), [])
    try:
        if goal.interrupted:
            raise KeyboardInterrupt
        if goal.mode != "practical":
            parts, stated = fit_each(rows, target, goal)
            return Worked(replace(untouched, parts=parts), stated)
        return _together(rows, target, goal, untouched) if target.coupled else _one_by_one(rows, target, goal, untouched)
    except KeyboardInterrupt:
        if not goal.control.keep_interrupted or goal.mode != "practical":
            raise
        return Worked(untouched, note=f"{INTERRUPTED} Only the constraint was restored.", stopped=True)


def _together(rows: Rows, target: Target, goal: Goal, untouched: ColumnsPredictor) -> Worked:
    """All columns at once, as shares of one whole."""
    from multivalid.several import classes_fit  # which nothing else needs

    tried = classes_fit.fit(rows, target, goal.seed)
    if isinstance(tried, str):
        return Worked(untouched, note=tried)
    ground, rival = replace(untouched, together=tried.untouched), replace(untouched, together=tried.kept)
    # Trees do best where they stand on the input alone, and take long there: first a look whether any improve on what is kept.
    if tried.exact:
        grown, said = None, "Trees over groups and all columns: next to nothing is left to gain on held-out rows, not tried."
    elif tried.kept is None or improve(rows, target, rival, goal.seed):
        grown, said = with_trees(rows, target, ground, rival, goal.seed, anew=len(rows) < ONE_SPLIT)
    else:
        grown, said = None, NOTHING_GAINED
    model = tried.on_all_rows()
    if grown is None or grown.mixture is None:
        predictor = replace(untouched, together=model)
    else:
        together = grown.mixture.under_trees(tried.untouched if model is None else model)
        predictor = replace(untouched, together=together, trees=grown.trees.times(grown.mixture.share))
    return Worked(predictor, note="\n".join(filter(None, [tried.report, said])))


def _one_by_one(rows: Rows, target: Target, goal: Goal, untouched: ColumnsPredictor) -> Worked:
    """Each column by the fit of a single property."""
    fits = [
        practical.work_out(rows.column(k), one.predicted, goal.practical(k), random_state=goal.seed)
        for k, one in enumerate(target.coordinates)
    ]
    alone = replace(untouched, parts=[one.predictor for one in fits])
    ground = without_patches(alone)
    grown, said = with_trees(rows, target, ground, alone, goal.seed, anew=len(rows) < ONE_SPLIT)
    predictor = alone if grown is None else replace(ground, trees=grown.trees)
    return Worked(predictor, notes=[one.note for one in fits], note=said)
