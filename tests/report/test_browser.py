"""The page in a real browser: silent console, sorting and filtering, no sideways scroll on a phone, accessible by axe's rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.browser import AXE, VIEWS, Browser, missing
from tests.report.conftest import HOSTILE, PAGES

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

COLUMN = """
const table = document.getElementById("group-table");
return Array.from(table.tBodies[0].rows).filter(r => !r.hidden).map(r => r.cells[arguments[0]].dataset.value);
"""
PRESS = "document.getElementById('group-table').tHead.rows[0].cells[arguments[0]].querySelector('button').click();"
SORTED = "return Array.from(document.querySelectorAll('#group-table thead th')).map(th => th.getAttribute('aria-sort'));"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as made:
        yield made


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("view", VIEWS)
def test_opens_without_a_word(browser: Browser, reports: dict[str, Any], name: str, view: str) -> None:
    browser.open(reports[name], **VIEWS[view])
    assert browser.console() == []
    browser.run("document.querySelectorAll('details').forEach(one => { one.open = true; });")
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    assert browser.run("return performance.getEntriesByType('resource').filter(e => e.name.startsWith('http')).length") == 0
    assert browser.run("return document.querySelectorAll('figure svg').length") > 0


def test_hostile_name_is_shown_as_text(browser: Browser, reports: dict[str, Any]) -> None:
    browser.open(reports["mean"])
    assert HOSTILE in browser.run(COLUMN, 0)


def test_sorts_both_ways(browser: Browser, reports: dict[str, Any]) -> None:
    browser.open(reports["mean"])
    browser.run(PRESS, 1)
    rows = [int(value) for value in browser.run(COLUMN, 1)]
    assert rows == sorted(rows, reverse=True)
    assert browser.run(SORTED)[1] == "descending"
    browser.run(PRESS, 1)
    assert [int(value) for value in browser.run(COLUMN, 1)] == sorted(rows)
    browser.run(PRESS, 0)
    assert browser.run(SORTED)[:2] == ["ascending", "none"]
    assert browser.console() == []


def test_filters(browser: Browser, reports: dict[str, Any]) -> None:
    browser.open(reports["mean"])
    everything = browser.run(COLUMN, 0)
    browser.run("const f = document.getElementById('filter'); f.value = 'b6'; f.dispatchEvent(new Event('input'));")
    kept = browser.run(COLUMN, 0)
    assert kept == [name for name in everything if "B6" in name]
    assert browser.run("return document.getElementById('shown').textContent") == f"{len(kept)} of {len(everything)} groups"
    browser.run("document.getElementById('filter').value = ''; document.getElementById('only-off').click();")
    assert 0 < len(browser.run(COLUMN, 0)) < len(everything)


def test_two_tables_sort_and_filter_on_their_own(browser: Browser, reports: dict[str, Any]) -> None:
    browser.open(reports["pair"])
    names = """
    const table = document.getElementById(arguments[0] + "-group-table");
    return Array.from(table.tBodies[0].rows).filter(r => !r.hidden).map(r => r.cells[0].dataset.value);
    """
    before = browser.run(names, "first")
    browser.run("const f = document.getElementById('second-filter'); f.value = 'b6'; f.dispatchEvent(new Event('input'));")
    assert browser.run(names, "first") == before
    kept = browser.run(names, "second")
    assert 0 < len(kept) < len(before)
    browser.run("document.querySelector('#second-group-table thead button').click();")
    assert browser.run(names, "second") == sorted(kept)
    assert browser.run(names, "first") == before
    assert browser.console() == []


def test_keyboard_alone(browser: Browser, reports: dict[str, Any]) -> None:
    browser.open(reports["mean"])
    browser.run("document.querySelector('#group-table thead button').focus();")
    browser.press("\ue007")  # Enter
    assert browser.run(SORTED)[0] == "ascending"
    assert browser.run("return getComputedStyle(document.activeElement).outlineStyle") != "none"


@pytest.mark.parametrize(("name", "view"), [(n, v) for n in PAGES for v in VIEWS if n in ("mean", "pair") or v == "desk"])
def test_axe_finds_nothing_serious(browser: Browser, reports: dict[str, Any], name: str, view: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not there; `make browser` fetches it")
    browser.open(reports[name], **VIEWS[view])
    assert browser.serious() == []


def test_prints(browser: Browser, reports: dict[str, Any], tmp_path: Path) -> None:
    browser.open(reports["mean"], **VIEWS["paper"])
    style = "return getComputedStyle(document.querySelector(arguments[0])).getPropertyValue(arguments[1])"
    assert browser.run(style, "nav", "display") == "none"
    assert browser.run(style, ".controls", "display") == "none"
    assert browser.run(style, ".groups .scroll", "overflow-y") == "visible", "every row is printed"
    browser.open(reports["mean"])
    browser.pdf(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes()[:5] == b"%PDF-"
    browser.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 20_000
