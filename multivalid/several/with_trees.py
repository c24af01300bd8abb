"""The last step of a practical fit of several columns: trees over groups and all columns, where rows held out confirm them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.evaluators import Arrays, Evaluator, Members, in_memory
from multivalid.practical.accept import sharing_rows, t_statistic, z_statistic
from multivalid.practical.data import Matching, Outcomes, shuffle, unit_numbers
from multivalid.practical.goal import NEEDED_ROWS
from multivalid.properties.base import Array
from multivalid.properties.target import Target
from multivalid.several import boost
from multivalid.several.forest import ColumnTrees
from multivalid.several.losses import OneWhole, OwnScales
from multivalid.several.mixture import Mixture, crossed
from multivalid.several.predictor import ColumnsPredictor
from multivalid.sources.memory import MemorySource as Rows

NOTHING_GAINED = "Trees over groups and all columns: the first ones gained nothing on held-out rows, dropped."
PROMISING = 2.0  # standard errors by which held-out rows lean towards the first trees; the t of so small a gain is half of that
ENOUGH = 100_000  # rows for the first trees, which only say whether any gain anything


@dataclass(frozen=True)
class Grown:
    """Trees that rows held out confirm, and how they are mixed with the model that they stand beside (classes only)."""

    trees: ColumnTrees
    mixture: Mixture | None


def with_trees(
    rows: Rows, target: Target, ground: ColumnsPredictor, rival: ColumnsPredictor, seed: int, *, anew: bool
) -> tuple[Grown | None, str]:
    """Trees on top of `ground`, if they are better than `rival` on rows held out, and what to say of them; `rows` keep the constraint.

    Held out are the first rows in the order that the seed draws, whole clusters: a tenth, or with `anew` a fifth, and trees that are kept
    are then grown again on all rows.
    """
    held_out = 5 if anew else 10
    if not _enough(rows, held_out):
        return None, ""
    tried = _Tried.of(rows, target, ground, rival, seed, boost.MOST_ROUNDS, held_out)
    trial, gained = tried.trial, tried.before - tried.after
    if trial.rounds == 0:
        return None, NOTHING_GAINED
    gain, units = float(gained.mean()), tried.by_unit(gained)
    t = t_statistic(units)
    corrected = rival.together is not None or any(part.model is not None for part in rival.links)
    found = f"t = {t:.1f}" if corrected else f"z = {tried.evidence:.1f}"
    enough = t >= boost.NEEDED_FOR_MORE if corrected else tried.evidence > boost.NEEDED_FOR_ANY and gain > 0
    said = f"Trees over groups and all columns: held-out loss gain {gain:.3g} ({found}), "
    if not (enough and sharing_rows(units) >= NEEDED_ROWS):
        return None, f"{said}dropped."
    trees = trial.grown_again(tried.start) if anew else trial.grown()
    mixture = tried.mixture
    if mixture is None:
        return Grown(trees, None), f"{said}kept{', in place of patches' if rival.patches else ''}."
    return Grown(trees, mixture), f"{said}kept, {mixture.share:.2f} of them beside {1 - mixture.share:.2f} of what was kept before."


def improve(rows: Rows, target: Target, ground: ColumnsPredictor, seed: int) -> bool:
    """Whether the first trees that stand on `ground` are what rows held out lean towards."""
    if not _enough(rows, 5):
        return False
    tried = _Tried.of(rows, target, ground, ground, seed, boost.FIRST, 5, ENOUGH)
    return tried.trial.rounds > 0 and tried.evidence >= PROMISING


@dataclass(frozen=True)
class _Tried:
    """Trees on top of `ground` beside `rival`, and what they stand on.

    `before` is what the rival loses on the rows held out, `stood` its η there where columns share one whole;
    `unit` numbers what shares its luck: rows, or clusters.
    """

    trial: boost.Trial
    start: Array
    before: Array
    stood: Array
    unit: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        rows: Rows,
        target: Target,
        ground: ColumnsPredictor,
        rival: ColumnsPredictor,
        seed: int,
        rounds: int,
        held_out: int,
        most: int = sys.maxsize,
    ) -> _Tried:
        """With one row of so many held out, or one cluster, and grown on at most so many."""
        order = shuffle(np.arange(len(rows)), rows.cluster, np.random.default_rng(seed))
        unit = unit_numbers(len(rows), None if rows.cluster is None else rows.cluster[order])
        cut = int(np.searchsorted(unit, (unit[-1] + 1) // held_out))
        mixed = rows.take(order[: cut + most])
        outcomes = Outcomes(mixed.labels, mixed.weights / mixed.weights.mean())
        held = mixed.take(np.arange(cut))
        before = outcomes.weights[:cut] * target.losses(rival.predict(held.predictions, held.membership), held.labels)
        losses: boost.Losses = OneWhole(target, outcomes)
        if not target.coupled:
            scales = [Matching(one.predicted, part.link) for one, part in zip(target.coordinates, ground.links, strict=True)]
            losses = OwnScales(target, scales, outcomes)
        start = _starts(ground, mixed)
        seen = np.column_stack(ground.looked_at(Arrays(), list(mixed.predictions.T)))
        stood = start[:, :cut] if rival is ground or rival.together is None else _starts(rival, held)
        return cls(boost.Trial(start, cut, losses, seen, mixed.membership, rounds), start, before, stood, unit[:cut])

    def by_unit(self, values: Array) -> Array:
        """Sums over what shares its luck, of the rows held out."""
        return np.bincount(self.unit, weights=values).astype(np.float64)

    @cached_property
    def evidence(self) -> float:
        """By how many standard errors the rows held out lean towards the trees from where these started."""
        held = self.trial.held
        lean, known = held.leans(self.start[:, : len(self.unit)], self.trial.there)
        return z_statistic(self.by_unit(lean), float(known.sum()))

    @cached_property
    def mixture(self) -> Mixture | None:
        """Of the rival and the trees, where columns share one whole."""
        held = self.trial.held
        return Mixture.of(self.stood, self.trial.there, held.codes, held.outcomes.weights) if isinstance(held, OneWhole) else None

    @cached_property
    def after(self) -> Array:
        """What trees lose on the rows held out, mixed as the other half of them chooses."""
        held, there = self.trial.held, self.trial.there
        return held.losses(
            crossed(self.stood, there, held.codes, held.outcomes.weights, self.unit) if isinstance(held, OneWhole) else there
        )


def _enough(rows: Rows, held_out: int) -> bool:
    """Whether one row, or cluster, of so many can say anything."""
    units = len(rows) if rows.cluster is None else np.unique(rows.cluster).size
    return len(rows) >= boost.LEAST_ROWS and units // held_out >= NEEDED_ROWS


def _starts(ground: ColumnsPredictor, rows: Rows) -> Array:
    """What trees stand on: (columns, rows)."""

    def formula(by: Evaluator, columns: list[Any], members: Members) -> list[Any]:
        return ground.starts(by, columns, members)

    return np.ascontiguousarray(in_memory(formula, rows.predictions, rows.membership).T)


def without_patches(predictor: ColumnsPredictor) -> ColumnsPredictor:
    """Parts of single columns that trees may stand on: curves and groups; patches would move what the trees have put right."""
    return replace(predictor, parts=[replace(part, rounds=[]) for part in predictor.links])
