"""What must hold whatever the stream: the identity of increments, the promises, the rate of growth."""

from __future__ import annotations

import numpy as np
import pytest

from multivalid.online.classic.transcript import Transcript
from tests.online.classic.make import classic
from tests.online.streams import KINDS, PROPERTIES, run


def test_increments_sum_to_the_error() -> None:
    rng = np.random.default_rng(0)
    transcript, total = Transcript(5, 7), np.zeros(5)
    for _ in range(3000):
        active = np.flatnonzero(np.append(True, rng.random(4) < 0.5))
        level, value, weight = int(rng.integers(7)), float(rng.uniform(-1, 1)), float(rng.choice([0.0, 0.3, 1.0]))
        total[active] += transcript.increment(active, level, value, weight)
        transcript.add(active, level, value, weight)
    np.testing.assert_allclose(transcript.squared(), total, rtol=0, atol=1e-9)


def test_the_error_is_that_of_the_history() -> None:
    learner = classic("quantile:0.8", 7, m=9, seed=3)
    seen = list(run(learner, "drifting", 800, seed=4))
    worst = 0.0
    for g in range(8):
        cells: dict[float, list[float]] = {}
        for x, prediction, y in seen:
            if g == 0 or x[g - 1]:
                cells.setdefault(prediction, []).append((y <= prediction) - 0.8)
        worst = max(worst, sum(sum(v) ** 2 / len(v) for v in cells.values()))
    assert learner.error() == pytest.approx(worst / 800, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spec", PROPERTIES)
@pytest.mark.parametrize("algorithm", ["A", "B"])
def test_promise(algorithm: str, spec: str, kind: str) -> None:
    # Fewer and shorter runs than benchmarks/online_bounds.py, which does 20 seeds of 8,000 rounds.
    for seed in (0, 1):
        learner = classic(spec, 7, m=12, algorithm=algorithm, lipschitz=PROPERTIES[spec], seed=seed)
        for t, _ in enumerate(run(learner, kind, 1500, seed=100 + seed)):
            if t % 100 == 0:
                assert (learner.table()["error"] <= learner.table()["bound"]).all()
        assert learner.error() <= learner.bound()
        assert not learner.alarm


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("spec", "slope"), [("mean", 1.0), ("quantile:0.9", 2.5)])
def test_growth_is_a_third_root(spec: str, slope: float, kind: str) -> None:
    for rounds in (1000, 4000):
        # The levels that the bound of B asks for, up to a constant: with fewer, the rise of V between levels shows.
        m = round(slope ** (2 / 3) * rounds ** (1 / 3))
        learner = classic(spec, 7, m=m, lipschitz=slope, seed=1)
        for _ in run(learner, kind, rounds, seed=2):
            pass
        assert learner.error() * rounds <= 2 * rounds ** (1 / 3)


def test_evidence_is_no_more_than_one_on_average() -> None:
    # E[W] ≤ 1 at every time; the mean of 20 runs is well below the 1/δ of an alarm.
    last = []
    for seed in range(20):
        learner = classic("quantile:0.5", 7, m=8, lipschitz=2.5, seed=seed)
        for _ in run(learner, "adaptive", 300, seed=seed):
            pass
        last.append(learner._engine.weights.evidence)
    assert np.mean(last) <= 1.0 + 3 * np.std(last) / np.sqrt(20)


@pytest.mark.parametrize("spec", ["entropic:1.5", "huber:0.3", "lp_quantile:2:0.7", "moment:2", "event:0.2:0.6"])
def test_other_properties(spec: str) -> None:
    learner = classic(spec, 7, m=10, seed=2)
    for _ in run(learner, "adaptive", 1000, seed=3):
        pass
    assert learner.error() <= learner.bound()


def test_paper_form_plays_and_measures() -> None:
    learner = classic("mean", 2, m=6, algorithm="paper", seed=1)
    for _ in run(learner, "iid", 150, seed=3, groups=2):
        pass
    assert learner.rounds == 150
    assert 0 < learner.error() < 0.1


@pytest.mark.parametrize(("algorithm", "rule"), [("B", "lp"), ("B", "lp-any"), ("A", "lp")])
@pytest.mark.parametrize("spec", ["mean", "quantile:0.7"])
def test_exact_game_keeps_the_promise(spec: str, algorithm: str, rule: str) -> None:
    learner = classic(spec, 2, m=8, algorithm=algorithm, rule=rule, lipschitz=2.5, seed=1)
    for _ in run(learner, "iid", 200, seed=3, groups=2):
        pass
    assert learner.error() <= learner.bound()
    assert (learner.bound() == np.inf) == (rule == "lp-any" and spec != "mean")
    assert learner.alarm.valid == (algorithm == "B" and learner.bound() < np.inf)


def test_late_outcomes() -> None:
    learner = classic("mean", 3, m=8, algorithm="A", seed=1)
    rng, waiting = np.random.default_rng(1), []
    for _ in range(600):
        x = rng.random(3) < 0.5
        waiting.append((learner.ask(x), 0.2 + 0.5 * float(rng.random() < 0.5)))
        if len(waiting) > 5:
            ticket, y = waiting.pop(int(rng.integers(6)))
            learner.tell(ticket, y)
    assert learner._engine.late > 3
    assert learner.error() <= learner.bound() < np.inf
    assert classic("mean", 3).bound() < np.inf


def test_error_of_a_union_is_at_most_the_sum() -> None:
    """The reason why D + 1 learners used in turn keep B's promise when outcomes come up to D rounds late."""
    learners = [classic("mean", 3, m=8, seed=s) for s in range(3)]
    rng = np.random.default_rng(1)
    for t in range(900):
        x = rng.random(3) < 0.5
        learners[t % 3].learn_one(x, float(rng.random()))
    n = sum(a._engine.transcript.n for a in learners)
    r = sum(a._engine.transcript.r for a in learners)
    union = (r**2 / np.where(n > 0, n, 1)).sum(axis=0)
    assert (union <= sum(a._engine.transcript.squared() for a in learners) + 1e-9).all()
