"""Groups that nobody named have a section of their own, and one sentence says what remains."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import multivalid as mv

pytest.importorskip("jinja2")


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """One rate for everybody, and a fifth of the south for whom it is far off."""
    rng = np.random.default_rng(3)
    made = pd.DataFrame({"region": rng.choice(["north", "south"], 6000), "age": rng.integers(18, 80, 6000), "p": 0.3})
    off = (made.region == "south") & (made.age < 30)
    return made.assign(y=(rng.random(6000) < np.where(off, 0.75, 0.3)).astype(float))


def told(page: Path) -> tuple[dict, str]:
    """The numbers and the page, without the blanks that keep a line together."""
    numbers = json.loads(page.with_suffix(".report.json").read_text("utf-8"))
    return numbers, page.read_text("utf-8").replace("\N{NO-BREAK SPACE}", " ")


def test_found_groups_and_those_that_got_worse_have_a_section(rows: pd.DataFrame, tmp_path: Path) -> None:
    made = mv.multicalibrate("y", "p", data=rows, groups=["region"], features=["region", "age"], readable=True, holdout=0.3)
    assert made.groups.found > 0, "the planted group is found"
    content, page = told(made.report(tmp_path / "r.html"))
    names = list(made.groups.names[-made.groups.found :])
    assert content["unnamed"]["groups"] == names
    assert any("confirmed on" in line for line in content["unnamed"]["said"])
    assert any("further off than before" in line for line in content["unnamed"]["said"])
    assert not any("nobody named" in line for line in content["certificate"]["words"]), "said once"
    section = page[page.index('id="unnamed"') : page.index('id="certificate"')]
    entry = next(one for one in content["groups"] if one["name"] == names[0])
    for when in ("before", "after"):
        assert entry[when]["gap_text"] in section
    assert content["settings"]["data"] == "the rows held out at the fit"


def test_a_saved_model_still_knows_what_was_found(rows: pd.DataFrame, tmp_path: Path) -> None:
    made = mv.multicalibrate("y", "p", data=rows, groups=[], features=["region", "age"], readable=True)
    made.save(tmp_path / "m.json")
    content, _ = told(mv.load(tmp_path / "m.json").report(tmp_path / "r.html", "y", "p", data=rows))
    assert content["unnamed"]["groups"] == list(made.groups.names[1:])


def test_an_audit_has_no_such_section(rows: pd.DataFrame, tmp_path: Path) -> None:
    content, page = told(mv.audit("y", "p", data=rows, groups=["region"]).report(tmp_path / "r.html"))
    assert content["unnamed"] is None
    assert "nobody named" not in page


def test_the_verdict_names_the_worst_that_remains_with_its_interval(rows: pd.DataFrame, tmp_path: Path) -> None:
    off = mv.audit("y", "p", data=rows, groups=["region", "age < 30"])
    content, _ = told(off.report(tmp_path / "r.html"))
    assert off.headlines[0] in content["verdict"]
    right = mv.audit(rows.y, np.where((rows.region == "south") & (rows.age < 30), 0.75, 0.3), data=rows, groups=["region"])
    content, _ = told(right.report(tmp_path / "s.html"))
    worst = int(np.argmax(np.abs(right.table["gap"])))
    low, high = (f"{100 * abs(right.table[name][worst]):.1f}" for name in ("gap_low", "gap_high"))
    assert content["verdict"].startswith("None of 3 groups is off beyond chance; the largest gap left is that of")
    assert str(right.table["name"][worst]) in content["verdict"]
    assert low in content["verdict"]
    assert high in content["verdict"]


def test_before_and_after_are_drawn_on_the_same_levels(rows: pd.DataFrame, tmp_path: Path) -> None:
    made = mv.multicalibrate("y", "p", data=rows, groups=["region", mv.bins("age", 4)])
    content, _ = told(made.report(tmp_path / "r.html", "y", "p", data=rows))
    maps = content["heatmaps"]
    assert maps["before"]["levels"] == maps["after"]["levels"]
    assert maps["before"]["groups"] == maps["after"]["groups"]
    assert content["reliability"]["percent"], "outcomes of 0 and 1 are shares: no axis leaves 0 to 100 %"
