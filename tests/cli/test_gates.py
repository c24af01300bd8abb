"""What a pipeline stops at: only what is beyond chance, with code 1."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from tests.cli.conftest import Terminal, flights

COLUMNS = ["--label", "delay", "--prediction", "p", "--property", "quantile:0.9"]
GROUPS = ["--groups", "origin"]


def right(n: int) -> pd.DataFrame:
    """Predictions that are exactly right, and a small sample."""
    rng = np.random.default_rng(3)
    said = rng.uniform(0.1, 0.9, n)
    return pd.DataFrame({"y": (rng.random(n) < said).astype(float), "p": said, "g": rng.choice(["a", "b"], n)})


def test_fail_if_off_ends_with_1_and_says_how_many(terminal: Terminal) -> None:
    off = mv.audit("delay", "p", data=flights(), groups=["origin"], property="quantile:0.9").off
    assert off
    said = terminal("audit", "flights.csv", *COLUMNS, *GROUPS, "--fail-if-off", code=1)
    assert f"{len(off)} group" in said
    terminal("audit", "flights.csv", *COLUMNS, *GROUPS)  # without the option the same finding is no failure


def test_noise_fails_nothing(terminal: Terminal) -> None:
    frame = right(200)
    frame.to_csv(terminal.folder / "right.csv", index=False)
    found = mv.audit("y", "p", data=frame, groups=["g"])
    assert found.error > 1e-3  # the plug-in error of perfect predictions is far from 0
    assert not found.table["rms_low"].any()
    words = ["audit", "right.csv", "--label", "y", "--prediction", "p", "--groups", "g"]
    terminal(*words, "--fail-if-off", "--fail-above", "0")


def test_fail_above_is_about_the_lower_limit(terminal: Terminal) -> None:
    table = mv.audit("delay", "p", data=flights(), groups=["origin"], property="quantile:0.9").table
    low = float(table["rms_low"].max())
    assert 0 < low < table["rms"].max()
    words = ["audit", "flights.csv", *COLUMNS, *GROUPS, "--fail-above"]
    terminal(*words, f"{low * 1.001}")
    assert str(table["name"][table["rms_low"].argmax()]) in terminal(*words, f"{low * 0.999}", code=1)


@pytest.mark.parametrize("value", ["nan", "inf", "-0.1"])
def test_a_limit_that_is_none_is_refused(terminal: Terminal, value: str) -> None:
    assert "--fail-above" in terminal("audit", "flights.csv", *COLUMNS, f"--fail-above={value}", code=2)


def test_the_predictions_of_a_model(terminal: Terminal) -> None:
    frame = flights()
    fitted = mv.multicalibrate("delay", "p", data=frame, groups=["origin"], property="quantile:0.9")
    fitted.save(terminal.folder / "gate.json")
    words = ["audit", "flights.csv", "--label", "delay", "--prediction", "p", "--model", "gate.json"]
    found, expected = terminal.json(*words), fitted.audit("delay", "p", data=frame)
    assert found["off"] == expected.off
    np.testing.assert_allclose(found["groups"]["gap"], expected.table["gap"], rtol=1e-9)
    by_hour, clustered = terminal.json(*words, "--cluster", "hour"), fitted.audit("delay", "p", data=frame, cluster="hour")
    np.testing.assert_allclose(by_hour["groups"]["gap_low"], clustered.table["gap_low"], rtol=1e-9)
    assert by_hour["groups"]["gap_low"] != found["groups"]["gap_low"]
    assert "leave --groups out" in terminal(*words, *GROUPS, code=2)
