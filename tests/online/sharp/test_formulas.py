"""Formulas that no whole stream pins down, written out once more on asymmetric numbers: changing one must fail here."""

from __future__ import annotations

import numpy as np
import pytest

from multivalid.online import OnlineMulticalibrator
from multivalid.online.sharp import delays, guide
from multivalid.online.sharp.play import BUCKET, COPY, GUIDE, NEARBY, OFFSET, OTHERS, PREDICTION, SCALE, SHARE, SIZE
from multivalid.online.sharp.promise import FLOORS, KAPPA, cell_bounds, squared_bounds
from multivalid.online.sharp.ranges import grow
from multivalid.online.sharp.span import span_of
from multivalid.online.sharp.tables import BASE_MEAN, BASE_SQUARES, BOUND, MISS, ROUNDS, START, Tables
from multivalid.online.sharp.walk import pull_of
from multivalid.properties.parse import parse


def after(rounds: int, spec: str = "mean") -> OnlineMulticalibrator:
    """A learner with a range of its own that has seen something."""
    learner, rng = OnlineMulticalibrator(spec, 2), np.random.default_rng(3)
    for _ in range(rounds):
        x = rng.random(2) < (0.3, 0.7)
        learner.predict_one(x, float(rng.uniform(0.2, 1.0)))
        learner.learn_one(x, float(rng.gamma(2.0, 0.2)), float(rng.choice([1.0, 0.5])))
    return learner


def test_what_growing_does_to_every_number() -> None:
    learner = after(150)
    engine, t = learner._engine, learner._engine.tables
    before = {
        name: getattr(t, name).copy() for name in ("running", "regret", "spread", "up", "down", "far", "weight", "edge", "kept")
    }
    (lo, hi), bound = engine.labels, float(t.setting[BOUND])
    wide = (lo, lo + 4 * (hi - lo))
    assert grow(t, span_of(parse("mean"), wide)) == 2
    shrink = 0.25
    assert t.setting[BOUND] == pytest.approx(4 * bound)
    assert t.edge == pytest.approx(shrink * before["edge"])
    assert t.kept[:150] == pytest.approx(shrink * before["kept"][:150])
    assert t.running[[BASE_MEAN, START, MISS]] == pytest.approx(shrink * before["running"][[BASE_MEAN, START, MISS]])
    assert t.running[BASE_SQUARES] == pytest.approx(shrink**2 * before["running"][BASE_SQUARES])
    assert t.regret == pytest.approx(before["regret"] * shrink / 4)  # V(ḡ)·(ḡ − g) over C·range
    assert t.spread == pytest.approx(before["spread"] * (shrink / 4) ** 2)
    floor = 1 / (before["weight"] + 1) ** 2
    for name in ("up", "down"):
        now = getattr(t, name)
        assert now[..., :-2] == pytest.approx(before[name][..., 2:])
        assert now[..., -2:] == pytest.approx(np.stack([floor, floor], axis=-1))
    assert t.owed == pytest.approx(sum(0.5**k * (t.up[..., k] - t.down[..., k]) for k in range(t.rates)))


def test_a_grown_range_and_labels_outside_it_are_counted_in_the_promise() -> None:
    t = Tables(groups=2, buckets=3, rates=24, copies=1)
    t.setting[3:7] = 0.9, 0.1, 0.9, 0.1
    t.count[1, 2], t.square[1, 2] = 4000.0, 300.0
    need = np.log((FLOORS + 2) * 24 * (1 + 0.1 * 2 * 3) / (0.1 * 0.9))
    expected = min(KAPPA * (2.0**-k / 1.8) * 300.0 + need * 1.8 * 2.0**k for k in range(22))
    above, below = cell_bounds(t, open_at_once=1, lost_rates=2, extra=0.0)
    assert above[1, 2] == pytest.approx(expected, rel=1e-12)
    excess = np.zeros((2, 3))
    excess[1, 2] = 7.0
    most = max(above[1, 2], below[1, 2]) + 7.0
    assert squared_bounds(t, above, below, excess)[1] == pytest.approx(most**2 / 4000.0, rel=1e-12)


def test_bets_and_steps_while_outcomes_are_open() -> None:
    learner = OnlineMulticalibrator("mean", 1, labels=(0.0, 1.0))
    for others in range(4):  # no copy is free from the second on
        learner.ask([True])
        play = list(learner._open.values())[-1]
        assert play.numbers[OTHERS] == others
        assert play.numbers[SCALE] == pytest.approx(1 / (1 + others))
    steps = []
    for others in (0.0, 3.0):
        t = OnlineMulticalibrator("mean", 1, labels=(0.0, 1.0))._engine.tables
        numbers = np.zeros(SIZE)
        numbers[[OTHERS, GUIDE]] = others, 0.4
        guide.teach(t, np.array([0, 1]), numbers, np.full(13, -0.3), 0.7, 1.0)
        steps.append(t.slow[1].copy())
    assert (steps[0] > 0).all()
    assert steps[1] == pytest.approx(steps[0] / 2)  # 1/√(1 + 3)


def test_a_batch_is_paid_together() -> None:
    t = OnlineMulticalibrator("quantile:0.8", 1, labels=(0.0, 1.0), batch=4)._engine.tables
    told = []
    for share, value, weight in ((0.25, -0.8, 1.0), (1.0, 0.2, 0.5), (0.25, 0.2, 0.4)):
        numbers = np.zeros(SIZE)
        numbers[[COPY, BUCKET, SHARE, OFFSET, NEARBY, PREDICTION]] = 0, 3, share, 0.1, -0.6, 0.5
        told.append((np.array([0, 1]), numbers, value, weight))
    delays.pay_batch(t, told, 4)
    gain = {3: (0.25 * -0.8 + 0.5 * 0.2 + 0.25 * 0.4 * 0.2) / 4, 4: (0.75 * -0.8 + 0.75 * 0.4 * 0.2) / 4}
    stake = {3: (0.25 + 0.5 + 0.1) / 4, 4: (0.75 + 0.3) / 4}
    for bucket, won in gain.items():
        assert t.weight[0, 1, bucket] == pytest.approx(stake[bucket])
        floor = 1 / (stake[bucket] + 1) ** 2
        assert t.up[0, 1, bucket] == pytest.approx([max(1 + won * 0.5**k / (2 * 0.8), floor) for k in range(16)])
        assert t.down[0, 1, bucket] == pytest.approx([max(1 - won * 0.5**k / (2 * 0.2), floor) for k in range(16)])
    total = (-0.8 + 0.5 * 0.2 + 0.4 * 0.2) / 4
    assert t.played[0] == pytest.approx((1 + 0.5 + 0.4) / 4)
    assert t.far[0] == pytest.approx([1 + total * 0.1 * 0.5**k / (2 * 0.8) for k in range(16)])
    assert t.near[0] == pytest.approx([1 - total * 0.6 * 0.5**k / (2 * 0.8) for k in range(16)])


@pytest.mark.parametrize(("miss", "typical"), [(0.0, 1e-6), (3e-4, 3e-4), (0.2, 0.2)])
def test_the_typical_miss_has_a_floor_far_below_any_range(miss: float, typical: float) -> None:
    t = OnlineMulticalibrator("mean", 1, labels=(0.0, 1.0))._engine.tables
    assert pull_of(t, 0).typical == 1.0  # before the first round
    t.running[[ROUNDS, MISS]] = 50.0, 50.0 * miss
    assert pull_of(t, 0).typical == pytest.approx(typical)
