"""Whatever is wrong with a call, the library says so in its own error and the learner is as before."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from multivalid.errors import InputError, MultivalidError
from multivalid.grid import Grid
from multivalid.online import OnlineMulticalibrator
from multivalid.online.state import state_of

# What is called, and what the refusal must say: another error in its place would be a bug.
CALLS: dict[str, tuple[Callable[[Any], object], str]] = {
    "label NaN": (lambda a: a.learn_one({"age": 3}, math.nan), "y must be finite, got nan"),
    "label numpy NaN": (lambda a: a.learn_one({"age": 3}, np.float64("nan")), "y must be finite"),
    "label infinite": (lambda a: a.learn_one({"age": 3}, math.inf), "y must be finite, got inf"),
    "label text": (lambda a: a.learn_one({"age": 3}, "0.5"), "y must be a number"),
    "label None": (lambda a: a.learn_one({"age": 3}, None), "y must be a number"),
    "weight above one": (lambda a: a.learn_one({"age": 3}, 0.5, 1.5), "weight must lie in"),
    "weight negative": (lambda a: a.learn_one({"age": 3}, 0.5, -1.0), "weight must lie in"),
    "weight NaN": (lambda a: a.learn_one({"age": 3}, 0.5, math.nan), "weight must lie in"),
    "feature missing": (lambda a: a.learn_one({"height": 3}, 0.5), r"no column 'age' in the row. Columns: height"),
    "feature missing in predict": (lambda a: a.predict_one({}), "no column 'age'"),
    "feature missing in ask": (lambda a: a.ask({}), "no column 'age'"),
    "feature of another type": (lambda a: a.predict_one({"age": "old"}), "type str cannot be compared with 18"),
    "row not a dict": (lambda a: a.predict_one([True]), "x must be a dict"),
    "base NaN": (lambda a: a.predict_one({"age": 3}, math.nan), "base must be finite"),
    "base text": (lambda a: a.ask({"age": 3}, "high"), "base must be a number"),
    "unknown ticket": (lambda a: a.tell(10**6, 0.5), "ticket 1000000 was never given out"),
    "negative ticket": (lambda a: a.tell(-1, 0.5), "ticket -1 was never given out"),
    "ticket of another type": (lambda a: a.tell("first", 0.5), "ticket must be a Ticket"),
    "used ticket": (lambda a: a.tell(0, 0.5), "ticket 0 has been used"),
    "open ticket, bad label": (lambda a: a.tell(1, math.nan), "y must be finite, got nan"),
    "open ticket, no label": (lambda a: a.tell(1), "y must be a number, got None"),
    "unknown key": (lambda a: a.tell(y=0.5, key="nobody"), "key 'nobody' names no open ticket"),
    "key told already": (lambda a: a.tell(y=0.5, key="first"), "key 'first' names no open ticket"),
    "key in use": (lambda a: a.ask({"age": 3}, key="second"), r"key 'second' already names an open ticket \(1\)"),
    "key of another type": (lambda a: a.ask({"age": 3}, key=2.5), "key must be text or a whole number"),
    "ticket and key": (lambda a: a.tell(1, 0.5, key="second"), "one of the two"),
    "neither ticket nor key": (lambda a: a.tell(y=0.5), "one of the two"),
    "forget a used ticket": (lambda a: a.forget(0), "ticket 0 has been used"),
    "batch with one bad label": (lambda a: a.learn_many([{"age": 3}] * 3, [0.1, 0.2, math.inf]), "y has 1 missing or infinite"),
    "batch of other length": (lambda a: a.learn_many([{"age": 3}] * 3, [0.1, 0.2]), "y has 2 values but data has 3 rows"),
    "batch with a missing feature": (lambda a: a.learn_many([{"age": 3}, {}], [0.1, 0.2]), "no column 'age'"),
    "batch without labels": (lambda a: a.learn_many([{"age": 3}], None), "y must be an array"),
    "batch with a bad weight": (lambda a: a.learn_many([{"age": 3}], [0.1], [2.0]), r"weight must lie in .* in every row"),
    "replay with a missing label": (
        lambda a: a.replay([{"age": 3, "y": 0.1}, {"age": 3}], "y"),
        "not every row of data has this feature",
    ),
    "replay with a missing feature at the end": (lambda a: a.replay([{"age": 3}] * 5000 + [{}], np.zeros(5001)), "no column 'age'"),
    "replay with NaN": (lambda a: a.replay([{"age": 3}] * 2, [0.1, math.nan]), "y has 1 missing or infinite"),
    "replay of something else": (lambda a: a.replay(3, [0.1]), "data must be a data frame held in memory"),
}


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_refused_and_unchanged(tmp_path: Path, name: str, durable: bool) -> None:
    groups = ["age >= 18"]
    if durable:
        learner: Any = OnlineMulticalibrator.open(tmp_path / "s.db", "mean", groups, seed=1)
    else:
        learner = OnlineMulticalibrator("mean", groups, seed=1)
    first, _ = learner.ask({"age": 3}, key="first"), learner.ask({"age": 30}, key="second")
    learner.tell(first, 0.5)
    before = state_of(learner)
    call, message = CALLS[name]
    with pytest.raises(MultivalidError, match=message):
        call(learner)
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
    with pytest.raises(InputError, match=list(options)[-1]):
        OnlineMulticalibrator("quantile:0.5", 1, **options)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (-1, "groups must be a whole number of at least 0, got -1"),
        (True, "^groups: an item is .* got True of type bool"),
        (2.5, "^groups: an item is .* got 2.5 of type float"),
        (None, "^groups: an item is .* got None of type NoneType"),
        (["__import__('os')"], "calls are not part of the language"),
        (["age"], "groups need data to know their values .'age' is a column"),
    ],
)
def test_groups_refused(groups: Any, message: str) -> None:
    with pytest.raises(MultivalidError, match=message):
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


@pytest.mark.parametrize(
    ("times", "says"),
    [([1.0, np.nan, 2.0], "missing"), (pd.to_datetime(["2024-01-01", None, "2024-01-03"]), "missing"), (["a", 3, 4], "numbers or dates"),
     (["9:00", "10:00", "11:00"], "numbers or dates"), ([1.0, np.inf, 2.0], "infinite")],
)  # fmt: skip
def test_times_that_cannot_be_sorted(times: object, says: str) -> None:
    learner = OnlineMulticalibrator("mean", ["age >= 65"], labels=(0, 1))
    frame = pd.DataFrame({"age": [70, 20, 80], "y": [0.1, 0.5, 0.9], "when": times})
    with pytest.raises(InputError, match=says):
        learner.replay(frame, "y", time="when")
    assert learner.rounds == 0
