"""The monitor's evidence against a slow twin, and that its level is what it says."""

from __future__ import annotations

import json

import numpy as np
import pytest

import multivalid as mv
from multivalid.online.evidence import CEILING, RATES, tilts
from multivalid.online.monitor_reading import off_now
from tests.kernels.both import loop  # noqa: F401 - a fixture
from tests.reference.monitor_naive import NaiveGroup, tilt


def stream(rounds: int, seed: int, groups: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    member = rng.random((rounds, groups)) < [0.5, 0.2, 0.02][:groups]
    p = np.round(rng.beta(1, 4, rounds), 2)  # ties, and a skewed law
    return member, p, rng.random(rounds) < np.clip(p + 0.15 * member[:, 0], 0, 1)


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize("tolerance", [0.0, 0.03])
def test_evidence_is_that_of_the_slow_twin(tolerance: float) -> None:
    member, p, y = stream(330, 1)
    monitor = mv.Monitor("mean", 3, tolerance=tolerance, buckets=4)
    twins = [NaiveGroup(4, tolerance) for _ in range(4)]
    edges = np.quantile(p[:256], [0.25, 0.5, 0.75])
    ends = np.array([0.0, *edges, 1.0])
    for t in range(330):
        monitor.update(member[t], p[t], y[t])
        bucket = None if t < 256 else int(np.searchsorted(edges, p[t], side="right"))
        low, high = (0.0, 1.0) if bucket is None else (ends[bucket], ends[bucket + 1])
        for g, twin in enumerate(twins):
            if g == 0 or member[t, g - 1]:
                twin.add(t, bucket, float(p[t] - y[t]), low - 1.0, high)
    table = monitor.table()
    np.testing.assert_allclose(table["evidence"], [twin.evidence() for twin in twins], rtol=1e-10)
    bets = monitor._watches[0].bets
    for g, twin in enumerate(twins):
        assert bets.begun[g].flat[bets.wealth[g].argmax()] == twin.since()


def test_rates_are_log_optimal_shifts_and_never_ruin() -> None:
    for least, most in ((-0.9, 0.1), (-0.02, 0.98), (-3.0, 5.0)):
        rates = tilts(np.array([least]), np.array([most]))[0]
        np.testing.assert_allclose(rates, [tilt(theta, -least, most) for theta in RATES], rtol=1e-12)
        assert (rates > 0).all()
        assert (1 + rates * least > 0).all()
        share = -least / (most - least)  # of `most` when the mean is zero; shifted by 0.8 in log-odds no other rate grows faster
        odds = share / (1 - share) * np.exp(0.8)
        moved = odds / (1 + odds)
        growth = moved * np.log1p(rates * most) + (1 - moved) * np.log1p(rates * least)
        assert RATES[growth.argmax()] == 0.8


@pytest.mark.usefixtures("loop")
def test_rows_may_come_in_any_portions() -> None:
    member, p, y = stream(1200, 2)
    whole, parts = mv.Monitor("mean", 3, period=100.0), mv.Monitor("mean", 3, period=100.0)
    whole.update_many(member, p, y, time=np.arange(1200))
    start, sizes = 0, np.random.default_rng(0).integers(0, 90, 200)
    for size in sizes.tolist():
        part = slice(start, start + size)
        parts.update_many(member[part], p[part], y[part], np.arange(1200)[part])
        start += size
    assert start >= 1200
    assert json.dumps(parts.to_json()) == json.dumps(whole.to_json())


def test_memory_does_not_grow() -> None:
    member, p, y = stream(30_000, 3)
    monitor = mv.Monitor("mean", 3, window=50, period=10.0)
    sizes = []
    for start in range(0, 30_000, 5_000):
        part = slice(start, start + 5_000)
        monitor.update_many(member[part], p[part], y[part], np.arange(30_000)[part])
        arrays = sum(array.nbytes for array in vars(monitor._watches[0].bets).values() if isinstance(array, np.ndarray))
        sizes.append((arrays, monitor._recent.value.size, len(monitor._periods.kept), len(monitor._first)))
        assert len(monitor._trace.points) < 200
    assert len(set(sizes)) == 1


def test_evidence_stays_a_number_for_ever() -> None:
    monitor = mv.Monitor("mean", 0)
    monitor.update_many(np.zeros((30_000, 0), bool), np.full(30_000, 0.9), np.zeros(30_000))
    table = monitor.table()
    assert CEILING / 1e3 < table["evidence"][0] < np.inf
    monitor.update_many(np.zeros((3_000, 0), bool), np.full(3_000, 0.9), np.ones(3_000))
    assert np.isfinite(monitor.table()["evidence"]).all()
    assert monitor.table()["evidence"][0] < table["evidence"][0]


def worlds(seed: int, rounds: int = 1500) -> dict[str, tuple]:
    rng = np.random.default_rng(seed)
    member = rng.random((rounds, 8)) < 0.2
    p = rng.beta(0.3, 6, rounds)
    return {
        "rare events": (("mean", {}), member, p, rng.random(rounds) < p),
        "coverage": (("quantile:0.9", {}), member, np.full(rounds, np.log(10)), rng.exponential(size=rounds)),
        "heavy tails, one side": (("mean", {"labels": (0, None)}), member, np.full(rounds, 2.0), rng.pareto(1.5, rounds)),
        "expectile": (
            ("expectile:0.8", {"labels": (0, 1)}),
            member,
            np.full(rounds, 0.8),
            (rng.random(rounds) < 0.5).astype(float),
        ),
    }


@pytest.mark.parametrize("world", list(worlds(0)))
def test_false_alarms_are_rarer_than_delta(world: str) -> None:
    # 120 streams at delta = 0.2: more than 38 false ones has probability below 1e-3 even if the chance were all of delta.
    raised = 0
    for seed in range(120):
        (property, options), member, p, y = worlds(seed)[world]
        monitor = mv.Monitor(property, 8, delta=0.2, **options)
        monitor.update_many(member, p, y)
        raised += bool(monitor.alarms)
    assert raised <= 38


def test_right_on_average_over_each_bucket_is_enough() -> None:
    # Each bucket [0, 0.5), [0.5, 1] is right on average, no single value is: bets that vary with the prediction would win here.
    raised = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = rng.choice([0.05, 0.45, 0.55, 0.95], 4000)
        truth = np.select([p == 0.05, p == 0.45, p == 0.55, p == 0.95], [0.25, 0.25, 0.75, 0.75])
        monitor = mv.Monitor("mean", 0, delta=0.2, buckets=[0.5])
        monitor.update_many(np.zeros((4000, 0), bool), p, rng.random(4000) < truth)
        raised += bool(monitor.alarms)
    assert raised <= 22  # probability below 1e-3 at 0.2


def test_tolerance_is_tolerated_and_no_more() -> None:
    rng = np.random.default_rng(0)
    y = rng.random(20_000) < 0.55
    within, beyond = mv.Monitor("mean", 0, tolerance=0.06), mv.Monitor("mean", 0, tolerance=0.02)
    for monitor in (within, beyond):
        monitor.update_many(np.zeros((20_000, 0), bool), np.full(20_000, 0.5), y)
    assert not within.alarms
    assert [alarm.says for alarm in beyond.alarms] == ["predictions too low"]


def test_one_side_sees_one_direction() -> None:
    rng = np.random.default_rng(0)
    y = rng.exponential(3.0, 4000)
    nobody = np.zeros((4000, 0), bool)
    low, high = mv.Monitor("mean", 0, labels=(0, None)), mv.Monitor("mean", 0, labels=(0, None))
    low.update_many(nobody, rng.uniform(1, 2, 4000), y)
    high.update_many(nobody, rng.uniform(5, 6, 4000), y)
    assert [alarm.says for alarm in low.alarms] == ["predictions too low"]
    assert not high.alarms  # V has no bound below: a label may be anything


def test_far_out_predictions_in_a_bucket_without_end_cannot_ruin() -> None:
    rng = np.random.default_rng(1)
    p = rng.exponential(1.0, 3000) ** 3  # far beyond the last edge
    monitor = mv.Monitor("mean", 0, labels=(0, None))
    monitor.update_many(np.zeros((3000, 0), bool), p, p * rng.exponential(size=3000))
    watch = monitor._watches[0]
    assert (watch._scale(p, watch.bucket(p)) < 1).any()
    assert (watch.bets.wealth >= 0).all()
    assert not monitor.alarms


def test_e_bh() -> None:
    assert off_now(np.array([399.0] + [1.0] * 19), 0.05).sum() == 0  # Bonferroni would need 400 too
    assert off_now(np.array([400.0] + [1.0] * 19), 0.05).sum() == 1
    assert off_now(np.array([200.0, 200.0] + [1.0] * 18), 0.05).tolist() == [True, True] + [False] * 18
    assert off_now(np.array([20.0] * 20), 0.05).all()
    assert not off_now(np.array([19.9] * 20), 0.05).any()


def test_expected_shortfall_too_low_is_found_and_right_is_not() -> None:
    rng = np.random.default_rng(2)
    loss = rng.exponential(size=20_000)
    var = np.full(20_000, np.log(20))
    member = rng.random((20_000, 1)) < 0.5
    right, short = mv.Monitor("quantile_cvar:0.95", 1), mv.Monitor("quantile_cvar:0.95", 1)
    right.update_many(member, [var, var + 1.0], loss)  # the exact expected shortfall of an exponential law
    short.update_many(member, np.stack([var, var + 0.6], axis=1), loss)
    assert not right.alarms
    assert {(alarm.coordinate, alarm.says) for alarm in short.alarms} == {
        (short.setup.watched.coordinates[1].name, "predictions too low")
    }
    assert right.setup.hypotheses == 4


def test_edges_given_are_used_from_the_first_round() -> None:
    monitor = mv.Monitor("mean", 0, buckets=[0.2, 0.6])
    monitor.update([], 0.6, 1)
    assert monitor._watches[0].bucket(np.array([0.1999, 0.2, 0.6])).tolist() == [0, 1, 2]
    assert monitor._watches[0].bets.held[0].tolist()[2:] != [0.0, 0.0, 0.0]
