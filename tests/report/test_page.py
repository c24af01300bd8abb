"""The page says what the dict says, whatever the names; the dict says what the audit says."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from multivalid.cells.sentences import worst_first
from multivalid.errors import InputError
from multivalid.report.readings import reading_of
from multivalid.report.sentences import number
from tests.report.conftest import HOSTILE, PAGES


class Outline(HTMLParser):
    """Tags, ids, and addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name in ("src", "href") and value:
                self.addresses.append(value)


def loaded(page: Path) -> dict[str, Any]:
    return dict(json.loads(page.with_suffix(".report.json").read_text("utf-8")))


def test_the_json_holds_the_numbers_of_the_audit(reports: dict[str, Any], flights: pd.DataFrame) -> None:
    content = loaded(reports["audit"])
    found = reports["objects"]["audit"]
    by_name = {entry["name"]: entry for entry in content["groups"]}
    assert list(by_name) == [str(name) for name in found.table["name"][worst_first(found.table)]]
    for i, name in enumerate(found.table["name"]):
        assert by_name[str(name)]["now"]["error"] == found.table["error"][i]
        assert by_name[str(name)]["rows"] == found.table["rows"][i]
    told = {row["name"]: row["now"] for row in content["headline"]}
    assert (told["worst_error"], told["worst_rms"]) == (found.error, found.table["rms"].max())
    assert told["groups_off"] == len(found.off)
    assert content["settings"]["data fingerprint"] == found.fingerprint
    assert len(content["cells"]["now"]["error"]) == len(found.cells["error"])


@pytest.mark.parametrize("name", ["mean", "quantile"])
def test_before_and_after_are_the_audits_of_both_predictions(reports: dict[str, Any], flights: pd.DataFrame, name: str) -> None:
    content, fitted, test = loaded(reports[name]), reports["objects"][name], flights[6000:]
    label, base = ("late", "chance") if name == "mean" else ("delay", "limit")
    after = mv.audit(label, fitted.predict(base, data=test), data=test, groups=fitted.groups, property=fitted.property)
    row = {row["name"]: row for row in content["headline"]}["worst_error"]
    assert row["after"] == after.error
    levels = content["settings"]
    assert levels["levels before"] == levels["levels after"]  # both on the levels of the predictions as they are now
    assert content["headline"][-1]["after"] == after.score
    assert content["certificate"]["updates"] == fitted.certificate.updates


@pytest.mark.parametrize("name", PAGES)
def test_the_page_stands_alone(reports: dict[str, Any], name: str) -> None:
    text = reports[name].read_text("utf-8")
    outline = Outline(text)
    assert all(address.startswith(("#", "data:,")) for address in outline.addresses)
    assert not re.search(r"https?://", text), "nothing points to the network"
    assert len(outline.ids) == len(set(outline.ids))
    assert {address[1:] for address in outline.addresses if address.startswith("#")} <= set(outline.ids)
    content = loaded(reports[name])
    assert content["verdict"] in html.unescape(text).replace("\N{NO-BREAK SPACE}", " ")
    for row in content["headline"]:
        for when, shown in row["shown"].items():
            assert shown in text
            assert shown == number(row[when]) or row["name"].endswith("rms")


@pytest.mark.parametrize("name", PAGES)
def test_a_hostile_group_name_is_text(reports: dict[str, Any], name: str) -> None:
    text = reports[name].read_text("utf-8")
    assert HOSTILE not in text
    assert html.escape(HOSTILE) in text
    assert Outline(text).tags.count("script") == 1


def test_a_hostile_title_and_attribute_text(tmp_path: Path) -> None:
    nasty = '"><img src=x onerror=alert(1)> {{ 7 * 7 }} </style><b>'
    names = mv.Groups([np.array([True, False, True, True])], names=[nasty])
    page = mv.audit([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.7], groups=names).report(tmp_path / "r.html", title=nasty)
    outline = Outline(page.read_text("utf-8"))
    assert "img" not in outline.tags
    assert "b" not in outline.tags
    assert "49" not in outline.ids
    assert loaded(page)["title"] == nasty


def test_only_json_when_asked(tmp_path: Path) -> None:
    mv.audit([0, 1], [0.5, 0.5], groups=[]).report(tmp_path / "r.json")
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]


