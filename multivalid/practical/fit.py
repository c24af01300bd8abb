"""The practical fit: stages, the guard, the held-out comparison, and the certificate.

Settings were chosen by the experiment in benchmarks/decisions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.atoms.select import Rows
from multivalid.audit.statistics import CellStatistics
from multivalid.batch.algorithm import Blocked, Progress
from multivalid.batch.certificate import Certificate
from multivalid.batch.plan import label_facts
from multivalid.batch.theorem import judged
from multivalid.grid import Grid
from multivalid.practical import accept, newton, start
from multivalid.practical.accept import Candidate
from multivalid.practical.data import LinkRows, Matching
from multivalid.practical.link import Link, choose_link
from multivalid.practical.predictor import LinkPredictor
from multivalid.practical.shifts import ShiftRound, shift_round
from multivalid.practical.start import chance_limit
from multivalid.properties import Property
from multivalid.properties.base import Array

LEVELS = 20
ROUNDS = 3
ONE_SPLIT = 20_000  # with at least this many rows one held-out fifth decides; with fewer all five folds do
FOLDS = 5


@dataclass(frozen=True)
class PracticalFit:
    """A predictor, the final level of each fitted row, and the certificate."""

    predictor: LinkPredictor
    levels: NDArray[np.intp]
    certificate: Certificate


class Goal:
    """What the user fixed."""

    def __init__(self, m: int | None, grid: Grid | None, alpha: float | None, max_updates: int | None) -> None:
        self.levels = LEVELS if m is None else validate.count(m, "m")
        self.grid = grid
        self.alpha = None if alpha is None else validate.positive(alpha, "alpha")
        self.max_updates = max_updates


def fit(
    rows: Rows,
    prop: Property,
    goal: Goal,
    *,
    held: Rows | None = None,
    progress: Progress | None = None,
    random_state: int = 0,
) -> PracticalFit:
    """Fit the practical mode on rows and say what it guarantees, also on rows held out."""
    used = np.flatnonzero(rows.weights > 0)
    shuffled = np.random.default_rng(random_state).permutation(used)
    link = choose_link(rows.labels[used], rows.predictions[used])
    weights = rows.weights[shuffled] / rows.weights[used].mean()
    inner = LinkRows(rows.labels[shuffled], weights, link.forward(rows.predictions[shuffled]), rows.membership.take(shuffled))
    loss = Matching(prop, link)
    trace = _Trace(rows, prop, progress)
    chosen, report = _choose(inner, rows.predictions[shuffled], loss, goal, trace)
    predictor = _predictor(chosen, link, rows, goal)
    final = predictor.predict(rows.predictions, rows.membership)
    trace.add(final, len(predictor.patches))
    certificate = _certify(replace(rows, predictions=final), prop, predictor, goal, trace, chosen is None, report)
    if held is not None:
        seen = replace(held, predictions=predictor.predict(held.predictions, held.membership))
        certificate = judged(certificate, rows, seen, prop, predictor.grid)
    return PracticalFit(predictor, predictor.grid.round(final), certificate)


def _choose(rows: LinkRows, base: Array, loss: Matching, goal: Goal, trace: _Trace) -> tuple[Candidate | None, list[str]]:
    """The accepted stage, fitted on all rows; None when the input was as good."""
    splits = _splits(len(rows))
    parts, candidates = [], []
    for fitting, testing in splits:
        candidates = _candidates(rows.take(fitting), loss, goal)
        parts.append(accept.gains(base[testing], rows.take(testing), candidates, loss))
        trace.tell()
    best, report = accept.choose(parts)
    if best is None:
        return None, report
    if len(splits) > 1:
        kept = _up_to(best, _candidates(rows, loss, goal))
        return kept, report
    kept = _up_to(best, candidates)
    model = newton.fit(kept.model, rows, loss, kept.ridge, warm=True).model
    shifts = _rounds(Candidate(best, model, kept.ridge).eta(rows), rows, loss, goal) if best == "patches" else []
    return Candidate(best, model, kept.ridge, shifts), report


def _splits(rows: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    everyone = np.arange(rows)
    if rows < FOLDS:  # too few to hold any out: judged on themselves, with five or fewer rows nothing is ever significant
        return [(everyone, everyone)]
    folds = np.array_split(everyone, FOLDS)
    use = folds[:1] if rows >= ONE_SPLIT else folds
    return [(np.setdiff1d(everyone, fold, assume_unique=True), fold) for fold in use]


def _candidates(rows: LinkRows, loss: Matching, goal: Goal) -> list[Candidate]:
    found = start.stages(rows, loss)
    last = found[-1].fitted
    out = [Candidate(stage.name, stage.fitted.model, last.ridge) for stage in found]
    rounds = _rounds(last.eta, rows, loss, goal)
    return [*out, Candidate("patches", last.model, last.ridge, rounds)] if rounds else out


def _up_to(name: str, candidates: list[Candidate]) -> Candidate:
    limit = accept.ORDER.index(name)
    return [c for c in candidates if accept.ORDER.index(c.name) <= limit][-1]


def _rounds(eta: Array, rows: LinkRows, loss: Matching, goal: Goal) -> list[ShiftRound]:
    """Rounds of shifts until one makes none."""
    rounds: list[ShiftRound] = []
    left = goal.max_updates
    for _ in range(ROUNDS):
        made = shift_round(eta, rows, loss, _edges(eta, rows, loss.link, goal), left)
        if not made.shifts:
            break
        rounds.append(made)
        eta = made.apply(eta, rows.membership)
        left = None if left is None else left - len(made.shifts)
    return rounds


def _edges(eta: Array, rows: LinkRows, link: Link, goal: Goal) -> Array:
    """Edges between levels on the link scale."""
    if goal.grid is not None:
        return np.unique(link.forward(goal.grid.boundaries))
    return np.unique(np.quantile(eta, np.arange(1, goal.levels) / goal.levels))


def _predictor(chosen: Candidate | None, link: Link, rows: Rows, goal: Goal) -> LinkPredictor:
    """The predictor with the levels of its own final predictions."""
    model, rounds = (None, []) if chosen is None else (chosen.model, chosen.rounds)
    bare = LinkPredictor(Grid([0.0]), link, model, rounds)
    final = bare.predict(rows.predictions, rows.membership)
    grid = goal.grid if goal.grid is not None else _level_grid(final, rows.weights, goal.levels)
    return replace(bare, grid=grid)


def _level_grid(values: Array, weights: Array, levels: int) -> Grid:
    """Levels of about equal weight; each distinct value its own where there are few."""
    distinct = np.unique(values)
    return Grid(distinct) if distinct.size <= levels else Grid.quantile(values, levels, weights)


class _Trace:
    """The mean score after each step, told to the user as it goes."""

    def __init__(self, rows: Rows, prop: Property, progress: Progress | None) -> None:
        self.rows, self.prop, self.progress = rows, prop, progress
        self.values: list[float] = []
        self.add(rows.predictions, 0)

    def add(self, predictions: Array, updates: int) -> None:
        self.values.append(float(self.rows.weights @ self.prop.score(predictions, self.rows.labels) / self.rows.weights.sum()))
        if self.progress:
            self.progress(updates, float("nan"), self.values[-1])

    def tell(self) -> None:
        if self.progress:
            self.progress(0, float("nan"), self.values[-1])


def _certify(
    rows: Rows, prop: Property, predictor: LinkPredictor, goal: Goal, trace: _Trace, untouched: bool, report: list[str]
) -> Certificate:
    """Conditional on the levels of the final prediction: the error reached, and the error that chance alone allows."""
    cells = CellStatistics.of(rows, prop, predictor.grid)
    error = float(cells.errors.max())
    limit = chance_limit(cells.mean.size)
    alpha = goal.alpha if goal.alpha is not None else float((cells.mass * limit**2 * cells.steady).sum(axis=0).max())
    spent = goal.max_updates is not None and len(predictor.patches) >= goal.max_updates
    status = "converged" if error <= alpha else ("budget" if spent else "blocked")
    facts = label_facts(prop, rows.labels, rows.weights)
    best = prop.score(prop.solve_points(rows.labels), rows.labels)
    heading = "Already multicalibrated as far as held-out rows can tell: nothing done." if untouched else ""
    return Certificate(
        status=status,
        mode="practical",
        alpha=alpha,
        error=error,
        updates=len(predictor.patches),
        update_bound=None,
        initial=trace.values[0],
        optimal=float(rows.weights @ best / rows.weights.sum()),
        potential=np.array(trace.values),
        least_drop=float("nan"),
        drop_bound=0.0,
        lipschitz=float("nan") if facts.lipschitz is None else facts.lipschitz,
        steepest=float("nan"),
        blocked=_beyond(cells, limit) if status == "blocked" else [],
        note="\n".join([line for line in (heading, *report) if line]),
    )


def _beyond(cells: CellStatistics, limit: float) -> list[Blocked]:
    """Cells that are off beyond chance although no correction held up on rows held out."""
    off = np.argwhere(np.abs(cells.mean) > limit * np.sqrt(cells.steady))
    nan = float("nan")
    return [Blocked(int(g), int(j), float(cells.mass[j, g]), float(cells.mean[j, g]), nan, nan) for j, g in off]
