"""Streams that see the whole state, the published number, its bucket and share, and then choose the label."""

from __future__ import annotations

from typing import Any

import numpy as np

from multivalid.online import OnlineMulticalibrator
from multivalid.online.sharp.tables import LENGTH, LO


def candidates(lo: float, hi: float, p: float) -> list[float]:
    """Labels that matter: the ends, the number itself, its neighbours, and some between."""
    near = [p, float(np.nextafter(p, np.inf)), float(np.nextafter(p, -np.inf)), (lo + p) / 2, (hi + p) / 2]
    return [min(max(y, lo), hi) for y in (lo, hi, *near)]


def push_the_worst_cell(learner: OnlineMulticalibrator, play: Any, options: list[float], rng: np.random.Generator) -> float:
    """The label that drives the sum of the play's cells further from zero."""
    t = learner._engine.tables
    drift = sum(share * t.sum[play.active, bucket].sum() for bucket, share in play.buckets)
    values = learner.property.identify(np.full(len(options), play.prediction), np.array(options))
    return options[int(np.argmax(values if drift >= 0 else -values))]


def always_too_low(learner: OnlineMulticalibrator, play: Any, options: list[float], rng: np.random.Generator) -> float:
    """The label that makes V smallest, then for a while largest."""
    values = learner.property.identify(np.full(len(options), play.prediction), np.array(options))
    return options[int(np.argmin(values) if (learner.rounds // 97) % 2 == 0 else np.argmax(values))]


def at_an_edge(learner: OnlineMulticalibrator, play: Any, options: list[float], rng: np.random.Generator) -> float:
    """A label exactly at an edge of the buckets, or what was published."""
    t = learner._engine.tables
    edge = t.setting[LO] + t.setting[LENGTH] * t.edge[int(rng.integers(t.edge.size))]
    return float(edge) if rng.random() < 0.5 else options[2]


def mostly_lowest(learner: OnlineMulticalibrator, play: Any, options: list[float], rng: np.random.Generator) -> float:
    """An atom at the lower end."""
    return options[0] if rng.random() < 0.6 else options[int(rng.integers(len(options)))]


ADVERSARIES = (push_the_worst_cell, always_too_low, at_an_edge, mostly_lowest)


def attack(learner: OnlineMulticalibrator, adversary: Any, rounds: int, seed: int, groups: int, offset: float = 0.0) -> float:
    """Play; returns the largest rise of W in one round, over W, that floors do not explain."""
    from multivalid.online.sharp import bets

    rng, worst = np.random.default_rng(seed), -1.0
    lo, hi = learner._engine.labels
    for _ in range(rounds):
        x = rng.random(groups) < 0.4
        learner.predict_one(x, float(rng.uniform(lo, hi)) if rng.random() < 0.5 else None)
        play = learner._pending
        y = adversary(learner, play, candidates(lo, hi, play.prediction), rng)
        weight = float(rng.choice([1.0, 0.3])) if y > play.prediction else 1.0  # weights may depend on the label
        before, rise = bets.total(learner._engine.tables), exact_rise(learner, play, y, weight)
        worst = max(worst, rise / before)
        learner.learn_one(x, y, weight)
        assert bets.total(learner._engine.tables) <= 1.645
    return worst


def exact_rise(learner: OnlineMulticalibrator, play: Any, y: float, weight: float) -> float:
    """By how much W would change without floors: weight·V·Σ share·c, over what W started with."""
    from multivalid.online.sharp.play import OFFSET
    from multivalid.online.sharp.walk import debts, pull_of

    t = learner._engine.tables
    owed, pull = debts(t, play.active, 0), pull_of(t, 0)
    c = sum(share * owed[bucket] for bucket, share in play.buckets) + pull(float(play.numbers[OFFSET]))
    value = float(learner.property.identify(play.prediction, y))
    return weight * value * c / (1.0 + 0.1 * t.groups * t.buckets)
