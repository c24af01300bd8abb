"""The practical fit of columns that share one whole: all classes at once, kept only where rows held out confirm it after the division."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.practical.accept import HeldOut, choose
from multivalid.practical.data import shuffle
from multivalid.practical.held_out import FEW_CLUSTERS, FEWEST, FOLDS, NOTHING_DONE, ONE_SPLIT
from multivalid.properties.base import Array
from multivalid.properties.target import Target
from multivalid.several import shares_fit
from multivalid.several.losses import lean_of_shares
from multivalid.several.shares import LEAST, Shares
from multivalid.several.shares_fit import ClassRows, Passes
from multivalid.sources.memory import MemorySource as Rows

RIDGES = (100.0, 20.0, 4.0, 0.8, 0.1, 0.01, 1e-3, 1e-4)  # from coefficients of about 0.1 to those of classes that never come
BACK = 2  # steps by which the ridge of a richer stage starts before that of the last one
DECIDING = 100_000  # rows on which models are fitted to choose among them; the one chosen is fitted on all
NO_MORE = 1e-5  # of what is still lost: a weaker ridge that gains less ends the way, though it gains
NOTHING_LEFT = 3e-4  # of the loss of the input: what is lost below this is not worth another model
ALONE = "Group shifts of all classes alone"  # few coefficients: in few rows, curves beside them follow noise
STAGES = (ALONE, "Group shifts and curves of all classes", "Slopes of groups along the predictions", "Crossings of two groups")


@dataclass(frozen=True)
class Tried:
    """What a model does on rows that it was not fitted on: as in `accept.HeldOut`; the losses of the input there; units of chance."""

    gains: Array
    leans: Array
    noise: Array
    losses: Array
    unit: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, passes: Passes, given: Array, model: Shares) -> Tried:
        """Of a model beside the probabilities given (classes, rows); losses are no larger than that of the least that counts."""
        rows = passes.rows
        label, after = (rows.codes, np.arange(len(rows))), passes.shares(model)
        lean, noise = lean_of_shares(given, after, rows.codes, rows.weights)
        losses = -rows.weights * np.log(np.maximum(given[label], LEAST))
        gains = losses + rows.weights * np.log(np.maximum(after[label], LEAST))
        return cls(gains, lean, noise, losses, None if rows.cluster is None else rows.unit)


@dataclass(frozen=True)
class Fold:
    """Rows to fit on, rows held out, and the probabilities given of these (classes, rows)."""

    rows: ClassRows
    held: ClassRows
    given: Array


@dataclass(frozen=True)
class Step:
    """A stage with the ridge that rows held out like best: its model in every fold, and what it does there."""

    ridge: float
    models: Sequence[Shares]
    tried: Sequence[Tried]

    @property
    def gain(self) -> float:
        """Over the input, on all rows held out."""
        return float(sum(one.gains.sum() for one in self.tried))

    @property
    def left(self) -> float:
        """What these rows still lose."""
        return float(sum(one.losses.sum() for one in self.tried)) - self.gain

    @property
    def exact(self) -> bool:
        """Whether hardly anything is left to gain: groups or predictions determine the class."""
        return self.left <= NOTHING_LEFT * (self.left + self.gain)


@dataclass(frozen=True)
class Fitted:
    """What was fitted without the rows held out, and how to fit it on all rows.

    Attributes
    ----------
    kept : Shares or None
        The richest model that rows held out confirm; None where the input is as good.
    untouched : Shares
        The model that changes nothing, on which trees may stand.
    exact : bool
        Whether hardly anything is left to gain.
    report : str
        What held-out rows said.
    """

    rows: ClassRows
    kept: Shares | None
    untouched: Shares
    stage: str
    ridge: float
    exact: bool
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
    if rows.cluster is not None and np.unique(rows.cluster).size < FOLDS:
        return FEW_CLUSTERS
    order = shuffle(np.arange(len(rows)), rows.cluster, np.random.default_rng(random_state))
    logs = np.log(np.maximum(rows.predictions[order], LEAST))
    weights, cluster = rows.weights[order] / rows.weights.mean(), None if rows.cluster is None else rows.cluster[order]
    inner = ClassRows(rows.labels[order].astype(np.intp), weights, logs, rows.membership.take(order), cluster)
    given = rows.predictions[order].T
    folds = [Fold(inner.take(rest), inner.take(out), given[:, out]) for out, rest in _splits(inner.unit)]
    made = steps(folds)
    kept, report = confirmed(made)
    chosen = None if kept is None else made[kept]
    still = Shares.new(shares_fit.directions_of(inner), inner.membership.groups - 1)
    if chosen is None:
        return Fitted(inner, None, still, "", RIDGES[0], False, "\n".join([NOTHING_DONE, *report]))
    return Fitted(inner, chosen.models[-1], still, kept or "", chosen.ridge, chosen.exact, "\n".join(report))


def steps(folds: Sequence[Fold]) -> dict[str, Step]:
    """Models of growing richness: shifts of groups, curves, slopes of groups, crossings of two groups.

    Each is fitted on from the last that gained on rows held out, with ridges that weaken as long as these rows gain.
    """
    models = [Shares.new(shares_fit.directions_of(fold.rows), fold.rows.membership.groups - 1) for fold in folds]
    found: dict[str, Step] = {}
    best, first = 0.0, 0
    for name in STAGES if len(folds) > 1 else STAGES[1:]:
        passes = [wider(name, fold.rows, model, len(folds)) for fold, model in zip(folds, models, strict=True)]
        if all(one is None for one in passes):
            continue
        step = _weakened(name, folds, passes, models, first, best)
        found[name] = step
        if step.gain > best:
            models, best, first = list(step.models), step.gain, max(RIDGES.index(step.ridge) - BACK, 0)
        if step.exact:
            break
    return found


def wider(name: str, rows: ClassRows, model: Shares, shared: int = 1) -> Passes | None:
    """The rows with the features of a stage; None where it has none that the model lacks."""
    if name == STAGES[2]:
        slopes = shares_fit.slopes_of(model)
        return Passes(rows, model.with_slopes(slopes), shared) if slopes else None
    passes = Passes(rows, model, shared)
    if name == STAGES[3]:
        pairs = shares_fit.crossings_of(passes, model)
        return Passes(rows, model.with_crossings(pairs), shared) if pairs.shape[1] else None
    return passes


def _weakened(
    name: str, folds: Sequence[Fold], passes: Sequence[Passes | None], models: Sequence[Shares], first: int, least: float
) -> Step:
    """The stage with the weakest ridge on the way to which rows held out gained at every step; the first must gain more than `least`."""
    models = [model if one is None else one.model for one, model in zip(passes, models, strict=True)]
    curvatures = [[] if one is None else one.curvature(one.model) for one in passes]
    held = [Passes(fold.held, model, len(folds)) for fold, model in zip(folds, models, strict=True)]
    best: Step | None = None
    for ridge in RIDGES[first:]:
        models = [
            model if one is None else shares_fit.fit(one, model, ridge, curvature, _free(name, model))
            for one, model, curvature in zip(passes, models, curvatures, strict=True)
        ]
        step = Step(ridge, models, [Tried.of(*one) for one in zip(held, (fold.given for fold in folds), models, strict=True)])
        if best is not None and step.gain <= best.gain:
            break
        enough = best is not None and step.gain - best.gain <= NO_MORE * step.left
        best = step
        if enough or step.gain <= least:
            break
    assert best is not None
    return best


def refit(rows: ClassRows, stage: str, start: Shares, ridge: float) -> Shares:
    """The same model on all rows, from where it stands."""
    passes = Passes(rows, start)
    return shares_fit.fit(passes, start, ridge, passes.curvature(start), _free(stage, start))


def _free(stage: str, model: Shares) -> shares_fit.Free:
    """Which coefficients a stage may move."""
    return ~model.bent if stage == ALONE else np.ones(model.bent.size, dtype=bool)


def confirmed(made: Mapping[str, Step]) -> tuple[str | None, list[str]]:
    """The last stage that held-out rows confirm, and what each stage gained, in words."""
    parts = zip(*(step.tried for step in made.values()), strict=True)
    held = [
        HeldOut(
            {name: one.gains for name, one in zip(made, part, strict=True)},
            {name: one.leans for name, one in zip(made, part, strict=True)},
            {name: one.noise for name, one in zip(made, part, strict=True)},
        )
        for part in parts
    ]
    units = [one.unit for one in next(iter(made.values())).tried]
    held = [one if unit is None else one.by_unit(unit) for one, unit in zip(held, units, strict=True)]
    kept, report = choose(held, unit="rows" if units[0] is None else "clusters", order=STAGES)
    return kept, [f"{line}." for line in report]


def _splits(unit: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows held out, of whole units, and others: one fifth where rows are many, else every fifth in turn, the first one last."""
    everyone = np.arange(unit.size)
    folds = [
        everyone[slice(*np.searchsorted(unit, (one[0], one[-1] + 1)))] for one in np.array_split(np.arange(unit[-1] + 1), FOLDS)
    ]
    for fold in folds[:1] if unit.size >= ONE_SPLIT else folds[::-1]:
        yield fold, np.setdiff1d(everyone, fold, assume_unique=True)[:DECIDING]
