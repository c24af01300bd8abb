"""Which stage rows held out confirm: once on a fifth of many rows, else on every fold in turn; clusters stay whole."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from multivalid.batch.control import INTERRUPTED
from multivalid.practical import accept
from multivalid.practical.candidates import Candidate, fit_candidates, up_to
from multivalid.practical.data import LinkRows, Matching, unit_numbers
from multivalid.practical.goal import Goal
from multivalid.properties.base import Array
from multivalid.sources.totals import are_events

NOTHING_DONE = "No correction held up on rows held out: nothing done."
ONE_SPLIT = 20_000  # with at least this many rows one held-out fifth decides; with fewer all five folds do
FOLDS = 5
FEW_CLUSTERS = f"Nothing done: with fewer than {FOLDS} clusters none can be held out."
DECIDING = 320_000  # rows on which stages are fitted to choose among them; the one chosen is fitted on all
FEWEST = 100  # rows below which no held-out comparison can tell anything


def choose_stage(
    rows: LinkRows, base: Array, loss: Matching, goal: Goal, score: float, like: Candidate | None = None
) -> tuple[Candidate | None, list[str], bool]:
    """The accepted stage fitted on all rows (None when the input was as good), what each gained, and whether Ctrl-C came.

    `score`: the mean score of the input, which the user is told as the fit goes on; `like`: a stage that was accepted on some of the rows.
    """
    if rows.cluster is not None and unit_numbers(len(rows), rows.cluster)[-1] + 1 < FOLDS:
        return None, [FEW_CLUSTERS], False
    if len(rows) < FEWEST:
        return None, [f"Nothing done: {len(rows)} rows are too few to hold any out; at least {FEWEST} are needed."], False
    kept = like
    report: list[str] = []
    try:
        if kept is not None:
            return kept.on_more_rows(rows, loss, goal), report, False
        parts, candidates = [], list[Candidate]()
        binary = are_events(rows.labels, base)
        for out, testing, fitting in _splits(rows):
            candidates = fit_candidates(fitting, loss, goal)
            parts.append(accept.held_out(base[out], testing, candidates, loss, binary=binary))
            goal.control.tell(0, float("nan"), score)
        best, report = accept.choose(parts, goal.needed_rows, "rows" if rows.cluster is None else "clusters")
        if best is None:
            return None, report, False
        if len(parts) > 1:
            return up_to(best, fit_candidates(rows, loss, goal)), report, False
        kept = up_to(best, candidates)
        return kept.on_more_rows(rows, loss, goal), report, False
    except KeyboardInterrupt:
        if not goal.control.keep_interrupted:
            raise
        # What held-out rows have confirmed by now, even if it was fitted on four fifths of the rows.
        return kept, [*report, INTERRUPTED + (" Not refitted on all rows." if kept else " Nothing done.")], True


def _splits(rows: LinkRows) -> Iterator[tuple[NDArray[np.intp], LinkRows, LinkRows]]:
    """Which rows are held out, those rows, and the others: once where rows are many, else every fold in turn; whole clusters."""
    everyone = np.arange(len(rows))
    if rows.cluster is not None:
        unit = unit_numbers(len(rows), rows.cluster)
        held = unit * FOLDS // (unit[-1] + 1)
        for k in range(1 if len(rows) >= ONE_SPLIT else FOLDS):
            yield everyone[held == k], rows.take(everyone[held == k]), rows.take(everyone[held != k][:DECIDING])
        return
    if len(rows) >= ONE_SPLIT:
        cut = len(rows) // FOLDS // 64 * 64
        yield everyone[:cut], rows.part(0, cut), rows.part(cut, min(cut + DECIDING, len(rows)))
        return
    for fold in np.array_split(everyone, FOLDS):
        yield fold, rows.take(fold), rows.take(np.setdiff1d(everyone, fold, assume_unique=True))
