"""A sharp learner that was saved goes on exactly where it stood; a damaged file is refused."""

from __future__ import annotations

import base64
import copy
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from multivalid.errors import ModelFileError
from multivalid.online import OnlineMulticalibrator, load
from multivalid.online.sharp.tables import USED
from multivalid.online.state import from_json, to_json
from tests.online.streams import same


@pytest.mark.parametrize("options", [{}, {"labels": (0.0, 1.0)}, {"copies": 3}, {"batch": 4}, {"shares": "drawn", "seed": 5}])
def test_exactly_where_it_stood(tmp_path: Path, options: dict[str, Any]) -> None:
    straight, broken = (OnlineMulticalibrator("quantile:0.8", 2, **options) for _ in range(2))
    rng = np.random.default_rng(1)
    for t in range(200):
        x, y = rng.random(2) < 0.5, float(rng.gamma(2.0, 0.2))
        predictions = [one.predict_one(x, 0.3) for one in (straight, broken)]
        assert predictions[0] == predictions[1]
        if t % 37 == 0:  # between a prediction and its outcome, with a ticket open
            for one in (straight, broken):
                one.ask(x, key=t)
            broken.save(tmp_path / "s.json")
            broken = load(tmp_path / "s.json")
            assert [ticket.key for ticket in broken.open_tickets()] == [ticket.key for ticket in straight.open_tickets()]
        for one in (straight, broken):
            one.learn_one(x, y)
    for one in (straight, broken):
        one.tell(y=0.7, key=37)
        one.forget(key=0)
    assert same(straight, broken)
    assert straight.bound() == broken.bound()


def damaged(state: dict[str, Any], name: str, change: Any) -> dict[str, Any]:
    out = copy.deepcopy(state)
    tables = out["state"]["engine"]["tables"]
    array = np.frombuffer(zlib.decompress(base64.b64decode(tables[name]))).copy()
    tables[name] = base64.b64encode(zlib.compress(change(array).tobytes())).decode()
    return out


def put(index: int, value: float) -> Any:
    def change(array: np.ndarray) -> np.ndarray:
        array[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("up", put(0, -1.0)), ("down", put(0, 0.0)), ("count", put(0, -1.0)), ("sum", put(0, np.nan)), ("running", put(USED, 99.0)),
        ("running", put(USED, 0.5)), ("running", put(USED, 0.0)), ("edge", put(3, 0.9)), ("edge", put(0, -0.5)), ("setting", put(1, 0.0)),
        ("kept", put(0, np.inf)), ("up", lambda array: array[:-1]), ("up", lambda array: np.append(array, 1.0)), ("running", put(7, 1e300)),
    ],
)  # fmt: skip
def test_damage_is_refused(name: str, change: Any) -> None:
    learner = OnlineMulticalibrator("mean", 1, labels=(0.0, 1.0))
    learner.learn_one([True], 0.4)
    state = json.loads(json.dumps(to_json(learner)))
    with pytest.raises(ModelFileError, match="damaged"):
        from_json(damaged(state, name, change))
    assert from_json(state).rounds == 1


@pytest.mark.parametrize(
    ("where", "value"),
    [("open", {"0": [[0], [0.0]]}),
     ("open", {"0": [[5], [0.0] * 27]}), ("keys", {"3": "a"}), ("next", "x"), ("open", {"0": [[0], [1.0] * 27]}),
     ("engine", {}), ("pending", ["zz", []])],
)  # fmt: skip
def test_damaged_tickets_are_refused(where: str, value: Any) -> None:
    learner = OnlineMulticalibrator("mean", 1, labels=(0.0, 1.0), m=2)
    state = to_json(learner)
    state["state"][where] = value
    if value == {"0": [[0], [1.0] * 27]}:  # bucket 1 of 2 with a share of 1: possible
        state["state"][where]["0"][1][10] = 3.0  # a copy that does not exist
    with pytest.raises(ModelFileError, match="damaged"):
        from_json(state)
