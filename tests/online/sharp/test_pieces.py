"""Ranges, edges, queues, promises and the table of the sharp learner, each written out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import multivalid as mv
from multivalid.online import OnlineMulticalibrator
from multivalid.online.sharp.delays import Queue
from multivalid.online.sharp.edges import FIRST, keep_guide, renew, scramble
from multivalid.online.sharp.fan import FanPlay
from multivalid.online.sharp.guide import _describe_base, log_odds
from multivalid.online.sharp.play import (
    BUCKET,
    COPY,
    EXPERT,
    FROM,
    GUIDE,
    HAS_BASE,
    HAT,
    HAT_SHARE,
    OFFSET,
    OTHERS,
    PREDICTION,
    SCALE,
    SHARE,
    SIZE,
    STAMP,
    TILT,
    WIDTH,
    Play,
)  # fmt: skip
from multivalid.online.sharp.promise import cell_bounds, squared_bounds
from multivalid.online.sharp.ranges import carry_over, first_range, grown_range
from multivalid.online.sharp.span import kind_of, span_of
from multivalid.online.sharp.tables import BASE_MEAN, BASE_SQUARES, BASES, GUIDES, KEPT, MISS, ROUNDS, START, USED, Tables
from multivalid.online.sharp.walk import Pull, debts, pull_of


# ---- ranges -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("prop", "span"),  # lo, length, lowest − lo, |V_min|, V_max for labels in [1, 4]
    [
        (mv.Mean(), (1, 3, 0, 3, 3)),
        (mv.Expectile(0.8), (1, 3, 0, 4.8, 1.2)),
        (mv.Quantile(0.8), (1, 3, -3e-12, 0.8, 0.2)),
        (mv.Moment(2), (1, 15, 0, 15, 15)),
        (mv.Huber(0.7), (1, 3, 0, 0.7, 0.7)),
    ],
    ids=repr,
)
def test_what_a_range_of_labels_implies(prop, span):
    made = span_of(prop, (1.0, 4.0))
    assert (made.lo, made.length, made.low_value, made.high_value) == pytest.approx((*span[:2], *span[3:]))
    assert made.lowest - made.lo == pytest.approx(span[2], abs=1e-15)
    kinds = {"Mean": (2, 0.5), "Expectile": (2, 0.8), "Quantile": (1, 0.8)}
    assert kind_of(prop) == kinds.get(type(prop).__name__, (0, 0.5))


def test_ranges_that_begin_and_grow():
    assert first_range(3.0, 1.0) == (-1.0, 5.0)
    assert first_range(10.0, 9.0) == (4.0, 15.0)
    assert first_range(0.0, 0.0) == (-1e-12, 1e-12)
    assert grown_range(1.0, 3.0, 3.1) == (1.0, 5.0)
    assert grown_range(1.0, 3.0, -3.1) == (-5.0, 3.0)
    assert grown_range(1.0, 3.0, 5.0) == (1.0, 5.0)


def test_a_play_is_carried_over_to_another_range():
    t = Tables(1, 3, 4, 1)
    t.setting[:2] = -1.0, 8.0
    play = np.arange(SIZE) / 40
    play[[FROM, WIDTH]] = 1.0, 2.0
    before = play.copy()
    carry_over(t, play)
    for place in (GUIDE, *range(EXPERT, SIZE)):
        assert -1 + 8 * play[place] == pytest.approx(1 + 2 * before[place]), "the same prediction in either range"
    assert play[OFFSET] == pytest.approx(before[OFFSET] / 4)
    assert play[[FROM, WIDTH]].tolist() == [-1, 8]
    again = play.copy()
    carry_over(t, again)
    np.testing.assert_array_equal(again, play)


# ---- edges ------------------------------------------------------------------------------------------------------------
def test_the_known_stream_of_splitmix():
    assert [scramble(k * 0x9E3779B97F4A7C15 & (1 << 64) - 1) for k in range(3)] == [
        0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F,
    ]  # fmt: skip


@pytest.mark.parametrize("ties", [False, True])
def test_edges_are_quantiles_of_the_guides(ties):
    t, rng = Tables(1, 5, 4, 1), np.random.default_rng(0)
    guides = np.round(rng.random(130), 1) if ties else rng.random(130)
    for k, guide in enumerate(guides):
        keep_guide(t, guide)
        renewed = [size for size in (64, 128) if size <= k + 1]
        if not renewed:
            np.testing.assert_allclose(t.edge, [0.2, 0.4, 0.6, 0.8])
            continue
        ordered = sorted(guides[: renewed[-1]])
        wanted = sorted({ordered[i * renewed[-1] // 5] for i in (1, 2, 3, 4)} - {0.0, 1.0})
        assert int(t.running[USED]) == len(wanted) + 1
        np.testing.assert_array_equal(t.edge[: len(wanted)], wanted)
    assert (FIRST, int(t.running[GUIDES])) == (64, 130)


def test_who_is_replaced_in_the_sample():
    t = Tables(1, 3, 4, 1)
    t.running[GUIDES], t.kept[:] = 3000, 0.25
    slots = []
    for seen in range(3000, 3050):
        before = t.kept.copy()
        keep_guide(t, 0.5 + seen / 1e5)
        slots += [(seen, int(at)) for at in np.flatnonzero(t.kept != before)]
    assert slots == [(seen, scramble(seen) % (seen + 1)) for seen in range(3000, 3050) if scramble(seen) % (seen + 1) < KEPT]
    assert len(slots) > 5
    t.kept[:4] = 0.0, 1.0, 0.5, 0.5
    renew(t, 4)
    assert (int(t.running[USED]), t.edge[0]) == (2, 0.5)


# ---- a guess and how it is held ---------------------------------------------------------------------------------------
# base, position, standard deviations from the mean, hat function below and share of the one above
BASES_TOLD = [(2.01, 0.505, 0.525, 5, 0.05), (1.3, 0.15, -1.25, 1, 0.5), (9.0, 1.0, 2.0, 8, 1.0), (2.25, 0.625, 1.125, 6, 0.5)]


def test_what_is_told_of_a_base():
    t = OnlineMulticalibrator("mean", 0, labels=(1.0, 3.0))._engine.tables
    t.running[[BASES, BASE_MEAN, BASE_SQUARES, START]] = 9.0, 0.4, 9 * 0.04, 0.7
    play = np.zeros(SIZE)
    assert _describe_base(t, float("nan"), play) == 0.7
    assert (play[HAS_BASE], play[TILT]) == (0, 0)
    for base, position, tilt, hat, share in BASES_TOLD:
        assert _describe_base(t, base, play) == pytest.approx(position)
        assert play[[HAS_BASE, TILT, HAT, HAT_SHARE]].tolist() == pytest.approx([1, tilt, hat, share], abs=1e-12)
    t.running[BASES] = 1.0
    _describe_base(t, 2.0, play)
    assert play[TILT] == 0
    assert log_odds(0.2) == pytest.approx(math.log(0.25))
    assert log_odds(0.0) == pytest.approx(math.log(1e-6 / (1 - 1e-6)))


def test_what_holds_a_prediction_at_its_guide():
    pull = Pull(far=0.3, near=0.2, typical=0.05)
    for offset in (-0.4, -0.05, -0.02, 0.0, 0.03, 0.05, 0.3):
        size = 0.3 * offset + 0.2 * min(max(offset / 0.05, -1), 1)
        assert pull(offset) == pytest.approx(size)
        if offset >= 0:
            assert pull.distance(size) == pytest.approx(offset)
    t = OnlineMulticalibrator("quantile:0.8", 2, labels=(0.0, 2.0))._engine.tables
    t.far[0, :], t.near[0, :] = np.arange(1, t.rates + 1), 3.0
    t.running[[ROUNDS, MISS]] = 50.0, 4.0
    rate = 0.5 ** np.arange(t.rates)
    found = pull_of(t, 0)
    assert found == pytest.approx((t.far[0] @ rate / (4 * t.rates * 0.8), 3 * rate.sum() / (4 * t.rates * 0.8), 0.08))
    t.owed[0] = np.arange(3 * t.buckets).reshape(3, -1)
    wanted = 0.1 / (2 * t.rates * (0.8 + 0.2)) * (t.owed[0, 0] + t.owed[0, 2])
    np.testing.assert_allclose(debts(t, np.array([0, 2]), 0), wanted)


# ---- outcomes that come late ------------------------------------------------------------------------------------------
def test_copies_are_taken_in_turn():
    queue, plays = Queue(copies=2, batch=1), []
    for copy, others, scale in ((0, 0, 1.0), (1, 1, 1.0), (0, 2, 1 / 3), (1, 3, 1 / 4)):
        numbers = np.zeros(SIZE)
        queue.place(numbers, 1)
        assert numbers[[COPY, OTHERS, SCALE]].tolist() == pytest.approx([copy, others, scale])
        queue.begin(numbers)
        plays.append(numbers)
    queue.paid_alone(plays[0])
    assert queue.proven
    queue.paid_alone(plays[2])
    assert not queue.proven
    assert queue.waiting == [0, 2]
    assert queue.paid == [2, 0]


def test_batches_are_paid_when_they_are_complete():
    queue, plays = Queue(copies=1, batch=3), []
    for k in range(4):
        numbers = np.zeros(SIZE)
        queue.place(numbers, 1)
        assert numbers[SCALE] == pytest.approx(1 / 3 if k < 3 else 1 / (3 * 4))
        queue.begin(numbers)
        plays.append(numbers)
    told = [(np.array([0]), one, 0.5, 1.0) for one in plays[:3]]
    assert queue.close(plays[0], told[0]) is None
    assert queue.close(plays[1], None) is None
    assert queue.close(plays[2], told[2]) == [told[0], told[2]]
    assert (queue.paid, queue.waiting, queue.proven) == ([1], [1], True)
    assert queue.at_once(plays[3])
    assert not queue.at_once(plays[0])
    queue.paid_alone(plays[3])
    assert not queue.proven
    together = Queue(copies=1, batch=4)
    numbers = np.zeros(SIZE)
    together.place(numbers, 4)
    assert numbers[[OTHERS, SCALE, STAMP]].tolist() == [3, 0.25, 0]
    together.place(numbers, 5)
    assert numbers[SCALE] == pytest.approx(1 / (4 * 5))


# ---- what is promised, and the table ----------------------------------------------------------------------------------
@pytest.mark.parametrize(("open_at_once", "lost", "extra"), [(1, 0, 0.0), (3, 2, 1.5), (2, 16, 0.0)])
def test_the_promise_of_every_cell(open_at_once, lost, extra):
    t = Tables(groups=2, buckets=3, rates=16, copies=1)
    t.setting[3:7] = 0.8, 0.2, 0.8, 0.1
    rng = np.random.default_rng(0)
    t.count[:], t.square[:] = rng.integers(0, 900, (2, 3)), rng.uniform(0, 300, (2, 3))
    sides = cell_bounds(t, open_at_once=open_at_once, lost_rates=lost, extra=extra)
    for found, (mine, other) in zip(sides, ((0.8, 0.2), (0.2, 0.8)), strict=True):
        need = open_at_once * (math.log((1.645 + lost) * 16 * (1 + 0.1 * 6) / (0.1 * mine)) + extra)
        for g in range(2):
            for b in range(3):
                kappa = 4 * (math.log(2) - 0.5)
                rates = [0.5 ** (k + 1) for k in range(16 - lost)]
                room = [kappa * rate / mine * t.square[g, b] + need * mine / rate for rate in rates]
                assert found[g, b] == pytest.approx(min([*room, other * t.count[g, b]]))
    excess = rng.random((2, 3))
    most = np.maximum(*sides) + excess
    wanted = [sum(most[g, b] ** 2 / max(t.count[g, b], 1) for b in range(3)) for g in range(2)]
    np.testing.assert_allclose(squared_bounds(t, *sides, excess), wanted)


def test_the_table_of_groups():
    learner, rng = OnlineMulticalibrator("mean", 2, labels=(0.0, 2.0), m=4), np.random.default_rng(1)
    for _ in range(200):
        x = rng.random(2) < (0.3, 0.7)
        learner.predict_one(x, float(rng.uniform(0.2, 1.8)))
        learner.learn_one(x, float(rng.uniform(0, 2)), float(rng.choice([1.0, 0.5])))
    t, table = learner._engine.tables, learner.table()
    total = t.count[0].sum()
    for g in range(3):
        parts = [t.sum[g, b] ** 2 / t.count[g, b] if t.count[g, b] else 0.0 for b in range(4)]
        worst = int(np.argmax(parts))
        assert table["error"][g] == pytest.approx(sum(parts) / total)
        assert table["l1"][g] == pytest.approx(sum(abs(r) for r in t.sum[g]) / total)
        assert table["linf"][g] == pytest.approx(max(abs(r) for r in t.sum[g]) / total)
        assert table["prediction"][g] == pytest.approx(t.level[g].sum() / t.count[g].sum())
        assert table["worst_bucket"][g] == worst
        assert table["worst_level"][g] == pytest.approx(t.level[g, worst] / t.count[g, worst])
        assert table["bound"][g] == pytest.approx(learner._engine.bounds()[g] / total)


def test_several_levels_never_cross():
    numbers = [np.zeros(SIZE) for _ in range(3)]
    for one, value in zip(numbers, (2.0, 1.0, 3.0), strict=True):
        one[[PREDICTION, SHARE, BUCKET]] = value, 1.0, 1
    fan = FanPlay(tuple(Play(np.array([0]), one) for one in numbers))
    assert fan.prediction.tolist() == [2.0, 2.0, 3.0]


def test_what_was_published_instead_is_counted():
    learner = OnlineMulticalibrator("quantiles:0.2,0.8", 1, labels=(0.0, 1.0), m=3)
    engine = learner._engine
    low, high = engine.levels
    play = engine.play(np.array([0, 1]), np.array([0.9, 0.1]), learner._draws)
    said, asked = play.prediction, [part.prediction for part in play.plays]
    assert asked[1] < said[1] == said[0]
    engine.begin(play)
    y = (asked[1] + said[1]) / 2
    engine.settle(play, y, 0.5)
    assert low.excess.sum() == 0
    np.testing.assert_allclose(high.excess.sum(axis=1), 0.5)  # V is 0.2 where it was published and −0.8 where it was asked for
    np.testing.assert_allclose(high.tables.level.sum(axis=1), 0.5 * said[1])
