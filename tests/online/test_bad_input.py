"""Whatever is wrong with a call, the library says so in its own error and the learner is as before."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multivalid.errors import InputError, MultivalidError
from multivalid.grid import Grid
from multivalid.online import OnlineMulticalibrator
from multivalid.online.state import state_of

CALLS: dict[str, Callable[[Any], object]] = {
    "label above": lambda a: a.learn_one({"age": 3}, 1.5),
    "label below": lambda a: a.learn_one({"age": 3}, -0.1),
    "label NaN": lambda a: a.learn_one({"age": 3}, math.nan),
    "label numpy NaN": lambda a: a.learn_one({"age": 3}, np.float64("nan")),
    "label infinite": lambda a: a.learn_one({"age": 3}, math.inf),
    "label text": lambda a: a.learn_one({"age": 3}, "0.5"),
    "label None": lambda a: a.learn_one({"age": 3}, None),
    "weight above one": lambda a: a.learn_one({"age": 3}, 0.5, 1.5),
    "weight negative": lambda a: a.learn_one({"age": 3}, 0.5, -1.0),
    "weight NaN": lambda a: a.learn_one({"age": 3}, 0.5, math.nan),
    "feature missing": lambda a: a.learn_one({"height": 3}, 0.5),
    "feature missing in predict": lambda a: a.predict_one({}),
    "feature missing in ask": lambda a: a.ask({}),
    "feature of another type": lambda a: a.predict_one({"age": "old"}),
    "row not a dict": lambda a: a.predict_one([True]),
    "base NaN": lambda a: a.predict_one({"age": 3}, math.nan),
    "base text": lambda a: a.ask({"age": 3}, "high"),
    "unknown ticket": lambda a: a.tell(10**6, 0.5),
    "negative ticket": lambda a: a.tell(-1, 0.5),
    "ticket of another type": lambda a: a.tell("first", 0.5),
    "used ticket": lambda a: a.tell(0, 0.5),
    "open ticket, bad label": lambda a: a.tell(1, 7.0),
    "forget a used ticket": lambda a: a.forget(0),
    "batch with one bad label": lambda a: a.learn_many([{"age": 3}] * 3, [0.1, 0.2, 3.0]),
    "batch of other length": lambda a: a.learn_many([{"age": 3}] * 3, [0.1, 0.2]),
    "batch with a missing feature": lambda a: a.learn_many([{"age": 3}, {}], [0.1, 0.2]),
    "batch without labels": lambda a: a.learn_many([{"age": 3}], None),
    "batch with a bad weight": lambda a: a.learn_many([{"age": 3}], [0.1], [2.0]),
    "replay with a missing label": lambda a: a.replay([{"age": 3, "y": 0.1}, {"age": 3}], "y"),
    "replay with a missing feature at the end": lambda a: a.replay([{"age": 3}] * 5000 + [{}], np.zeros(5001)),
    "replay with NaN": lambda a: a.replay([{"age": 3}] * 2, [0.1, math.nan]),
    "replay of something else": lambda a: a.replay(3, [0.1]),
}


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_refused_and_unchanged(tmp_path: Path, name: str, durable: bool) -> None:
    groups = ["age >= 18"]
    if durable:
        learner: Any = OnlineMulticalibrator.open(tmp_path / "s.db", "mean", groups, seed=1)
    else:
        learner = OnlineMulticalibrator("mean", groups, seed=1)
    first, _ = learner.ask({"age": 3}), learner.ask({"age": 30})
    learner.tell(first, 0.5)
    before = state_of(learner)
    with pytest.raises(MultivalidError):
        CALLS[name](learner)
    assert state_of(learner) == before
    learner.tell(1, 0.25)
    if durable:
        learner.close()


@pytest.mark.parametrize(
    "options",
    [
        {"m": 1}, {"m": 2.5}, {"m": True}, {"algorithm": "C"}, {"rule": "best"}, {"algorithm": "paper", "rule": "crossing"},
        {"labels": (1, 0)}, {"labels": 3}, {"labels": (0, math.inf)}, {"lipschitz": -1}, {"lipschitz": math.nan}, {"horizon": 0},
        {"delta": 0}, {"delta": 1.0}, {"jitter": -1}, {"seed": -1}, {"seed": "x"}, {"grid": [0, 1]}, {"grid": Grid([0.5])},
        {"grid": Grid([0.0, 2.0])}, {"m": 3, "grid": Grid([0.0, 1.0])}, {"rule": "lp", "lipschitz": 0.1},
    ],
)  # fmt: skip
def test_settings_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        OnlineMulticalibrator("quantile:0.5", 1, **options)


@pytest.mark.parametrize("groups", [-1, True, 2.5, None, ["__import__('os')"], ["age"]])
def test_groups_refused(groups: Any) -> None:
    with pytest.raises(MultivalidError):
        OnlineMulticalibrator("mean", groups)


def test_columns_are_sent_to_fitting() -> None:
    with pytest.raises(InputError, match="fit"):
        OnlineMulticalibrator("mean", ["region"])


@pytest.mark.parametrize("row", [[True], [True, False, True], [0.5, 1.0], ["a", "b"], {"a": 1}, [[True, False]], None])
def test_boolean_rows_refused(row: Any) -> None:
    learner = OnlineMulticalibrator("mean", 2, seed=1)
    with pytest.raises(InputError):
        learner.predict_one(row)
    assert learner.predict_one([1, 0]) == OnlineMulticalibrator("mean", 2, seed=1).predict_one([True, False])
