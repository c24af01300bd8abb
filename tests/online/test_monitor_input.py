"""Bad input to a monitor: the library's own error, and nothing changed."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from multivalid.errors import InputError, ModelFileError
from multivalid.properties.base import Property

ROW = np.array([[True, False], [False, False]])


def some(**options: Any) -> mv.Monitor:
    monitor = mv.Monitor("mean", 2, **options)
    monitor.update_many(ROW, [0.5, 0.4], [1, 0], time=[1.0, 2.0])
    return monitor


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((ROW, [0.5, np.nan], [1, 0], [3, 4]), "prediction has 1 missing"),
        ((ROW, [0.5, 0.4], [1, np.nan], [3, 4]), "y has 1 missing"),
        ((ROW, [0.5, 0.4], [1, np.inf], [3, 4]), "y has 1 missing or infinite"),
        ((ROW, [0.5, 0.4], [1, 2], [3, 4]), r"y must lie in labels=\(0, 1\)"),
        ((ROW, [0.5], [1, 0], [3, 4]), "prediction has 1 values but data has 2 rows"),
        ((ROW[:, :1], [0.5, 0.4], [1, 0], [3, 4]), "groups=2"),
        ((np.ones((2, 3), bool), [0.5, 0.4], [1, 0], [3, 4]), "groups=2"),
        ((ROW, [0.5, 0.4], [1, 0], [4, 3]), "time must not go back: row 1"),
        ((ROW, [0.5, 0.4], [1, 0], [1.5, 3]), "time must not go back: row 0 is at 1.5, after 2"),
        ((ROW, [0.5, 0.4], [1, 0]), "earlier rounds had number, these have none"),
        (
            (ROW, [0.5, 0.4], [1, 0], np.array(["2024-01-01"] * 2, dtype="datetime64[D]")),
            "earlier rounds had number, these have date",
        ),
        ((ROW, [0.5, 0.4], [1, 0], ["a", "b"]), "numbers or dates"),
        ((ROW, [0.5, 0.4], [1, 0], [3, np.nan]), "time has missing"),
        ((ROW, [0.5, 0.4], [1, 0], [3]), "one value per row"),
        ((ROW, "p", [1, 0], [3, 4]), "data is an array"),
        ((ROW, None, [1, 0], [3, 4]), "prediction must be an array"),
        ((ROW, ["a", "b"], [1, 0], [3, 4]), "must hold numbers"),
    ],
)
def test_refused_and_unchanged(arguments: tuple[Any, ...], says: str) -> None:
    monitor = some()
    before = json.dumps(monitor.to_json())
    with pytest.raises(InputError, match=says):
        monitor.update_many(*arguments)
    assert json.dumps(monitor.to_json()) == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([True, False], np.nan, 1, 3), "prediction must be finite"),
        (([True, False], 0.5, np.nan, 3), "y must be finite"),
        (([True, False], "0.5", 1, 3), "prediction must be a number"),
        (([True, False], [0.5, 0.6], 1, 3), "1 numbers per row"),
        (([True], 0.5, 1, 3), "groups=2"),
        (({"a": 1}, 0.5, 1, 3), "booleans"),
        (([True, False], 0.5, 1, 0), "time must not go back"),
        (([True, False], 0.5, 1, date(2024, 1, 1)), "earlier rounds had number"),
    ],
)
def test_one_round_refused_and_unchanged(arguments: tuple[Any, ...], says: str) -> None:
    monitor = some()
    before = json.dumps(monitor.to_json())
    with pytest.raises(InputError, match=says):
        monitor.update(*arguments)
    assert json.dumps(monitor.to_json()) == before


@pytest.mark.parametrize(
    ("property", "options", "says"),
    [
        ("mean", {"tolerance": 1.0}, "tolerance must be at least 0 and below 1"),
        ("mean", {"tolerance": -0.1}, "tolerance must be at least 0"),
        ("quantile:0.9", {"tolerance": 0.9}, "below 0.9"),
        ("mean", {"tolerance": np.nan}, "tolerance must be finite"),
        ("mean", {"delta": 0}, "delta must be strictly between"),
        ("mean", {"labels": (1, 0)}, "low < high"),
        ("mean", {"labels": 5}, "pair"),
        ("mean", {"labels": (None, None)}, "no bound"),
        ("entropic:2", {"labels": (0, None)}, "no bound"),
        ("mean", {"buckets": 0}, "buckets"),
        ("mean", {"buckets": [0.5, 0.2]}, "increase"),
        ("mean", {"window": 0}, "window"),
        ("mean", {"period": "fortnight"}, "period must be one of"),
        ("mean", {"period": -1}, "period must be positive"),
        ("mean_variance", {}, "property must be"),
        ("variance", {}, r"Variance\(\) cannot be calibrated on its own"),
    ],
)
def test_settings(property: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        mv.Monitor(property, 1, **options)


def test_tables_that_were_not_asked_for_in_time() -> None:
    monitor = some(window=10)
    with pytest.raises(InputError, match="at most window=10"):
        monitor.table(last=11)
    with pytest.raises(InputError, match="period="):
        monitor.table(by_period=True)
    with pytest.raises(InputError, match="time is needed"):
        mv.Monitor("mean", 0, period=1.0).update([], 0.5, 1)
    with pytest.raises(InputError, match="does not go with times"):
        mv.Monitor("mean", 0, period="day").update([], 0.5, 1, 3.0)


def test_shortfall_must_be_above_value_at_risk() -> None:
    monitor = mv.Monitor("quantile_cvar:0.9", 0)
    with pytest.raises(InputError, match="ES above VaR"):
        monitor.update([], (1.0, 1.0), 0.5)
    with pytest.raises(InputError, match="2 columns"):
        monitor.update_many(np.zeros((1, 0), bool), [1.0], [0.5])
    assert monitor.rounds == 0


def test_bounds_of_a_function_that_are_not_true_are_noticed() -> None:
    # The bound comes from a mesh that misses the spike.
    spiky = mv.Moment(lambda y: np.where(np.abs(y - 0.123456) < 1e-6, 50.0, y))
    monitor = mv.Monitor(spiky, 0, labels=(0, 1))
    with pytest.raises(InputError, match="bounds are not true"):
        monitor.update([], 0.5, 0.123456)
    assert monitor.rounds == 0


def test_predictions_outside_the_range_count_as_its_ends() -> None:
    outside, at = mv.Monitor("mean", 0), mv.Monitor("mean", 0)
    outside.update([], 1.3, 0)
    at.update([], 1.0, 0)
    assert outside.table()["evidence"] == at.table()["evidence"]


def test_nothing_is_no_round() -> None:
    monitor = some()
    monitor.update_many(np.zeros((0, 2), bool), [], [])
    assert monitor.rounds == 2


def test_properties_without_a_name_cannot_be_kept(tmp_path: Path) -> None:
    monitor = mv.Monitor(Property.from_identification(lambda g, y: (y <= g) - 0.25), 0, labels=(0, 1))
    monitor.update([], 0.5, 0.25)
    with pytest.raises(InputError, match="register"):
        monitor.save(tmp_path / "m.json")
    with pytest.raises(InputError, match="register"):
        mv.Monitor.open(tmp_path / "m.db", monitor.property, 0, labels=(0, 1))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda state: state.update(rounds=3),
        lambda state: state.update(rounds=-1),
        lambda state: state["watches"][0]["wealth"].pop(),
        lambda state: state["watches"][0]["wealth"].__setitem__(0, -1.0),
        lambda state: state["watches"][0]["peak"].__setitem__(0, None),
        lambda state: state["watches"][0]["alarm_bet"].__setitem__(0, 10_000),
        lambda state: state["watches"][0]["begun"].__setitem__(0, 99),
        lambda state: state["watches"][0]["rounds"].__setitem__(1, 0.5),
        lambda state: state.update(watches=[]),
        lambda state: state.update(clock=["moon", 1.0]),
        lambda state: state.pop("trace"),
    ],
)
def test_damaged_states_are_refused(damage: Any) -> None:
    from multivalid.online.monitor_state import from_json

    data = json.loads(json.dumps(some().to_json()))
    damage(data["state"])
    with pytest.raises(ModelFileError, match="damaged"):
        from_json(data)


def test_other_files_are_refused() -> None:
    from multivalid.online.monitor_state import from_json

    with pytest.raises(ModelFileError, match="not a saved monitor"):
        from_json({"kind": "multivalid.online"})
    with pytest.raises(ModelFileError, match="version 7"):
        from_json({"kind": "multivalid.monitor", "version": 7})


def test_columns_must_exist() -> None:
    frame = pd.DataFrame({"a": [1], "p": [0.5], "y": [1.0]})
    monitor = mv.Monitor("mean", ["a == 1"])
    with pytest.raises(InputError, match="'q' is not a column"):
        monitor.update_many(frame, "q", "y")
    with pytest.raises(InputError, match="time='t' is not a column"):
        monitor.update_many(frame, "p", "y", time="t")
    assert monitor.rounds == 0
