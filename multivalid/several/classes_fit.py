"""The practical fit of columns that share one whole: all classes at once, kept only where rows held out confirm it after the division."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.practical.accept import HeldOut, choose
from multivalid.practical.held_out import FEWEST, FOLDS, NOTHING_DONE, ONE_SPLIT
from multivalid.properties.base import Array
from multivalid.properties.target import Target
from multivalid.several import shares_fit
from multivalid.several.losses import lean_of_shares
from multivalid.several.shares import LEAST, Shares
from multivalid.several.shares_fit import ClassRows, Passes
from multivalid.sources.memory import MemorySource as Rows

RIDGES = (100.0, 20.0, 4.0)  # from few rows to many: coefficients of about 0.1, 0.2, 0.5
ALONE = "Group shifts of all classes alone"  # few coefficients: in few rows, curves beside them follow noise
STAGES = (ALONE, "Group shifts and curves of all classes", "Slopes of groups along the predictions", "Crossings of two groups")


@dataclass(frozen=True)
class Stage:
    """A model for each ridge."""

    name: str
    models: Sequence[Shares]


@dataclass(frozen=True)
class Tried:
    """What a stage does on rows that it was not fitted on, for each ridge: as in `accept.HeldOut`, (ridges, rows)."""

    gains: Array
    leans: Array
    noise: Array

    @classmethod
    def of(cls, rows: ClassRows, given: Array, models: Sequence[Shares]) -> Tried:
        """Of models beside the probabilities given (classes, rows); losses are no larger than that of the least that counts."""
        label = rows.codes, np.arange(len(rows))
        found = []
        for model in models:
            after = Passes(rows, model).shares(model)
            lean, noise = lean_of_shares(given, after, rows.codes, rows.weights)
            gain = rows.weights * (np.log(np.maximum(after[label], LEAST)) - np.log(np.maximum(given[label], LEAST)))
            found.append((gain, lean, noise))
        return cls(*(np.stack(some) for some in zip(*found, strict=True)))


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
    stage: str
    ridge: float
    report: str

    def on_all_rows(self) -> Shares | None:
        """The model kept, fitted on all rows."""
        return None if self.kept is None else refit(self.rows, self.stage, self.kept, self.ridge)


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
    given = rows.predictions[order].T
    tried: list[dict[str, Tried]] = []
    made: list[Stage] = []
    for out, rest in _splits(len(rows)):
        made = list(stages(inner.take(rest)))
        tried.append({one.name: Tried.of(inner.take(out), given[:, out], one.models) for one in made})
    kept, ridge, report = confirmed(tried)
    chosen = None if kept is None else next((one for one in made if one.name == kept), made[-1]).models[ridge]
    lines = [NOTHING_DONE, *report] if kept is None else report
    still = Shares.new(shares_fit.directions_of(inner), inner.membership.groups - 1)
    return Fitted(inner, chosen, still, kept or "", RIDGES[ridge], "\n".join(lines))


def stages(rows: ClassRows) -> Iterator[Stage]:
    """Models of growing richness, each fitted on from the last: shifts of groups, curves, slopes of groups, crossings of two groups."""
    model = Shares.new(shares_fit.directions_of(rows), rows.membership.groups - 1)
    passes = Passes(rows, model)
    for name in STAGES if len(rows) < ONE_SPLIT else STAGES[1:]:
        if name == STAGES[2]:
            slopes = shares_fit.slopes_of(model)
            if not slopes:
                continue
            model = model.with_slopes(slopes)
        elif name == STAGES[3]:
            pairs = shares_fit.crossings_of(passes, model)
            if not pairs.shape[1]:
                return
            model = model.with_crossings(pairs)
        passes = Passes(rows, model)
        curvature, models = passes.curvature(model), []
        for ridge in RIDGES:
            model = shares_fit.fit(passes, model, ridge, curvature, _free(name, model))
            models.append(model)
        yield Stage(name, models)


def refit(rows: ClassRows, stage: str, start: Shares, ridge: float) -> Shares:
    """The same model on all rows, from where it stands."""
    passes = Passes(rows, start)
    return shares_fit.fit(passes, start, ridge, passes.curvature(start), _free(stage, start))


def _free(stage: str, model: Shares) -> shares_fit.Free:
    """Which coefficients a stage may move."""
    return ~model.bent if stage == ALONE else np.ones(model.bent.size, dtype=bool)


def confirmed(parts: Sequence[Mapping[str, Tried]]) -> tuple[str | None, int, list[str]]:
    """The last stage that held-out rows confirm, its ridge by number, and what each stage gained, in words."""
    best = {
        name: int(np.argmax(sum(part[name].gains.sum(axis=1) for part in parts if name in part)))
        for name in STAGES
        if any(name in part for part in parts)
    }
    held = [
        HeldOut(
            {name: one.gains[best[name]] for name, one in part.items()},
            {name: one.leans[best[name]] for name, one in part.items()},
            {name: one.noise[best[name]] for name, one in part.items()},
        )
        for part in parts
    ]
    kept, report = choose(held, order=STAGES)
    return kept, 0 if kept is None else best[kept], [f"{line}." for line in report]


def _splits(rows: int) -> Iterator[Sequence[NDArray[np.intp]]]:
    """Rows held out and the others: one fifth where rows are many, else every fifth in turn, the first one last."""
    folds = np.array_split(np.arange(rows), FOLDS)
    for fold in folds[:1] if rows >= ONE_SPLIT else folds[::-1]:
        yield fold, np.setdiff1d(np.arange(rows), fold, assume_unique=True)
