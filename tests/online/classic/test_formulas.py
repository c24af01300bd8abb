"""The formulas of A and of the printed form, written out once more on asymmetric numbers: changing one must fail here."""

from __future__ import annotations

import math

import numpy as np
import pytest

from multivalid.online.classic.hedge import CellWeights, GroupWeights
from multivalid.online.classic.transcript import Transcript

C, RISE = 0.8, 0.05


def played(kind: type, horizon: int | None = None) -> GroupWeights | CellWeights:
    t = Transcript(groups=3, levels=4)
    weights = kind(t, C, RISE, horizon)
    rng = np.random.default_rng(0)
    for _ in range(40):
        active = np.append(0, 1 + np.flatnonzero(rng.random(2) < 0.5))
        level, value = int(rng.integers(4)), float(rng.uniform(-0.8, 0.5))
        n, r = t.add(active, level, value, 1.0)
        weights.update(active, level, value, 1.0, n, r)
    return weights


@pytest.mark.parametrize(("late", "weighted"), [(0, False), (3, False), (0, True)])
def test_bound_of_a(late: int, weighted: bool) -> None:
    weights = played(GroupWeights)
    weights.weighted = weighted
    middle = C**2 * 4 * (1 + math.log(40 / 4)) * (3 if weighted else 1) * (1 + 4 * late)
    expected = C * RISE * 40 + middle + 4 * C**2 * math.sqrt(40 * math.log(3)) + 16 * C**2 * late * math.sqrt(40 * math.log(3))
    assert weights.bound(late) == pytest.approx([expected] * 3, rel=1e-12)


def test_bound_of_a_with_a_horizon() -> None:
    rate = math.sqrt(2 * math.log(3) / 100) / (2 * C**2)
    expected = C * RISE * 40 + C**2 * 4 * (1 + math.log(10)) + math.log(3) / rate + rate * 40 * (2 * C**2) ** 2 / 2
    assert played(GroupWeights, 100).bound(0) == pytest.approx([expected] * 3, rel=1e-12)


def test_printed_figure() -> None:
    printed = 2 * C * RISE + 2 * C**2 * math.log(40) / 40 + 12 * C**2 * math.sqrt(math.log(3 * 4) / 40)
    weights = played(CellWeights)
    assert weights.bound(0) == pytest.approx([printed * 40] * 3, rel=1e-12)
    assert np.isinf(weights.bound(1)).all()


def test_losses_of_the_printed_form() -> None:
    weights, active = played(CellWeights), np.array([0, 2])
    t, values = weights.transcript, np.array([[-0.7, 0.3], [-0.5, 0.1], [0.2, 0.4], [-0.1, 0.6]])
    rate = math.sqrt(math.log(12) / (4 * 41)) / (3 * C**2)
    share = {(j, g): math.exp(rate * weights.loss[j, g]) for j in range(4) for g in range(3)}
    total = sum(share.values())
    for j in range(4):
        for k in range(2):
            v = values[j, k]
            expected = sum(share[j, g] / total * (2 * v * t.r[j, g] + v * v) / max(t.n[j, g], 1) for g in (0, 2))
            assert weights.losses(active, values)[j, k] == pytest.approx(expected, rel=1e-10)


def test_what_the_printed_form_charges() -> None:
    """ℓ = w·(2VR + V²)/n with n and R as they were before the round, and n = 1 in a cell never played."""
    t, rng = Transcript(groups=3, levels=4), np.random.default_rng(2)
    weights, n, r, loss = CellWeights(t, C, RISE, None), np.zeros((4, 3)), np.zeros((4, 3)), np.zeros((4, 3))
    for _ in range(60):
        active = np.append(0, 1 + np.flatnonzero(rng.random(2) < 0.5))
        level, value, w = int(rng.integers(4)), float(rng.uniform(-0.8, 0.5)), float(rng.choice([1.0, 0.3]))
        for g in active:
            loss[level, g] += w * (2 * value * r[level, g] + value**2) / max(n[level, g], 1.0)
            n[level, g] += w
            r[level, g] += w * value
        weights.update(active, level, value, w, *t.add(active, level, value, w))
    np.testing.assert_allclose(weights.loss, loss, rtol=1e-10)


def test_a_mean_is_not_told_to_take_a_larger_constant() -> None:
    """Labels that react to the level drawn break the promise although L is right; the advice must not blame L."""
    from tests.online.classic.make import classic

    learner = classic("mean", 0, m=20, seed=1)
    for _ in range(4000):
        p = learner.predict_one([])
        learner.learn_one([], 0.0 if p > 0.5 else 1.0)
    assert learner.alarm
    assert learner.error() > learner.bound()
    assert "reacted" in learner.alarm.advice
    assert "larger lipschitz" not in learner.alarm.advice
    assert "larger lipschitz" in _advice_for_quantile()


def _advice_for_quantile() -> str:
    from tests.online.classic.make import classic

    learner = classic("quantile:0.6", 0, m=100, seed=1)
    rng = np.random.default_rng(0)
    for _ in range(3000):
        learner.learn_one([], float(rng.choice([0.2049, 0.4049, 0.6049, 0.8049])))
    assert learner.alarm
    return learner.alarm.advice


def test_losses_of_a_follow_the_transcript() -> None:
    """c(γ) = Σ over active groups of weight · 2R/(n + 1), written out; what is kept from round to round is what a rebuild gives."""
    weights, active = played(GroupWeights), np.array([0, 2])
    t, values = weights.transcript, np.array([[-0.7, 0.3], [-0.5, 0.1], [0.2, 0.4], [-0.1, 0.6]])
    rate = math.sqrt(math.log(3) / 41) / (2 * C**2)
    share = [math.exp(rate * weights.loss[g]) for g in range(3)]
    c = [sum(share[g] / sum(share) * 2 * t.r[j, g] / (t.n[j, g] + 1) for g in (0, 2)) for j in range(4)]
    for _ in range(2):
        assert weights.coefficients(active)[0] == pytest.approx(c, rel=1e-10)
        assert weights.losses(active, values) == pytest.approx(np.array(c)[:, None] * values, rel=1e-10)
        weights.rebuild()
