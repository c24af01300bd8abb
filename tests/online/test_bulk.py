"""Batches and replays say the same as one row at a time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from multivalid.groups.family import Groups
from multivalid.online import OnlineMulticalibrator

from .streams import same

RNG = np.random.default_rng(8)
SIZE = 300
DATA = {
    "age": RNG.integers(1, 90, SIZE).tolist(),
    "region": RNG.choice(["north", "south", "east"], SIZE).tolist(),
    "when": RNG.permutation(SIZE).tolist(),
    "y": RNG.random(SIZE).tolist(),
    "model": RNG.random(SIZE).tolist(),
    "w": RNG.choice([0.25, 1.0], SIZE).tolist(),
}
GROUPS = ["age >= 18", "region == 'north' and age < 50"]
DICTS = [dict(zip(DATA, row, strict=True)) for row in zip(*DATA.values(), strict=True)]


def test_predict_many_is_many_asks() -> None:
    a, b = (OnlineMulticalibrator("quantile:0.7", GROUPS, m=7, algorithm="B", seed=2) for _ in range(2))
    for part in range(0, SIZE, 50):
        rows = DICTS[part : part + 50]
        tickets = [b.ask(x, x["model"]) for x in rows]
        assert a.predict_many(rows, "model").tolist() == [t.prediction for t in tickets]
        a.learn_many(rows, "y", "w")
        for ticket, x in zip(tickets, rows, strict=True):
            b.tell(ticket, x["y"], x["w"])
        assert same(a, b)
    assert a._engine.late == 49
    assert a.bound() == np.inf
    assert not a.alarm.valid


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, None], ids=["pandas", "polars", "pyarrow", "dicts"])
def test_replay_is_one_row_at_a_time(make: object) -> None:
    frame = DICTS if make is None else make(DATA)  # type: ignore[operator]
    a, b = (OnlineMulticalibrator("mean", GROUPS, m=7, seed=2) for _ in range(2))
    expected = np.empty(SIZE)
    for i in np.argsort(DATA["when"]).tolist():
        expected[i] = b.predict_one(DICTS[i], DICTS[i]["model"])
        b.learn_one(DICTS[i], DICTS[i]["y"], DICTS[i]["w"])
    got = a.replay(frame, "y", base="model", weight="w", time="when")
    assert got.tolist() == expected.tolist()
    b._pending = None
    assert same(a, b)


def test_replay_of_arrays_and_progress(capsys: pytest.CaptureFixture[str]) -> None:
    rows, y = RNG.random((1200, 3)) < 0.5, RNG.random(1200)
    a, b = (OnlineMulticalibrator("mean", 3, m=7, seed=2) for _ in range(2))
    got = a.replay(rows, y, progress=True)
    one = []
    for x, label in zip(rows, y.tolist(), strict=True):
        one.append(b.predict_one(x))
        b.learn_one(x, label)
    assert got.tolist() == one
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "1,200/1,200" in shown.err


def test_fitted_groups_on_dicts_and_frames() -> None:
    frame = pd.DataFrame(DATA)
    fitted = Groups(["region", "age >= 18"]).fit(frame)
    a, b = (OnlineMulticalibrator("mean", fitted, m=7, seed=2) for _ in range(2))
    assert a.groups[0] == "everyone"
    assert a.replay(frame, "y").tolist() == b.replay(DICTS, "y").tolist()
    table = a.table()
    assert table["rows"].tolist() == [int(mask.sum()) for mask in fitted.masks(frame)]
    assert len({len(column) for column in table.values()}) == 1


def test_empty_batches() -> None:
    learner = OnlineMulticalibrator("mean", 2, seed=1)
    assert learner.predict_many(np.zeros((0, 2), dtype=bool)).tolist() == []
    learner.learn_many(np.zeros((0, 2), dtype=bool), [])
    assert learner.replay(np.zeros((0, 2), dtype=bool), []).tolist() == []
    assert learner.rounds == 0
    assert learner.error() == 0.0


def test_learning_without_predicting_and_pending() -> None:
    a, b = (OnlineMulticalibrator("mean", 2, m=5, seed=1) for _ in range(2))
    a.predict_one([True, True])
    a.predict_one([True, False])  # replaces the first
    a.learn_one([True, False], 0.5)
    b.learn_one([True, True], 0.5)
    assert a.rounds == b.rounds == 1
    assert "1 rounds" in a.summary()


def test_weights_matter_and_zero_is_nothing() -> None:
    learner = OnlineMulticalibrator("mean", 1, m=5, seed=1)
    learner.learn_one([True], 0.5, 0.0)
    assert learner.error() == 0.0
    learner.learn_one([True], 1.0, 0.5)
    assert learner.table()["weight"].tolist() == [0.5, 0.5]
    assert learner.table()["rows"].tolist() == [1, 1]
