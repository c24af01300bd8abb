"""The practical fit of columns that share one whole: all classes at once, kept only where rows held out confirm it after the division."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.select import Rows
from multivalid.grid import Grid
from multivalid.practical.accept import NEEDED_FOR_ANY, t_statistic
from multivalid.practical.fit import FEWEST, FOLDS, NOTHING_DONE, ONE_SPLIT
from multivalid.practical.link import Logarithm
from multivalid.practical.predictor import LinkPredictor
from multivalid.properties.base import Array
from multivalid.properties.target import Target
from multivalid.several import softmax
from multivalid.several.softmax import ClassRows, Softmax

LINK = Logarithm()
UNTOUCHED = LinkPredictor(Grid([0.0]), LINK)


def fit(rows: Rows, target: Target, random_state: int) -> tuple[list[LinkPredictor], str]:
    """One part per column, and what held-out rows said; `rows` keep the constraint."""
    width = len(target.coordinates)
    if len(rows) < FEWEST:
        return [UNTOUCHED] * width, f"{len(rows)} rows are too few to hold any out; at least {FEWEST} are needed."
    order = np.random.default_rng(random_state).permutation(len(rows))
    base = LINK.forward(rows.predictions[order])
    inner = ClassRows(rows.labels[order], rows.weights[order] / rows.weights.mean(), base, rows.membership.take(order))
    gains, made = [], Softmax.new(inner)
    for out, rest in _splits(len(rows)):
        made = softmax.fit(inner.take(rest))
        gains.append(_gain(target, made, inner.take(out), rows.predictions[order[out]]))
    gained = np.concatenate(gains)
    t = t_statistic(gained)
    said = f"held-out log loss gain {gained.mean():.3g} (t = {t:.1f})"
    if not t > NEEDED_FOR_ANY:
        return [UNTOUCHED] * width, f"{NOTHING_DONE}\nGroup shifts of all classes: {said}, dropped."
    final = softmax.fit(inner, made if len(gains) == 1 else None)
    return [LinkPredictor(Grid([0.0]), LINK, model) for model in final.models], f"Group shifts of all classes: {said}, kept."


def _gain(target: Target, made: Softmax, rows: ClassRows, before: Array) -> Array:
    """Weighted loss gained on each row held out, after the constraint."""
    after = softmax.probabilities(made.eta(rows))
    return np.asarray(rows.weights * (target.losses(before, rows.codes) - target.losses(after, rows.codes)))


def _splits(rows: int) -> Iterator[Sequence[NDArray[np.intp]]]:
    """Rows held out and the others: one fifth where rows are many, else every fifth in turn."""
    folds = np.array_split(np.arange(rows), FOLDS)
    for fold in folds[:1] if rows >= ONE_SPLIT else folds:
        yield fold, np.setdiff1d(np.arange(rows), fold, assume_unique=True)
