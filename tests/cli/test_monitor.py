"""The command `monitor`: the library's answers, code 1 on an alarm."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from tests.cli.conftest import Terminal


def frame(rows: int = 3000, off: bool = True) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    made = pd.DataFrame({"t": pd.date_range("2024-01-01", periods=rows, freq="h"), "region": rng.choice(["a", "b"], rows)})
    made["p"] = rng.beta(2, 3, rows)
    worse = (made.region == "b") & (made.index >= rows // 2) & off
    made["y"] = (rng.random(rows) < np.minimum(made.p + 0.25 * worse, 1)).astype(int)
    return made


@pytest.fixture
def here(tmp_path: Path) -> Terminal:
    frame().sample(frac=1.0, random_state=1).to_parquet(tmp_path / "off.parquet", index=False)  # the command sorts by time
    frame(off=False).to_csv(tmp_path / "fine.csv", index=False)
    return Terminal(tmp_path)


COLUMNS = ("--label", "y", "--prediction", "p", "--time", "t", "--groups", "region")


def test_an_alarm_ends_with_code_1_and_is_the_library_s(here: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    rows = frame()
    expected = mv.Monitor("mean", mv.Groups(["region"]).fit(rows))
    expected.update_many(rows, "p", "y", time="t")
    assert expected.alarms
    here("monitor", "off.parquet", *COLUMNS, "--report", "watch.html", code=1)
    found = json.loads((here.folder / "watch.report.json").read_text())
    assert [alarm["round"] for alarm in found["alarms"]] == [alarm.round for alarm in expected.alarms]
    assert found["alarms"][0]["sentence"] in expected.summary()


def test_no_alarm_ends_with_code_0(here: Terminal) -> None:
    assert "no alarm" in here("monitor", "fine.csv", *COLUMNS)
    found = here.json("monitor", "fine.csv", *COLUMNS, "--delta", "0.01", "--tolerance", "0.02")
    assert found["alarms"] == []
    assert found["rounds"] == found["groups"]["rows"][0] == 3000


def test_state_goes_on(here: Terminal) -> None:
    assert here.json("monitor", "fine.csv", *COLUMNS, "--state", "w.db")["rounds"] == 3000
    later = frame(off=False).assign(t=lambda rows: rows.t + pd.Timedelta(days=1000))
    later.to_csv(here.folder / "later.csv", index=False)
    again = ("--label", "y", "--prediction", "p", "--time", "t", "--state", "w.db", "--json")
    assert json.loads(here("monitor", "later.csv", *again))["rounds"] == 6000
    assert "must not go back" in here("monitor", "fine.csv", *again, code=3)
    assert "other settings" in here("monitor", "later.csv", *again, "--property", "quantile:0.5", code=3)
    with mv.Monitor.open(here.folder / "w.db") as kept:
        assert kept.rounds == 6000


def test_value_at_risk_and_expected_shortfall(terminal: Terminal) -> None:
    columns = ("--label", "loss", "--prediction", "var,es", "--property", "quantile_cvar:0.975", "--groups", "desk")
    assert "no alarm" in terminal("monitor", "losses.csv", *columns)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--label", "y", "--prediction", "p", "--time", "nowhere"), 3, "--time 'nowhere' is not a column"),
        (("--label", "y", "--prediction", "p", "--time", "region"), 3, "numbers or dates"),
        (("--label", "nowhere", "--prediction", "p"), 3, "'nowhere' is not a column"),
        (("--label", "y", "--prediction", "p", "--tolerance", "2"), 3, "tolerance must be"),
        (("--label", "y", "--prediction", "p", "--property", "nonsense"), 2, "nonsense"),
        (("--label", "y", "--prediction", "p", "--report", "x.txt"), 2, "must end in"),
        (("--label", "y", "--prediction", "p,", "--property", "quantile_cvar:0.9"), 2, "a pair has two columns"),
    ],
)
def test_bad_words(here: Terminal, words: tuple[str, ...], code: int, says: str) -> None:
    assert says in here("monitor", "fine.csv", *words, code=code)
