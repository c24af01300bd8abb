"""Labels by name, rows without a label, missing values and dates on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from tests.cli.conftest import Terminal


def people(rows: int = 1500) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    p = rng.choice([0.2, 0.5, 0.7], rows)
    race = rng.choice(["a", "b", ""], rows)
    rich = rng.random(rows) < np.where(race == "b", 0.5 * p, p)
    day = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 700, rows), "D")
    made = pd.DataFrame({"race": race, "sold": day, "p": p, "income": np.where(rich, ">50K", "<=50K"), "y": rich.astype(int)})
    return made.assign(code=made.y + 1, rich=rich, gaps=made.income.where(made.index > 3))


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    people().to_csv(tmp_path / "people.csv", index=False)
    return Terminal(tmp_path)


@pytest.mark.parametrize(("column", "positive"), [("income", ">50K"), ("code", "2"), ("rich", "true")])
def test_a_class_by_name_counts_as_one(terminal: Terminal, column: str, positive: str) -> None:
    plain = terminal.json("audit", "people.csv", "-y", "y", "-p", "p", "-g", "race")
    named = terminal.json("audit", "people.csv", "-y", column, "-p", "p", "-g", "race", "--positive", positive)
    assert named["groups"] == plain["groups"]
    assert named["off"] == ["race = b", "everyone"]


def test_rows_without_a_label_are_refused_or_counted(terminal: Terminal) -> None:
    words = ["people.csv", "-y", "gaps", "-p", "p", "-g", "race", "--positive", ">50K"]
    said = terminal("audit", *words, code=3)
    assert "4 missing" in said
    assert "--missing-rows drop" in said
    assert "4 rows have no label and are left out" in terminal("audit", *words, "--missing-rows", "drop")
    out = terminal("fit", *words, "--missing-rows", "drop", "--model", "m.json", "--holdout", "0.3")
    assert out.count("4 rows have no label and are left out") == 1
    again = terminal("audit", *words[:5], "--model", "m.json", "--positive", ">50K", "--missing-rows", "drop")
    assert again.count("4 rows have no label and are left out") == 1
    other = terminal("audit", "people.csv", "-y", "y", "-p", "p", "--model", "m.json")
    assert "no label" not in other  # that was said of the rows fitted on
    terminal("report", *words, "--missing-rows", "drop", "-o", "r.html")
    terminal("discover", *words, "--missing-rows", "drop", "--features", "race,sold")


def test_missing_values_are_a_group_or_ignored(terminal: Terminal) -> None:
    words = ["people.csv", "-y", "y", "-p", "p", "-g", "race"]
    assert "race is missing" in terminal.json("audit", *words)["groups"]["name"]
    assert "race is missing" not in terminal.json("audit", *words, "--missing", "ignore")["groups"]["name"]
    assert "--missing 'drop' must be group or ignore" in terminal("audit", *words, "--missing", "drop", code=2)


def test_dates_by_the_calendar(terminal: Terminal) -> None:
    found = terminal.json("audit", "people.csv", "-y", "y", "-p", "p", "-g", "bins:sold:month", "-g", "weekday(sold) == 'Sunday'")
    assert "month(sold) = June" in found["groups"]["name"]
    months = people().sold.dt.month
    sizes = dict(zip(found["groups"]["name"], found["groups"]["rows"], strict=True))
    assert sizes["month(sold) = June"] == (months == 6).sum()
    assert sizes["weekday(sold) == 'Sunday'"] == (people().sold.dt.day_of_week == 6).sum()
    assert "minute" in terminal("audit", "people.csv", "-y", "y", "-p", "p", "-g", "bins:sold:minute", code=2)


def test_a_name_as_it_is_printed_is_answered(terminal: Terminal) -> None:
    said = terminal("audit", "people.csv", "-y", "y", "-p", "p", "-g", "race = a", code=2)
    assert "race == 'a'" in said
    assert mv.audit("y", "p", groups=["race == 'a'"], data=people()).groups.names == ("everyone", "race == 'a'")
