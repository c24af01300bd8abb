"""The practical fit of columns that share one whole: all classes at once, kept only where rows held out confirm it after the division."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.select import Rows
from multivalid.grid import Grid
from multivalid.practical.accept import NEEDED_FOR_ANY, NEEDED_FOR_MORE, t_statistic
from multivalid.practical.fit import FEWEST, FOLDS, NOTHING_DONE, ONE_SPLIT
from multivalid.practical.link import Logarithm
from multivalid.practical.predictor import LinkPredictor
from multivalid.properties.base import Array
from multivalid.properties.target import Target
from multivalid.several import softmax
from multivalid.several.softmax import ClassRows, Softmax

LINK = Logarithm()
UNTOUCHED = LinkPredictor(Grid([0.0]), LINK)
STAGES = ("Group shifts of all classes", "Products of two features")
ROUNDS = 3  # of products: some show only once others are there


def fit(rows: Rows, target: Target, random_state: int) -> tuple[list[LinkPredictor], str]:
    """One part per column, and what held-out rows said; `rows` keep the constraint."""
    width = len(target.coordinates)
    if len(rows) < FEWEST:
        return [UNTOUCHED] * width, f"{len(rows)} rows are too few to hold any out; at least {FEWEST} are needed."
    order = np.random.default_rng(random_state).permutation(len(rows))
    base = LINK.forward(rows.predictions[order])
    inner = ClassRows(rows.labels[order], rows.weights[order] / rows.weights.mean(), base, rows.membership.take(order))
    gains: list[list[Array]] = []
    made: list[Softmax] = []
    for out, rest in _splits(len(rows)):
        made = stages(inner.take(rest))
        seen, before = inner.take(out), rows.predictions[order[out]]
        gains.append([_gain(target, one, seen, before) for one in made])
    kept, report = _confirmed([np.concatenate(parts) for parts in zip(*map(_both, gains), strict=True)])
    if kept is None:
        return [UNTOUCHED] * width, "\n".join([NOTHING_DONE, *report])
    warm = len(gains) == 1  # from where the one split ended
    final = softmax.fit(inner, made[min(kept, len(made) - 1)]) if warm else stages(inner, richest=kept)[-1]
    return [LinkPredictor(Grid([0.0]), LINK, model) for model in final.models], "\n".join(report)


def stages(rows: ClassRows, richest: int = 1) -> list[Softmax]:
    """Shifts of groups for all classes; and with products of two features on top, where they are asked for and there are any."""
    made = [softmax.fit(rows)]
    for _ in range(ROUNDS if richest else 0):
        richer = softmax.with_products(made[-1], rows)
        if richer is None:
            break
        made = [made[0], softmax.fit(rows, richer)]
    return made


def _both(gains: list[Array]) -> list[Array]:
    """What each stage gained on one part; a part without products gained with them what it gained without."""
    return [gains[0], gains[-1]]


def _confirmed(gains: list[Array]) -> tuple[int | None, list[str]]:
    """The last stage that held-out rows confirm, and what each gained, in words."""
    kept, accepted, report = None, np.zeros_like(gains[0]), []
    for number, (name, gained) in enumerate(zip(STAGES, gains, strict=True)):
        t = t_statistic(gained - accepted)
        better = t > (NEEDED_FOR_ANY if kept is None else NEEDED_FOR_MORE)
        said = "kept" if better else "dropped"
        report.append(f"{name}: held-out log loss gain {gained.mean():.3g} (t = {t:.1f}), {said}.")
        if better:
            kept, accepted = number, gained
    return kept, report


def _gain(target: Target, made: Softmax, rows: ClassRows, before: Array) -> Array:
    """Weighted loss gained on each row held out, after the constraint."""
    after = softmax.probabilities(made.eta(rows))
    return np.asarray(rows.weights * (target.losses(before, rows.codes) - target.losses(after, rows.codes)))


def _splits(rows: int) -> Iterator[Sequence[NDArray[np.intp]]]:
    """Rows held out and the others: one fifth where rows are many, else every fifth in turn."""
    folds = np.array_split(np.arange(rows), FOLDS)
    for fold in folds[:1] if rows >= ONE_SPLIT else folds:
        yield fold, np.setdiff1d(np.arange(rows), fold, assume_unique=True)
