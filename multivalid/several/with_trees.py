"""The last step of a practical fit of several columns: trees over groups and all columns, where rows held out confirm them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from multivalid.evaluators import Arrays, Evaluator, Members, in_memory
from multivalid.practical.data import Matching, Outcomes
from multivalid.properties.base import Array
from multivalid.properties.target import Target
from multivalid.several import boost
from multivalid.several.losses import OneWhole, OwnScales
from multivalid.several.predictor import ColumnsPredictor
from multivalid.sources.memory import MemorySource as Rows


def with_trees(
    rows: Rows, target: Target, ground: ColumnsPredictor, rival: ColumnsPredictor, seed: int, *, anew: bool
) -> tuple[ColumnsPredictor | None, str]:
    """`ground` with trees, if they are better than `rival` on rows held out, and what to say of them; `rows` keep the constraint.

    Held out are the first rows in the order that the seed draws: a tenth, or with `anew` a fifth, and trees that are kept are then grown
    again on all rows.
    """
    if len(rows) < boost.LEAST_ROWS:
        return None, ""
    trial, start = _tried(rows, target, ground, rival, seed, boost.MOST_ROUNDS, 5 if anew else 10)
    corrected = rival.together is not None or any(part.model is not None for part in rival.links)
    found = f"t = {trial.t:.1f}" if corrected else f"z = {trial.z:.1f}"
    enough = trial.t >= boost.NEEDED_FOR_MORE if corrected else trial.z > boost.NEEDED_FOR_ANY and trial.gain > 0
    kept = trial.told and enough
    said = f"Trees over groups and all columns: held-out loss gain {trial.gain:.3g} ({found}), "
    if not kept:
        return None, f"{said}dropped."
    trees = trial.grown_again(start) if anew else trial.grown()
    return replace(ground, trees=trees), f"{said}kept, in place of patches and of richer models."


def improve(rows: Rows, target: Target, ground: ColumnsPredictor, seed: int) -> bool:
    """Whether the first trees that stand on `ground` make it better on rows held out."""
    if len(rows) < boost.LEAST_ROWS:
        return False
    trial, _ = _tried(rows, target, ground, ground, seed, boost.FIRST, 5)
    return trial.t >= boost.NEEDED_FOR_MORE


def _tried(
    rows: Rows, target: Target, ground: ColumnsPredictor, rival: ColumnsPredictor, seed: int, rounds: int, held_out: int
) -> tuple[boost.Trial, Array]:
    """Trees on top of `ground` beside `rival`, on rows in the order that the seed draws, and what they stand on."""
    mixed = rows.take(np.random.default_rng(seed).permutation(len(rows)))
    outcomes = Outcomes(mixed.labels, mixed.weights / mixed.weights.mean())
    cut = len(rows) // held_out
    held = mixed.take(np.arange(cut))
    before = outcomes.weights[:cut] * target.losses(rival.predict(held.predictions, held.membership), held.labels)
    losses: boost.Losses = OneWhole(target, outcomes)
    if not target.coupled:
        scales = [Matching(one.predicted, part.link) for one, part in zip(target.coordinates, ground.links, strict=True)]
        losses = OwnScales(target, scales, outcomes)
    start, seen = _starts(ground, mixed), np.column_stack(ground.looked_at(Arrays(), list(mixed.predictions.T)))
    return boost.Trial(start, before, losses, seen, mixed.membership, rounds), start


def _starts(ground: ColumnsPredictor, rows: Rows) -> Array:
    """What trees stand on: (columns, rows)."""

    def formula(by: Evaluator, columns: list[Any], members: Members) -> list[Any]:
        return ground.starts(by, columns, members)

    return np.ascontiguousarray(in_memory(formula, rows.predictions, rows.membership).T)


def without_patches(predictor: ColumnsPredictor) -> ColumnsPredictor:
    """Parts of single columns that trees may stand on: curves and groups; patches would move what the trees have put right."""
    return replace(predictor, parts=[replace(part, rounds=[]) for part in predictor.links])
