"""The fast learner against the slow one that recomputes everything from the history."""

from __future__ import annotations

import numpy as np
import pytest

from multivalid.online import OnlineMulticalibrator
from multivalid.properties.parse import parse
from tests.online.classic.make import classic
from tests.reference.online_naive import Naive


def twins(spec: str, algorithm: str, horizon: int | None, labels: tuple[float, float]) -> tuple[OnlineMulticalibrator, Naive]:
    fast = classic(spec, 3, m=6, algorithm=algorithm, horizon=horizon, labels=labels, seed=11)
    setup = fast.setup
    prop = parse(spec)
    slow = Naive(
        setup.grid.points.tolist(), 4, lambda g, y: float(prop.identify(g, y)), setup.facts.bound, setup.slack.tolist(), algorithm,
        horizon, setup.grid.lo, setup.grid.hi,
    )  # fmt: skip
    return fast, slow


@pytest.mark.parametrize("with_base", [False, True])
@pytest.mark.parametrize("horizon", [None, 90])
@pytest.mark.parametrize("algorithm", ["A", "B"])
@pytest.mark.parametrize("spec", ["mean", "quantile:0.7", "expectile:0.8"])
def test_same_plays_and_error(spec: str, algorithm: str, horizon: int | None, with_base: bool) -> None:
    labels = (-2.0, 3.0)
    fast, slow = twins(spec, algorithm, horizon, labels)
    rng = np.random.default_rng(5)
    for _ in range(90):
        x = rng.random(3) < 0.5
        active = [0, *(1 + np.flatnonzero(x)).tolist()]
        base = float(rng.uniform(-2, 3)) if with_base else None
        draw = float(np.random.Generator(np.random.PCG64(11).advance(fast._draws.used)).random())
        level = slow.play(active, base, draw)
        guess = None if with_base else slow.guess(active)
        assert fast.predict_one(x, base) == slow.points[level]
        y, weight = float(rng.uniform(-2, 3)) * (0.3 if x[0] else 1.0), float(rng.choice([1.0, 0.5, 0.25]))
        fast.learn_one(x, y, weight)
        slow.learn(active, level, y, weight, guess)
        expected = [slow.coefficient(active, j) for j in range(6)]
        np.testing.assert_allclose(fast._engine.weights.coefficients(np.array(active))[0], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fast._engine.transcript.squared(), [slow.k2(g) for g in range(4)], rtol=1e-12)
    if algorithm == "B":
        assert fast._engine.weights.evidence == pytest.approx(slow.wealth(), rel=1e-12)
