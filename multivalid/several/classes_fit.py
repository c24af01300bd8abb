"""The practical fit of columns that share one whole: all classes at once, kept only where rows held out confirm it after the division."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.practical.accept import NEEDED_FOR_MORE, NEEDED_ROWS, sharing_rows, t_statistic
from multivalid.practical.fit import FEWEST, FOLDS, NOTHING_DONE, ONE_SPLIT
from multivalid.properties.base import Array
from multivalid.properties.target import Target
from multivalid.several import shares_fit
from multivalid.several.shares import LEAST, Shares
from multivalid.several.shares_fit import ClassRows, Passes
from multivalid.sources.memory import MemorySource as Rows

NEEDED_FOR_ANY = 2.0  # t of the held-out gain over the input below which the input is returned
RIDGES = (100.0, 20.0, 4.0)  # from few rows to many: coefficients of about 0.1, 0.2, 0.5
STAGES = ("Group shifts of all classes", "Slopes of groups along the predictions", "Crossings of two groups")


@dataclass(frozen=True)
class Stage:
    """A model for each ridge."""

    name: str
    models: Sequence[Shares]


@dataclass(frozen=True)
class Fitted:
    """What was fitted without the rows held out, and how to fit it on all rows.

    Attributes
    ----------
    kept : Shares or None
        The richest model that rows held out confirm; None where the input is as good.
    untouched : Shares
        The model that changes nothing, on which trees may stand.
    report : str
        What held-out rows said.
    """

    rows: ClassRows
    kept: Shares | None
    untouched: Shares
    ridge: float
    report: str

    def on_all_rows(self) -> Shares | None:
        """The model kept, fitted on all rows."""
        return None if self.kept is None else refit(self.rows, self.kept, self.ridge)


def fit(rows: Rows, target: Target, random_state: int) -> Fitted | str:
    """What held-out rows confirm, or why nothing was tried; `rows` keep the constraint.

    Rows are put in the order that the seed draws; the models are those fitted without the first fifth.
    """
    if len(rows) < FEWEST:
        return f"{len(rows)} rows are too few to hold any out; at least {FEWEST} are needed."
    order = np.random.default_rng(random_state).permutation(len(rows))
    logs = np.log(np.maximum(rows.predictions[order], LEAST))
    inner = ClassRows(
        rows.labels[order].astype(np.intp), rows.weights[order] / rows.weights.mean(), logs, rows.membership.take(order)
    )
    before = inner.weights * target.losses(rows.predictions[order], rows.labels[order])
    gains: list[dict[str, Array]] = []
    made: list[Stage] = []
    for out, rest in _splits(len(rows)):
        held = inner.take(out)
        made = list(stages(inner.take(rest)))
        gains.append({one.name: before[out] - held.weights * np.stack([losses(held, m) for m in one.models]) for one in made})
    kept, ridge, report = confirmed(gains)
    chosen = None if kept is None else next((one for one in made if one.name == STAGES[kept]), made[-1]).models[ridge]
    lines = [NOTHING_DONE, *report] if kept is None else report
    still = Shares.new(shares_fit.directions_of(inner), inner.membership.groups - 1)
    return Fitted(inner, chosen, still, RIDGES[ridge], "\n".join(lines))


def stages(rows: ClassRows) -> Iterator[Stage]:
    """Models of growing richness, each fitted on from the last: shifts of groups, slopes of groups, crossings of two groups."""
    model = Shares.new(shares_fit.directions_of(rows), rows.membership.groups - 1)
    passes = Passes(rows, model)
    for number, name in enumerate(STAGES):
        if number == 1:
            slopes = shares_fit.slopes_of(model)
            if not slopes:
                continue
            model = model.with_slopes(slopes)
        elif number == 2:
            pairs = shares_fit.crossings_of(passes, model)
            if not pairs.shape[1]:
                return
            model = model.with_crossings(pairs)
        passes = Passes(rows, model)
        curvature, models = passes.curvature(model), []
        for ridge in RIDGES:
            model = shares_fit.fit(passes, model, ridge, curvature)
            models.append(model)
        yield Stage(name, models)


def refit(rows: ClassRows, start: Shares, ridge: float) -> Shares:
    """The same model on all rows, from where it stands."""
    passes = Passes(rows, start)
    return shares_fit.fit(passes, start, ridge, passes.curvature(start))


def losses(rows: ClassRows, model: Shares) -> Array:
    """Log loss of rows not fitted, no larger than that of the least probability that counts."""
    return np.asarray(np.minimum(Passes(rows, model).losses(model), -np.log(LEAST)))


def confirmed(gains: Sequence[dict[str, Array]]) -> tuple[int | None, int, list[str]]:
    """The last stage that held-out rows confirm, its ridge by number, and what each stage gained, in words.

    A split that did not reach a stage gained with it what it gained without.
    """
    accepted = np.zeros(sum(next(iter(part.values())).shape[1] for part in gains))
    kept, chosen, report = None, 0, []
    for number, name in enumerate(STAGES):
        if not any(name in part for part in gains):
            continue
        table = np.concatenate([part[_latest(part, number)] for part in gains], axis=1)  # ridges × rows
        best = int(np.argmax(table.sum(axis=1)))
        gained = table[best]
        t = t_statistic(gained - accepted)
        told = sharing_rows(gained - accepted)
        enough = kept is not None or told >= NEEDED_ROWS
        better = enough and t > (NEEDED_FOR_ANY if kept is None else NEEDED_FOR_MORE)
        why = "" if enough else f"; only {told:.0f} held-out rows tell the difference, {NEEDED_ROWS:.0f} are needed"
        report.append(f"{name}: held-out log loss gain {gained.mean():.3g} (t = {t:.1f}), {'kept' if better else 'dropped'}{why}.")
        if better:
            kept, chosen, accepted = number, best, gained
    return kept, chosen, report


def _latest(part: dict[str, Array], number: int) -> str:
    return next(known for known in reversed(STAGES[: number + 1]) if known in part)


def _splits(rows: int) -> Iterator[Sequence[NDArray[np.intp]]]:
    """Rows held out and the others: one fifth where rows are many, else every fifth in turn, the first one last."""
    folds = np.array_split(np.arange(rows), FOLDS)
    for fold in folds[:1] if rows >= ONE_SPLIT else folds[::-1]:
        yield fold, np.setdiff1d(np.arange(rows), fold, assume_unique=True)