def test_a_loaded_model_reports_its_certificate(reports: dict[str, Any], tmp_path: Path) -> None:
    fitted = reports["objects"]["quantile"]
    fitted.save(tmp_path / "model.json")
    page = mv.load(tmp_path / "model.json").report(tmp_path / "r.html")
    content = loaded(page)
    assert content["groups"] == []
    assert content["certificate"]["words"]
    assert "Certificate" in page.read_text("utf-8")


def test_without_rows_the_rows_held_out_are_shown(flights: pd.DataFrame, tmp_path: Path) -> None:
    held = np.arange(len(flights)) >= 9000
    fitted = mv.multicalibrate("late", "chance", data=flights, groups=["carrier"], holdout=held)
    assert loaded(fitted.report(tmp_path / "r.html"))["settings"]["rows"] == 3000


def test_odd_audits_make_a_page(tmp_path: Path) -> None:
    one = mv.audit([1.0], [1.0], groups=[])
    flat = mv.audit([0.0] * 50, [0.0] * 50, groups=[np.zeros(50, dtype=bool)])
    weighted = mv.audit([0, 1, 1], [0.5, 0.5, 0.1], groups=[], sample_weight=[0.0, 1.0, 2.0])
    for i, found in enumerate((one, flat, weighted)):
        assert "verdict" in loaded(found.report(tmp_path / f"{i}.html"))


def test_files_are_whole_and_readable_by_others(tmp_path: Path) -> None:
    page = mv.audit([0, 1], [0.5, 0.5], groups=[]).report(tmp_path / "r.html")
    mask = os.umask(0)
    os.umask(mask)
    assert page.stat().st_mode & 0o777 == 0o666 & ~mask
    with pytest.raises(InputError, match=r"cannot write"):
        mv.audit([0, 1], [0.5, 0.5], groups=[]).report(tmp_path / "missing" / "r.html")
    with pytest.raises(InputError, match=r"\.html or \.json"):
        mv.audit([0, 1], [0.5, 0.5], groups=[]).report(tmp_path / "r.pdf")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["r.html", "r.report.json"]


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    found = mv.audit([0, 1], [0.5, 0.5], groups=[])
    with pytest.raises(InputError, match=r"jinja2.*multivalid\[cli\]"):
        found.report(tmp_path / "r.html")
    assert not list(tmp_path.iterdir())
    found.report(tmp_path / "r.json")
    with pytest.raises(InputError, match=r"matplotlib.*multivalid\[cli\]"):
        found.plot_groups()


def test_import_stays_light() -> None:
    code = "import multivalid, sys; print([m for m in ('jinja2', 'matplotlib', 'multivalid.report.page') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("prop", "target"),
    [(mv.Mean(), None), (mv.Quantile(0.9), 0.9), (mv.Expectile(0.8), 0.0), (mv.Ratio(lambda y: y, lambda y: 1 + y), 0.0)],
)
def test_readings(prop: mv.Property, target: float | None) -> None:
    assert reading_of(prop).target == target


def test_before_must_be_of_the_same_rows(tmp_path: Path) -> None:
    now, other = mv.audit([0, 1], [0.5, 0.5], groups=[]), mv.audit([0, 1, 1], [0.5, 0.5, 0.5], groups=[])
    with pytest.raises(InputError, match="same groups and rows"):
        now.report(tmp_path / "r.html", before=other)


def test_before_on_other_levels_is_said(tmp_path: Path) -> None:
    y, before, now = [0, 1, 1, 0], [0.2, 0.4, 0.6, 0.8], [0.3, 0.5, 0.5, 0.7]
    apart = mv.audit(y, now, groups=[]).report(tmp_path / "r.html", before=mv.audit(y, before, groups=[]))
    assert "different levels" in apart.read_text()
    grid = mv.Grid.uniform(0, 1, 4)
    both = [mv.audit(y, one, groups=[], grid=grid) for one in (before, now)]
    alike = both[1].report(tmp_path / "r.html", before=both[0])
    assert "different levels" not in alike.read_text()
    settings = loaded(alike)["settings"]
    assert settings["levels before"] == settings["levels after"] == grid.points.tolist()


def test_rows_that_stay_in_their_engine(reports: dict[str, Any], flights: pd.DataFrame, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    fitted, test = reports["objects"]["mean"], flights[6000:]
    page = fitted.report(tmp_path / "r.html", "late", "chance", data=polars.from_pandas(test).lazy())
    here, there = (loaded(one)["headline"][2] for one in (reports["mean"], page))
    assert here["name"] == there["name"] == "worst_error"
    assert there["before"] == pytest.approx(here["before"])
    assert there["after"] < there["before"]
