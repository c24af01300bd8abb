"""The practical fit: stages, the guard, the held-out comparison, and the certificate.

Settings were chosen by the experiment in benchmarks/decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.audit.audit import Audit, audit_source
from multivalid.batch.certificate import Certificate
from multivalid.batch.control import INTERRUPTED, UNLIMITED, Control
from multivalid.batch.statement import judged_by
from multivalid.grid import Grid, level_count
from multivalid.practical import accept, newton, start
from multivalid.practical.accept import Candidate
from multivalid.practical.all_rows import refit
from multivalid.practical.certify import certify
from multivalid.practical.data import LinkRows, Matching, shuffle, unit_numbers
from multivalid.practical.link import Link, choose_link
from multivalid.practical.predictor import LinkPredictor
from multivalid.practical.shift_round import ShiftRound
from multivalid.practical.shifts import shift_round
from multivalid.properties.base import Array, Property
from multivalid.sources.memory import MemorySource as Rows
from multivalid.sources.open import Source

LEVELS = 20
SAMPLE = 1_000_000  # rows of an engine that come to the driver; all of them where there are no more
ROUNDS = 3
NOTHING_DONE = "No correction held up on rows held out: nothing done."
ONE_SPLIT = 20_000  # with at least this many rows one held-out fifth decides; with fewer all five folds do
FOLDS = 5
DECIDING = 320_000  # rows on which stages are fitted to choose among them; the one chosen is fitted on all
FEWEST = 100  # rows below which no held-out comparison can tell anything


@dataclass(frozen=True)
class PracticalFit:
    """A predictor, the final level of each fitted row (None where rows are not seen), and a call that works out the certificate."""

    predictor: LinkPredictor
    levels: NDArray[np.intp] | None
    stated: Callable[[], Certificate]
    judged: Audit | None = None  # the audit of the rows held out

    @cached_property
    def certificate(self) -> Certificate:
        """What is guaranteed."""
        return self.stated()


@dataclass(frozen=True)
class Worked:
    """A predictor, its predictions for the rows fitted, the mean score after each step, what to say, whether it was stopped, the ridge."""

    predictor: LinkPredictor
    final: Array
    potential: list[float]
    note: str
    stopped: bool
    ridge: float = 0.0


class Goal:
    """What the user fixed."""

    def __init__(
        self,
        m: int | None = None,
        grid: Grid | None = None,
        alpha: float | None = None,
        control: Control = UNLIMITED,
        needed_rows: float = accept.NEEDED_ROWS,
    ) -> None:
        self.m = None if m is None else level_count(m)
        self.levels = LEVELS if self.m is None else self.m
        self.grid = grid
        self.alpha = None if alpha is None else validate.positive(alpha, "alpha")
        self.control = control
        self.needed_rows = needed_rows  # rows that must share the held-out gain; see `accept`


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
    rows, at_random = source.sample(SAMPLE, random_state)
    done, note = work_out(rows, prop, goal, random_state=random_state), ""
    if len(rows) < len(source):
        done, note = _on_all_rows(source, rows, prop, goal, done, at_random)
    predictor, grid = done.predictor, done.predictor.grid
    fitted = rows.detached().with_predictions(done.final)  # what the caller does to his arrays does not change the certificate
    if note and held is None:
        reached = audit_source(source.predicted_by(predictor), prop, grid, beyond=True, values=False).error
        note += f" Worst group error on all of them {reached:.3g}."
    found = None if held is None else audit_source(held.predicted_by(predictor, beside=True), prop, values=False)
    levels = grid.round(done.final) if rows is source else None

    def stated() -> Certificate:
        certificate = certify(
            fitted, prop, grid, len(predictor.patches), done.potential, alpha=goal.alpha, stopped=done.stopped,
            note=f"{note}\n{done.note}".strip(),
        )  # fmt: skip
        return certificate if found is None else judged_by(certificate, found)

    return PracticalFit(predictor, levels, stated, found)


def _on_all_rows(source: Source, rows: Rows, prop: Property, goal: Goal, done: Worked, at_random: bool) -> tuple[Worked, str]:
    """What was fitted on a sample of the rows, moved to where all of them put it, and a sentence that says which it is."""
    sample = f"{'a random sample of' if at_random else 'the first'} {len(rows):,} of {len(source):,} rows"
    model = None if done.stopped else refit(source, rows, prop, done.predictor, done.ridge)
    if model is None:
        return done, f"Fitted on {sample}."
    predictor = replace(done.predictor, model=model)
    final = predictor.predict(rows.predictions, rows.membership)
    scores = [*done.potential[:-1], float(rows.weights @ prop.score(final, rows.labels) / rows.weights.sum())]
    if scores[0] - scores[-1] < (scores[0] - done.potential[-1]) / 2:
        return done, f"Fitted on {sample}; a step towards all of them would have lost half of what was gained."
    grid = goal.grid if goal.grid is not None else level_grid(final, rows.weights, goal.levels)
    moved = replace(done, predictor=replace(predictor, grid=grid), final=final, potential=scores)
    return moved, (
        f"The curve and the shifts of all groups were fitted on all {len(source):,} rows by one pass of sums; what shape they have was "
        f"chosen, and what is said of the rows fitted was measured, on {sample}."
    )


def work_out(rows: Rows, prop: Property, goal: Goal, *, random_state: int = 0) -> Worked:
    """The fit itself; `rows` may be in more groups than have names."""
    rows.residuals(prop.coordinates[0])  # refuses predictions that are too far out before anything is fitted to them
    used = np.flatnonzero(rows.weights > 0)
    shuffled = shuffle(used, rows.cluster, np.random.default_rng(random_state))
    link = choose_link(prop, rows.labels[shuffled], rows.predictions[shuffled])
    inner = LinkRows.of(rows, link, shuffled)
    loss = Matching(prop, link)
    trace = _Trace(rows, prop, goal.control)
    chosen, report, stopped = _choose(inner, rows.predictions[shuffled], loss, goal, trace)
    predictor, final = _predictor(chosen, link, rows, goal)
    trace.add(final, len(predictor.patches))
    stopped = stopped or (bool(predictor.patches) and not goal.control.room(len(predictor.patches)))
    compared = len(inner) >= FEWEST
    note = "\n".join(report if chosen is not None or stopped or not compared else [NOTHING_DONE, *report])
    return Worked(predictor, final, trace.values, note, stopped, 0.0 if chosen is None else chosen.ridge)


def _choose(rows: LinkRows, base: Array, loss: Matching, goal: Goal, trace: _Trace) -> tuple[Candidate | None, list[str], bool]:
    """The accepted stage fitted on all rows (None when the input was as good), what each gained, and whether Ctrl-C came."""
    if rows.cluster is not None and unit_numbers(len(rows), rows.cluster)[-1] + 1 < FOLDS:
        return None, [f"Nothing done: with fewer than {FOLDS} clusters none can be held out."], False
    if len(rows) < FEWEST:
        return None, [f"Nothing done: {len(rows)} rows are too few to hold any out; at least {FEWEST} are needed."], False
    kept: Candidate | None = None
    report: list[str] = []
    try:
        parts, candidates = _held_out(rows, base, loss, goal, trace)
        best, report = accept.choose(parts, goal.needed_rows, "rows" if rows.cluster is None else "clusters")
        if best is None:
            return None, report, False
        if len(parts) > 1:
            return up_to(best, fitted_stages(rows, loss, goal)), report, False
        kept = up_to(best, candidates)
        return _again(kept, rows, loss, goal), report, False
    except KeyboardInterrupt:
        if not goal.control.keep_interrupted:
            raise
        # What held-out rows have confirmed by now, even if it was fitted on four fifths of the rows.
        return kept, [*report, INTERRUPTED + (" Not refitted on all rows." if kept else " Nothing done.")], True


def _held_out(
    rows: LinkRows, base: Array, loss: Matching, goal: Goal, trace: _Trace
) -> tuple[list[accept.HeldOut], list[Candidate]]:
    """What the stages do on the rows left out of each split, and the candidates of the last split."""
    parts: list[accept.HeldOut] = []
    binary = accept.are_events(rows.labels, base)
    candidates: list[Candidate] = []
    for out, testing, fitting in _splits(rows):
        candidates = fitted_stages(fitting, loss, goal)
        parts.append(accept.held_out(base[out], testing, candidates, loss, binary=binary))
        trace.tell()
    return parts, candidates


def _again(kept: Candidate, rows: LinkRows, loss: Matching, goal: Goal) -> Candidate:
    """The same stage on all rows, from where it stands."""
    model = newton.fit(kept.model, rows, loss, kept.ridge, warm=True, tuned=True).model
    shifts = _rounds(replace(kept, model=model, rounds=[]).eta(rows), rows, loss, goal) if kept.name == "patches" else []
    return replace(kept, model=model, rounds=shifts)


def _splits(rows: LinkRows) -> Iterator[tuple[NDArray[np.intp], LinkRows, LinkRows]]:
    """Which rows are held out, those rows, and the others: once where rows are many, else every fold in turn; whole clusters."""
    everyone = np.arange(len(rows))
    if rows.cluster is not None:
        unit = unit_numbers(len(rows), rows.cluster)
        held = unit * FOLDS // (unit[-1] + 1)
        for k in range(1 if len(rows) >= ONE_SPLIT else min(FOLDS, int(unit[-1]) + 1)):
            yield everyone[held == k], rows.take(everyone[held == k]), rows.take(everyone[held != k][:DECIDING])
        return
    if len(rows) >= ONE_SPLIT:
        cut = len(rows) // FOLDS // 64 * 64
        yield everyone[:cut], rows.part(0, cut), rows.part(cut, min(cut + DECIDING, len(rows)))
        return
    for fold in np.array_split(everyone, FOLDS):
        yield fold, rows.take(fold), rows.take(np.setdiff1d(everyone, fold, assume_unique=True))


def fitted_stages(
    rows: LinkRows, loss: Matching, goal: Goal, stages: Callable[[LinkRows, Matching], list[start.Stage]] = start.stages
) -> list[Candidate]:
    """All stages, each fitted on these rows, and shifts of cells after the last."""
    found = stages(rows, loss)
    last = found[-1].fitted
    out = [Candidate(stage.name, stage.fitted.model, stage.fitted.ridge) for stage in found]
    rounds = _rounds(last.eta, rows, loss, goal)
    return [*out, Candidate("patches", last.model, last.ridge, rounds)] if rounds else out


def up_to(name: str, candidates: list[Candidate]) -> Candidate:
    """The richest stage that goes no further than `name`."""
    limit = accept.ORDER.index(name)
    return [c for c in candidates if accept.ORDER.index(c.name) <= limit][-1]


def _rounds(eta: Array, rows: LinkRows, loss: Matching, goal: Goal) -> list[ShiftRound]:
    """Rounds of shifts until one makes none."""
    rounds: list[ShiftRound] = []
    left = goal.control.max_updates
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


def _predictor(chosen: Candidate | None, link: Link, rows: Rows, goal: Goal) -> tuple[LinkPredictor, Array]:
    """The predictor with the levels of its own final predictions, and those."""
    model, rounds = (None, []) if chosen is None else (chosen.model, chosen.rounds)
    bare = LinkPredictor(Grid([0.0]), link, model, rounds)
    final = bare.predict(rows.predictions, rows.membership)
    grid = goal.grid if goal.grid is not None else level_grid(final, rows.weights, goal.levels)
    return replace(bare, grid=grid), final


def level_grid(values: Array, weights: Array, levels: int) -> Grid:
    """Levels of about equal weight; each distinct value its own where there are few."""
    distinct = np.unique(values)
    return Grid(distinct) if distinct.size <= levels else Grid.quantile(values, levels, weights)


class _Trace:
    """The mean score after each step, told to the user as it goes."""

    def __init__(self, rows: Rows, prop: Property, control: Control) -> None:
        self.rows, self.prop, self.control = rows, prop, control
        self.values: list[float] = []
        self.add(rows.predictions, 0)

    def add(self, predictions: Array, updates: int) -> None:
        self.values.append(float(self.rows.weights @ self.prop.score(predictions, self.rows.labels) / self.rows.weights.sum()))
        self.tell(updates)

    def tell(self, updates: int = 0) -> None:
        self.control.tell(updates, float("nan"), self.values[-1])
