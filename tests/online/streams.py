"""Streams to test against: fixed law, drift, and an adversary that looks at the learner's state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from multivalid.online import OnlineMulticalibrator

KINDS = ("iid", "drifting", "adaptive")
PROPERTIES = {"mean": 1.0, "quantile:0.9": 2.5, "expectile:0.8": None}  # with the Lipschitz constant of these streams


def labels(kind: str, x: np.ndarray, t: int, rounds: int, learner: OnlineMulticalibrator, rng: np.random.Generator) -> float:
    """A label from a law of density at most 2.5 on [0, 1]; the adaptive one reacts to all that has happened, not to the draw."""
    if kind == "iid":
        start = 0.6 * x.mean()
    elif kind == "drifting":
        start = 0.3 + 0.3 * np.sin(6 * np.pi * t / rounds) * (1 if x[0] else -1)
    else:
        # Push against whatever the learner's own sums say of the groups of this round.
        active = np.append(0, 1 + np.flatnonzero(x))
        start = 0.0 if learner._engine.transcript.r[:, active].sum() > 0 else 0.6
    return float(start + 0.4 * rng.random())


def run(learner: OnlineMulticalibrator, kind: str, rounds: int, seed: int, groups: int = 7) -> Iterator[tuple[Any, float, float]]:
    """Play the stream; yields (x, prediction, label) after each round."""
    rng = np.random.default_rng(seed)
    for t in range(rounds):
        x = rng.random(groups) < 0.4
        prediction = learner.predict_one(x)
        y = labels(kind, x, t, rounds, learner, rng)
        learner.learn_one(x, y)
        yield x, prediction, y


def same(a: OnlineMulticalibrator, b: OnlineMulticalibrator) -> bool:
    """Whether two learners are in the same state to the last bit."""
    from multivalid.online.state import state_of

    return state_of(a) == state_of(b)
