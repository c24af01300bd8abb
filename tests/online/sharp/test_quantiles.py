"""Several quantiles in one learner: in order, each calibrated, kept and restored."""

from __future__ import annotations

import json

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.online import OnlineMulticalibrator
from multivalid.online.state import from_json, to_json
from tests.online.streams import same

TAUS = (0.1, 0.5, 0.55, 0.9)


@pytest.mark.parametrize("labels", [None, (0.0, 4.0)])
def test_in_order_and_calibrated(labels: tuple[float, float] | None) -> None:
    learner = OnlineMulticalibrator(mv.Quantiles(TAUS), 2, labels=labels)
    rng = np.random.default_rng(0)
    rows, y = rng.random((4000, 2)) < 0.5, rng.gamma(2.0, 0.3, 4000) * (1 + (np.arange(4000) > 2000))
    played = learner.replay(rows, y)
    assert played.shape == (4000, 4)
    assert (np.diff(played, axis=1) >= 0).all()
    for tau, column in zip(TAUS, played.T, strict=True):
        for group in rows.T:
            assert abs(float((y <= column)[group].mean()) - tau) < 0.04
    table = learner.table()
    assert (table["error"] <= table["bound"]).all()
    assert table["tau"].tolist() == np.repeat(TAUS, 3).tolist()
    # The error is that of what was published, not of what the bets asked for.
    for tau, column, engine in zip(TAUS, played.T, learner._engine.levels, strict=True):
        assert engine.tables.sum[0].sum() == pytest.approx(float(((y <= column) - tau).sum()), abs=1e-6)
        assert engine.tables.level[0].sum() == pytest.approx(column.sum())


def test_an_adversary_cannot_make_them_cross_or_break_the_bound() -> None:
    learner = OnlineMulticalibrator("quantiles:0.4,0.5,0.6", 1, labels=(0.0, 1.0))
    rng, crossings = np.random.default_rng(1), 0
    for _ in range(1500):
        x = rng.random(1) < 0.5
        p = learner.predict_one(x, rng.random(3))
        asked = [part.prediction for part in learner._pending.plays]
        crossings += asked != sorted(asked)
        assert (np.diff(p) >= 0).all()
        learner.learn_one(x, float(np.clip(p[int(rng.integers(3))] + rng.choice([-1e-9, 0.0, 1e-9]), 0, 1)))
    assert crossings > 10
    assert learner.error() <= learner.bound()


def test_kept_and_restored_with_tickets() -> None:
    learner = OnlineMulticalibrator("quantiles:0.2,0.8", 1, labels=(0.0, 1.0), copies=2)
    ticket = learner.ask([True], base=[0.3, 0.6], key="a")
    assert ticket.prediction.tolist() == pytest.approx([0.3, 0.6])
    twin = from_json(json.loads(json.dumps(to_json(learner))))
    for one in (learner, twin):
        one.tell(y=0.5, key="a")
        one.learn_one([False], 0.1)
    assert same(learner, twin)
    with pytest.raises(InputError, match="one number for each of the 2 levels"):
        learner.predict_one([True], base=[0.3])
    with pytest.raises(InputError, match="only algorithm 'sharp'"):
        OnlineMulticalibrator("quantiles:0.2,0.8", 1, algorithm="B")
    with pytest.raises(InputError, match="not one the online learner predicts"):
        OnlineMulticalibrator("mean_variance", 1)
    assert OnlineMulticalibrator("quantile_mix:0.9:1", 1).property == mv.Quantile(0.9)
