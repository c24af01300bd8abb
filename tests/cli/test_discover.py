"""multivalid discover."""

from __future__ import annotations

from pathlib import Path

import pytest

import multivalid as mv
from tests.cli.conftest import Terminal
from tests.discover.worlds import off_world


@pytest.fixture
def people(folder: Path) -> Path:
    data, _ = off_world(6000, 1)
    data[["y", "p", "age", "city", "income"]].to_csv(folder / "people.csv", index=False)
    return folder


def test_discover_is_the_library_s_and_stops_a_pipeline(terminal: Terminal, people: Path) -> None:
    words = ["discover", "people.csv", "--label", "y", "--prediction", "p"]
    found = terminal.json(*words, "--features", "age,city,income")
    assert len(found["groups"]) == 1
    assert found["table"]["name"] == found["groups"]
    assert "confirmed on" in terminal(*words, "--report", "found.html")
    assert (people / "found.html").exists()
    assert (people / "found.report.json").exists()
    terminal(*words, "--fail-if-off", code=1)
    assert "is the label" in terminal(*words, "--features", "y,age", code=3)
    assert mv.Groups(found["groups"]).entries
