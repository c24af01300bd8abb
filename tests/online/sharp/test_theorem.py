"""The theorem: W never rises, R stays below its bound, whatever a stream that sees everything does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from multivalid.kernels import library
from multivalid.online import OnlineMulticalibrator
from multivalid.online.sharp import bets
from multivalid.online.sharp.promise import cell_bounds
from tests.kernels.both import loop  # noqa: F401
from tests.online.sharp.adversaries import ADVERSARIES, attack

PROPERTIES = ["mean", "quantile:0.1", "quantile:0.5", "quantile:0.9", "quantile:0.999", "expectile:0.8"]


def holds(learner: OnlineMulticalibrator) -> None:
    engine = learner._engine
    above, below = cell_bounds(engine.tables, open_at_once=engine.setup.open_at_once, lost_rates=engine.lost_rates, extra=0.0)
    assert (engine.tables.sum <= above + engine.excess + 1e-9).all()
    assert (-engine.tables.sum <= below + engine.excess + 1e-9).all()
    assert (engine.squared() <= engine.bounds() + 1e-9).all()
    assert learner.error() <= learner.bound()


@pytest.mark.parametrize("adversary", ADVERSARIES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("spec", PROPERTIES)
def test_nobody_wins(spec: str, adversary: Any) -> None:
    learner = OnlineMulticalibrator(spec, 3, labels=(-1.0, 3.0))
    assert attack(learner, adversary, 500, seed=1, groups=3) <= 1e-12
    holds(learner)


@pytest.mark.parametrize("spec", PROPERTIES)
def test_an_offset_costs_no_digits(spec: str) -> None:
    learner = OnlineMulticalibrator(spec, 2, labels=(1e6, 1e6 + 1.0))
    for adversary in ADVERSARIES:
        assert attack(learner, adversary, 150, seed=2, groups=2) <= 1e-12
    holds(learner)


def test_an_atom_at_the_lower_end() -> None:
    learner = OnlineMulticalibrator("quantile:0.1", 1, labels=(0.0, 1.0))
    rng = np.random.default_rng(0)
    y = np.where(rng.random(20_000) < 0.6, 0.0, rng.random(20_000))
    played = learner.replay(rng.random((20_000, 1)) < 0.5, y)
    assert played.min() < 0.0 <= np.sort(played)[-1]  # only below every label does a tenth remain
    assert abs(float((y <= played).mean()) - 0.1) < 0.01
    holds(learner)


@pytest.mark.skipif(not library.available(), reason="millions of rounds need the compiled ones")
@pytest.mark.parametrize(("spec", "rounds"), [("mean", 2_000_000), ("quantile:0.5", 2_000_000), ("quantile:0.999", 1_000_000)])
def test_very_long_streams(spec: str, rounds: int) -> None:
    learner = OnlineMulticalibrator(spec, 1, labels=(0.0, 1.0))
    rng = np.random.default_rng(3)
    y = rng.random(rounds) if spec == "quantile:0.999" else np.full(rounds, 0.37)
    played = learner.replay(rng.random((rounds, 1)) < 0.5, y)
    assert np.isfinite(played).all()
    assert bets.total(learner._engine.tables) <= 1.645
    holds(learner)


def test_a_thousand_groups_and_groups_of_three_rows() -> None:
    rng = np.random.default_rng(4)
    members = rng.random((3000, 1000)) < 0.01
    members[:, :50] = False
    for g in range(50):
        members[rng.integers(0, 3000, 3), g] = True
    learner = OnlineMulticalibrator("quantile:0.9", 1000, labels=(0.0, 1.0))
    learner.replay(members, rng.beta(2, 5, 3000))
    table = learner.table()
    assert (table["rows"][1:51] <= 3).all()
    assert (table["error"] <= table["bound"]).all()
    holds(learner)


@pytest.mark.parametrize("options", [{"copies": 4}, {"batch": 4}, {"copies": 2, "batch": 3}])
@pytest.mark.parametrize("spec", ["mean", "quantile:0.9"])
def test_late_outcomes_keep_the_promise(spec: str, options: dict[str, int]) -> None:
    learner = OnlineMulticalibrator(spec, 2, labels=(0.0, 1.0), **options)
    # Two copies with batches of B serve delays of at most B rounds.
    rng, allowed, waiting = np.random.default_rng(5), options.get("batch", 4) - 1 if options.get("batch") else 3, []
    for t in range(800):
        waiting.append(learner.ask(rng.random(2) < 0.5, key=t))
        if len(waiting) > allowed and options.get("batch", 1) == 1:
            ticket = waiting.pop(int(rng.integers(len(waiting))))
            learner.tell(ticket, float(ticket.prediction < 0.5))
        elif options.get("batch", 1) > 1 and len(waiting) == options["batch"]:
            for ticket in waiting[::-1]:
                learner.tell(y=float(ticket.prediction < 0.5), key=ticket.key)
            waiting = []
    for copy in range(learner.setup.copies):
        assert bets.total(learner._engine.tables, copy) <= 1.645
    assert np.isfinite(learner.bound())
    holds(learner)


def test_too_late_promises_nothing_and_measures_exactly() -> None:
    learner = OnlineMulticalibrator("mean", 1, labels=(0.0, 1.0))
    tickets = [learner.ask([True]) for _ in range(2)]
    learner.tell(tickets[0], 1.0)
    assert np.isfinite(learner.bound())
    learner.tell(tickets[1], 0.25)
    assert learner.bound() == np.inf
    assert "nothing is promised" in learner.summary()
    assert learner.table()["error"][0] == pytest.approx(
        sum(t.prediction - y for t, y in zip(tickets, (1.0, 0.25), strict=True)) ** 2 / 4
    )


def test_ranges() -> None:
    rng = np.random.default_rng(6)
    given = OnlineMulticalibrator("mean", 1, labels=(0.0, 1.0))
    learnt = OnlineMulticalibrator("mean", 1)
    wide = OnlineMulticalibrator("quantile:0.9", 1)
    for t in range(600):
        y = float(rng.normal(0.5, 0.1)) * (1000.0 if t % 200 == 199 else 1.0)
        for one in (given, learnt, wide):
            assert np.isfinite(one.predict_one([t % 3 == 0]))
            one.learn_one([t % 3 == 0], y)
    assert given._engine.clipped >= 3
    assert "counted as its ends" in given.summary()
    assert "grew" in learnt.summary()
    lo, hi = learnt._engine.labels
    assert lo <= 400 < hi
    for one in (given, learnt, wide):
        holds(one)
    assert learnt._engine.lost_rates > 0
    assert wide._engine.lost_rates == 0


@pytest.mark.usefixtures("loop")
def test_the_sums_are_those_of_labels_as_they_came() -> None:
    """Where the range is learnt the bets are paid for labels cut to it, and what is measured is not cut; where it is given both are."""
    rng = np.random.default_rng(8)
    for labels in (None, (0.0, 1.0)):
        learner, total, level, square = OnlineMulticalibrator("mean", 1, labels=labels), 0.0, 0.0, 0.0
        for t in range(300):
            y, weight = float(rng.normal(0.5, 0.2)) * (30.0 if t % 50 == 49 else 1.0), float(rng.choice([1.0, 0.4]))
            p = learner.predict_one([True])
            lo, hi = learner._engine.labels or (y, y)
            cut = min(max(y, lo), hi)
            shares = [share for _, share in learner._pending.buckets]
            learner.learn_one([True], y, weight)
            total += weight * (p - (y if labels is None else cut))
            level += weight * p
            square += sum((weight * share * (p - cut)) ** 2 for share in shares)
        t = learner._engine.tables
        assert t.sum[1].sum() == pytest.approx(total, rel=1e-9)
        assert t.level[1].sum() == pytest.approx(level, rel=1e-9)
        assert t.square[1].sum() == pytest.approx(square, rel=1e-6)
        assert learner._engine.clipped > 0


def test_drawn_shares() -> None:
    inside = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        learner = OnlineMulticalibrator("quantile:0.8", 2, labels=(0.0, 1.0), shares="drawn", seed=seed)
        for _ in range(300):
            x = rng.random(2) < 0.5
            p = learner.predict_one(x)  # a label may react to the number, not to the tag
            assert len(learner._pending.buckets) == 1
            learner.learn_one(x, float(np.clip(p + rng.choice([-0.1, 0.1]), 0, 1)))
        inside += learner.error() <= learner.bound()
    assert inside >= 19
    assert "probability 0.95" in learner.summary()


def test_the_bound_is_the_theorem_in_numbers() -> None:
    """λ, κ and the rates, written out once more for one cell."""
    learner = OnlineMulticalibrator("quantile:0.9", 0, labels=(0.0, 1.0))
    t = learner._engine.tables
    t.count[0, 3], t.square[0, 3] = 5000.0, 450.0
    lam = [np.log(1.645 * 16 * (1 + 0.1 * 1 * 20) / (0.1 * pi)) for pi in (0.9, 0.1)]
    expected = [
        min(4 * (np.log(2) - 0.5) * eta * 450.0 + need / eta for eta in 2.0 ** -np.arange(16) / (2 * v))
        for need, v in zip(lam, (0.9, 0.1), strict=True)
    ]
    above, below = cell_bounds(t, open_at_once=1, lost_rates=0, extra=0.0)
    assert above[0, 3] == pytest.approx(expected[0], rel=1e-12)
    assert below[0, 3] == pytest.approx(expected[1], rel=1e-12)
    assert expected[1] <= 1.87 * np.sqrt(lam[1] * 450.0)
    later, _ = cell_bounds(t, open_at_once=3, lost_rates=0, extra=0.0)
    assert later[0, 3] == pytest.approx(
        min(4 * (np.log(2) - 0.5) * e * 450.0 + 3 * lam[0] / e for e in 2.0 ** -np.arange(16) / 1.8)
    )
    drawn, _ = cell_bounds(t, open_at_once=1, lost_rates=0, extra=np.log(20))
    assert drawn[0, 3] > above[0, 3]
