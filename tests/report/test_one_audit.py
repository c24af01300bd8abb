"""One audit, every surface: each number of table, terminal, command line, map, page and JSON is that of the others."""

from __future__ import annotations

import io
import json
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import multivalid as mv
from multivalid.report import figures
from multivalid.report.content import PER_GROUP

KINDS = ["event", "quantile", "amount", "pair", "clustered"]


def audited(kind: str) -> mv.Audit:
    rng = np.random.default_rng(5)
    n = 4000
    said, south = rng.uniform(0.1, 0.8, n), rng.random(n) < 0.2
    asked: dict[str, Any] = {"groups": mv.Groups({"south": south, "two": np.arange(n) < 2, "half": rng.random(n) < 0.5})}
    asked["sample_weight"] = rng.uniform(0.5, 2.0, n)
    if kind in ("event", "clustered"):
        y = (rng.random(n) < np.where(south, 0.6 * said, said)).astype(float)
        return mv.audit(y, said, **asked, cluster=np.arange(n) // 10 if kind == "clustered" else None)
    if kind == "amount":
        return mv.audit(1000 * said * rng.gamma(2.0, 0.5, n) * np.where(south, 1.4, 1.0), 1000 * said, **asked)
    y = rng.exponential(1.0, n) * np.where(south, 1.5, 1.0)
    if kind == "quantile":
        return mv.audit(y, np.log(10) + 0.1 * said, property="quantile:0.9", **asked)
    return mv.audit(
        y, np.stack([np.log(10) + 0.1 * said, 1 + np.log(10) + 0.1 * said], axis=1), property="quantile_cvar:0.9", **asked
    )


@pytest.fixture(scope="module", params=KINDS)
def surfaces(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[mv.Audit, str, dict[str, Any]]:
    """The audit, its page and its JSON."""
    pytest.importorskip("jinja2")
    found, folder = audited(request.param), tmp_path_factory.mktemp("one")
    page = found.report(folder / "r.html").read_text("utf-8").replace("\N{NO-BREAK SPACE}", " ")
    return found, page, json.loads((folder / "r.report.json").read_text("utf-8"))


class Tables(HTMLParser):
    """Every table of a page: rows of (text, data-value) per cell."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[list[list[list[str | None]]]] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables and self.tables[-1]:
            self.tables[-1][-1].append(["", dict(attrs).get("data-value")])
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        self._inside &= tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._inside:
            cell = self.tables[-1][-1][-1]
            cell[0] = f"{cell[0]}{data}".strip()


def parts_of(found: mv.Audit, content: dict[str, Any]) -> list[tuple[Any, dict[str, Any]]]:
    """Every coordinate with its part of the JSON."""
    return list(zip(found.coordinates, content.get("coordinates", [content]), strict=True))


def same(told: float | None, value: float) -> bool:
    return (np.isnan(value) or not np.isfinite(value)) if told is None else told == pytest.approx(value, rel=1e-12, abs=0)


def test_json_holds_the_table_and_the_cells(surfaces: Any) -> None:
    found, _, content = surfaces
    for one, part in parts_of(found, content):
        told = {entry["name"]: entry for entry in part["groups"]}
        assert sorted(told) == sorted(one.table["name"])
        for i, name in enumerate(one.table["name"]):
            entry = told[str(name)]
            assert (entry["rows"], entry["weight"]) == (one.table["rows"][i], pytest.approx(one.table["weight"][i], rel=1e-12))
            for column in PER_GROUP:
                assert column not in one.table or same(entry["now"][column], float(one.table[column][i])), column
        assert set(part["cells"]["now"]) == set(one.cells)
        for column, values in one.cells.items():
            for told_value, value in zip(part["cells"]["now"][column], values.tolist(), strict=True):
                assert told_value == value if isinstance(value, str) else same(told_value, value), column
        levels = f"levels of {part['name']}" if "name" in part else "levels"
        assert content["settings"][levels] == pytest.approx(one.grid.points.tolist(), rel=1e-12)


def test_everybody_says_the_same_sentences(surfaces: Any) -> None:
    found, page, content = surfaces
    text = found.summary(k=100)
    assert text.splitlines()[0] == found.verdict
    assert "south" in found.off
    named: list[str] = []
    for one, part in parts_of(found, content):
        assert sorted(part["off"]["now"]["groups"]) == sorted(one.table["name"][one.table["p_adjusted"] <= 0.05])
        named += part["off"]["now"]["groups"]
        for line in [*part["off"]["now"]["said"], *part["cannot_tell"]["now"]]:
            assert line in text
        assert all(line in page for line in part["off"]["now"]["said"])
        assert len(found.coordinates) > 1 or part["cannot_tell"]["now"][0] in page
        assert np.isnan(one.table["p_value"]).sum() == 1  # two rows
    assert list(dict.fromkeys(named)) == found.off
    assert [line for _, part in parts_of(found, content) for line in part["off"]["now"]["said"]] == found.headlines


def test_terminal_and_command_line_print_the_table(surfaces: Any) -> None:
    found, _, _ = surfaces
    printed = [found.summary(k=100)]
    if len(found.coordinates) == 1:
        console = pytest.importorskip("rich.console")
        from multivalid.cli.tables import audit_table

        shown = console.Console(file=io.StringIO(), width=300)
        shown.print(audit_table(found, 100))
        printed.append(shown.file.getvalue())
    for text in printed:
        lines = [line.replace(" to ", " ").split() for line in text.splitlines() if " to " in line and "(" not in line]
        wanted = [_terminal_line(one.table, one.units, i) for one in found.coordinates for i in range(len(one.table["name"]))]
        assert sorted(lines) == sorted(wanted)


def _terminal_line(table: Any, units: Any, i: int) -> list[str]:
    p = float(table["p_adjusted"][i])
    gap = [units.signed(float(table[name][i])) for name in ("gap", "gap_low", "gap_high")]
    averages = [f"{table[name][i]:.4g}" for name in ("prediction", "value")]
    return [
        str(table["name"][i]),
        f"{table['rows'][i]:,}",
        *averages,
        *gap,
        units.number(float(table["rms"][i])),
        "–" if p != p else f"{p:.2g}",
    ]


def test_the_page_shows_the_table(surfaces: Any) -> None:
    found, page, content = surfaces
    tables = [rows for rows in Tables(page).tables if len(rows) > 1 and rows[1][0][1]]  # names that can be sorted
    assert len(tables) == len(found.coordinates)
    for rows, (one, part) in zip(tables, parts_of(found, content), strict=True):
        told = {entry["name"]: entry["now"] for entry in part["groups"]}
        place = {str(name): i for i, name in enumerate(one.table["name"])}
        assert {row[0][0] for row in rows[1:]} == set(place)
        heads = [_sorted_by(str(cell[0])) for cell in rows[0]]
        largest = one.table["error"].max()
        unit = 10.0 ** np.floor(np.log10(largest))
        for row in rows[1:]:
            cells = dict(zip(heads, row, strict=True))
            name, count, error, gap, rms, p = (cells[head] for head in ("group", "rows", "error", "gap", "rms", "p"))
            averages = [cells[head] for head in ("predicted", "actual", "coverage", "mean") if head in cells]
            i = place[str(name[0])]
            assert count == [f"{one.table['rows'][i]:,}", str(one.table["rows"][i])]
            assert same(_value(error), float(one.table["error"][i]))
            assert error[0] == f"{one.table['error'][i] / unit:.2f}"
            assert same(_value(gap), float(one.table["gap"][i]))
            low, high = (one.units.signed(float(one.table[end][i])) for end in ("gap_low", "gap_high"))
            assert gap[0] == f"{one.units.signed(float(one.table['gap'][i]))} ({low} to {high})"
            assert same(_value(rms), float(one.table["rms"][i]))
            assert rms[0] == one.units.number(float(one.table["rms"][i]))
            assert same(_value(p), float(one.table["p_adjusted"][i]))
            value = float(one.table["p_adjusted"][i])
            assert p[0] == ("cannot tell" if np.isnan(value) else "< 0.001" if value < 0.001 else f"{value:.3f}")
            assert same(_value(averages[-1]), told[str(name[0])]["average"])
            if len(averages) == 2:
                assert same(_value(averages[0]), float(one.table["prediction"][i]))


def _sorted_by(text: str) -> str:
    """The first word of a heading that can be clicked, which says its text twice; nothing for other headings."""
    half = text[: len(text) // 2]
    return half.split()[0] if text == half * 2 else ""


def _value(cell: list[str | None]) -> float | None:
    return float(cell[1]) if cell[1] else None


def test_the_average_of_a_group_is_what_its_gap_says(surfaces: Any) -> None:
    found, _, content = surfaces
    for k, (one, part) in enumerate(parts_of(found, content)):
        for entry in part["groups"]:
            i = list(one.table["name"]).index(entry["name"])
            if one.units.points and one.units.above == "covered too often":
                assert entry["now"]["average"] - 0.9 == pytest.approx(one.table["gap"][i], abs=1e-12)
            elif k == 0:
                assert one.table["prediction"][i] - one.table["value"][i] == pytest.approx(one.table["gap"][i], rel=1e-9, abs=1e-12)
                assert entry["now"]["average"] == pytest.approx(one.table["value"][i], rel=1e-9)


def test_the_map_shows_the_cells(surfaces: Any) -> None:
    found, page, content = surfaces
    drawn = [rows for rows in Tables(page).tables if rows and rows[0] and rows[0][0][0] == "prediction near"]
    for rows, (one, part) in zip(drawn, parts_of(found, content), strict=True):
        heat = part["heatmaps"]["now"]
        again = figures.heatmap(one, heat["groups"])
        np.testing.assert_allclose(np.array(heat["z"], dtype=float), again["z"])
        level = {tuple(pair): j for j, pair in enumerate(heat["levels"])}
        texts = {str(row[0][0]): [cell[0] for cell in row[1:]] for row in rows[1:]}
        seen = 0
        for group, point, z, count in zip(one.cells["group"], one.cells["level"], one.cells["z"], one.cells["rows"], strict=True):
            at = heat["groups"].index(str(group)), level[float(point), float(point)]
            shown = heat["z"][at[0]][at[1]]
            assert (shown is None and np.isnan(z)) or shown == pytest.approx(z)
            assert heat["rows"][at[0]][at[1]] == count
            assert texts[str(group)][at[1]] == ("" if np.isnan(z) else f"{z:+.1f}".replace("-", "−"))
            seen += 1
        assert seen == sum(bool(text) for row in texts.values() for text in row) + int(np.isnan(one.cells["z"]).sum())


def test_diagrams_draw_the_cells(surfaces: Any) -> None:
    found, _, content = surfaces
    for one, part in parts_of(found, content):
        for diagram in part["reliability"]["diagrams"]:
            inside = one.cells["group"] == diagram["group"]
            curve = diagram["curves"]["now"]
            order = np.argsort(one.cells["prediction"][inside], kind="stable")
            np.testing.assert_allclose(curve["prediction"], one.cells["prediction"][inside][order], rtol=1e-12)
            assert curve["rows"] == one.cells["rows"][inside][order].tolist()
            half = (np.array(curve["high"]) - np.array(curve["low"])) / 2
            assert (half <= figures.Z95 * one.cells["standard_error"][inside][order] * (1 + 1e-6) + 1e-9).all()  # cut at 0 and 1


def test_the_top_of_the_page_counts_what_the_table_says(surfaces: Any) -> None:
    found, _, content = surfaces
    told = {row["name"]: row["now"] for row in content["headline"]}
    for key, one in zip([""] if len(found.coordinates) == 1 else ["first_", "second_"], found.coordinates, strict=True):
        assert told[f"{key}groups_off"] == int((one.table["p_adjusted"] <= 0.05).sum())
        assert told[f"{key}worst_error"] == pytest.approx(one.table["error"].max(), rel=1e-12)
