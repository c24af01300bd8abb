"""The alarm: raised where the assumed slope is wrong, silent where it is right; and what jitter does about it."""

from __future__ import annotations

import numpy as np

from multivalid.online import OnlineMulticalibrator
from multivalid.online.classic.guide import Guide
from tests.online.classic.make import classic


def atoms(learner: OnlineMulticalibrator, rounds: int, seed: int = 0) -> None:
    """Labels on four atoms that lie between the levels."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        x = rng.random(2) < 0.5
        learner.learn_one(x, float(rng.choice([0.2049, 0.4049, 0.6049, 0.8049])))


def test_atoms_raise_the_alarm_and_jitter_stops_it() -> None:
    learner = classic("quantile:0.6", 2, m=100, seed=1)
    atoms(learner, 3000)
    assert learner.alarm.raised
    assert learner.alarm.round is not None
    assert learner.alarm.round <= 3000
    assert "jitter" in learner.alarm.advice
    assert "ALARM" in learner.summary()

    jittered = classic("quantile:0.6", 2, m=100, jitter=0.05, seed=1)
    assert jittered.setup.lipschitz == 1 / 0.05
    assert jittered.grid.hi == 1.05
    atoms(jittered, 3000)
    assert not jittered.alarm
    assert jittered.error() <= jittered.bound()


def test_the_alarm_is_raised_at_the_first_look_with_evidence_of_one_in_delta() -> None:
    learner = classic("quantile:0.6", 2, m=100, delta=0.05, seed=1)
    looks = []  # evidence is looked at every 16 rounds
    while not learner.alarm.raised:
        atoms(learner, 16, seed=learner.rounds)
        looks.append(learner._engine.weights.evidence)
    assert learner.alarm.round == learner.rounds == 16 * len(looks)
    assert looks[-1] >= 20 > max(looks[:-1])
    assert max(looks[:-1]) > 10  # a limit of half as much would have been crossed before


def test_the_guess_stays_in_the_range() -> None:
    active = np.array([0, 1, 2])
    for value, end in ((-1.0, 1.0), (1.0, 0.0)):
        guide = Guide(3, 0.0, 1.0)
        for _ in range(200):
            guide.learn(active, value)
        assert guide.guess(active) == end
        assert abs(guide.shift.sum() - 0.5) > 1  # what it is a guess of lies far outside


def test_silent_when_the_assumption_holds() -> None:
    rng = np.random.default_rng(3)
    raised = 0
    for seed in range(10):
        learner = classic("quantile:0.6", 2, m=50, lipschitz=1.0, seed=seed)
        for _ in range(500):
            learner.learn_one(rng.random(2) < 0.5, float(rng.random()))
        raised += bool(learner.alarm)
    assert raised <= 1


def test_other_algorithms_have_no_monitor() -> None:
    learner = classic("mean", 1, algorithm="A", seed=1)
    learner.learn_one([True], 0.5)
    assert not learner.alarm
    assert not learner.alarm.valid
    assert np.isnan(learner.alarm.evidence)


def test_quantile_grids_hold_the_edges_and_units_are_kept() -> None:
    learner = classic("quantile:0.9", 1, labels=(-40.0, 60.0), seed=1)
    assert learner.grid.points[[0, -1]].tolist() == [-40.0, 60.0]
    rng = np.random.default_rng(0)
    small = classic("quantile:0.9", 1, seed=1)
    for _ in range(400):
        x, y = rng.random(1) < 0.5, float(rng.random())
        assert abs(learner.predict_one(x) - (100 * small.predict_one(x) - 40)) < 1e-9
        learner.learn_one(x, 100 * y - 40)
        small.learn_one(x, y)
    assert abs(learner.error() - small.error()) < 1e-12


def test_horizon_chooses_the_levels() -> None:
    few, many = (len(classic("mean", 5, horizon=t).grid) for t in (1000, 10**6))
    assert few < many
