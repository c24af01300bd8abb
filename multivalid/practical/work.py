"""The practical fit of rows in memory: the link, the stage that rows held out confirm, and the predictor that follows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from multivalid.grid import Grid
from multivalid.practical.candidates import Candidate
from multivalid.practical.data import LinkRows, Matching, shuffle
from multivalid.practical.goal import Goal, level_grid
from multivalid.practical.held_out import FEWEST, NOTHING_DONE, choose_stage
from multivalid.practical.link import choose_link
from multivalid.practical.predictor import LinkPredictor
from multivalid.properties.base import Array, Property
from multivalid.sources.memory import MemorySource as Rows


@dataclass(frozen=True)
class Worked:
    """A predictor, its predictions for the rows fitted, the mean score after each step, what to say, whether it was stopped, the ridge,
    the rows with weight as the fit saw them, in random order, and the stage."""

    predictor: LinkPredictor
    final: Array
    potential: list[float]
    note: str
    stopped: bool
    ridge: float
    inner: LinkRows
    chosen: Candidate | None


def work_out(rows: Rows, prop: Property, goal: Goal, *, random_state: int = 0, like: Worked | None = None) -> Worked:
    """The fit itself; `rows` may be in more groups than have names. With `like` the stage is that of a fit of some of the rows."""
    rows.residuals(prop.coordinates[0])  # refuses predictions that are too far out before anything is fitted to them
    used = np.flatnonzero(rows.weights > 0)
    shuffled = shuffle(used, rows.cluster, np.random.default_rng(random_state))
    link = choose_link(prop, rows.labels[shuffled], rows.predictions[shuffled]) if like is None else like.predictor.link
    inner = LinkRows.of(rows, link, shuffled)
    before = mean_score(rows, prop, rows.predictions)
    goal.control.tell(0, float("nan"), before)
    known, said = (None, []) if like is None else (like.chosen, [like.note])
    chosen, report, stopped = choose_stage(inner, rows.predictions[shuffled], Matching(prop, link), goal, before, known)
    model, rounds = (None, []) if chosen is None else (chosen.model, chosen.rounds)
    bare = LinkPredictor(Grid([0.0]), link, model, rounds)
    final = bare.predict(rows.predictions, rows.membership)
    # The levels are those of its own final predictions.
    predictor = replace(bare, grid=level_grid(final, rows.weights, goal.levels, goal.grid))
    moves, after = sum(len(made.shifts) for made in rounds), mean_score(rows, prop, final)
    goal.control.tell(moves, float("nan"), after)
    stopped = stopped or (moves > 0 and not goal.control.room(moves))
    if chosen is None and not stopped and len(inner) >= FEWEST:
        report = [NOTHING_DONE, *report]
    ridge, note = 0.0 if chosen is None else chosen.ridge, "\n".join([*said, *report])
    return Worked(predictor, final, [before, after], note, stopped, ridge, inner, chosen)


def mean_score(rows: Rows, prop: Property, predictions: Array) -> float:
    """Mean score of predictions of these rows."""
    return float(rows.weights @ prop.score(predictions, rows.labels) / rows.weights.sum())
