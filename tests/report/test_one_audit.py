"""One audit, every surface: the same levels, gaps, p-values and verdict in table, terminal, map, page and JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import multivalid as mv
from multivalid.report import figures

PROPERTIES = ["mean", "quantile:0.9"]


@pytest.fixture(params=PROPERTIES)
def found(request: pytest.FixtureRequest) -> mv.Audit:
    rng = np.random.default_rng(5)
    said, south = rng.uniform(0.1, 0.8, 4000), rng.random(4000) < 0.2
    groups = mv.Groups({"south": south, "two": np.arange(4000) < 2})
    weight = rng.uniform(0.5, 2.0, 4000)
    if request.param == "mean":
        y = (rng.random(4000) < np.where(south, 0.7 * said, said)).astype(float)
        return mv.audit(y, said, groups=groups, sample_weight=weight)
    y = rng.exponential(1.0, 4000) * np.where(south, 1.5, 1.0)
    return mv.audit(y, np.log(10) + 0.1 * said, groups=groups, property=request.param, sample_weight=weight)


def test_every_surface_says_the_same(found: mv.Audit, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    table, units, text = found.table, found.coordinates[0].units, found.summary()
    page = found.report(tmp_path / "r.html").read_text("utf-8").replace("\N{NO-BREAK SPACE}", " ")
    content = json.loads((tmp_path / "r.report.json").read_text("utf-8"))
    told = {entry["name"]: entry["now"] for entry in content["groups"]}
    assert found.off == content["off"]["now"]["groups"] == ["south", *found.off[1:]]
    assert content["settings"]["levels"] == pytest.approx(found.grid.points.tolist())
    assert text.splitlines()[0] == found.verdict
    for line in found.headlines:
        assert line in text
        assert line in page
        assert line in content["off"]["now"]["said"]
    for i, name in enumerate(table["name"]):
        for column in ("gap", "gap_low", "gap_high", "rms", "rms_low", "rms_high", "p_value", "p_adjusted", "error", "detectable"):
            value = told[str(name)][column]
            assert (float("nan") if value is None else value) == pytest.approx(table[column][i], nan_ok=True)
        shown = [units.signed(float(table[column][i])) for column in ("gap", "gap_low", "gap_high")]
        (line,) = (row for row in text.splitlines() if row.startswith(f"{name} ") and " to " in row)
        assert f"{shown[1]} to {shown[2]}" in line
        assert f"{shown[0]} ({shown[1]} to {shown[2]})" in page
        p = table["p_adjusted"][i]
        assert line.endswith("–" if np.isnan(p) else f"{p:.2g}")


def test_the_map_shows_the_cells(found: mv.Audit, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    found.report(tmp_path / "r.html")
    heat = json.loads((tmp_path / "r.report.json").read_text("utf-8"))["heatmaps"]["now"]
    drawn = figures.heatmap(found.coordinates[0], heat["groups"])
    np.testing.assert_allclose(np.array(heat["z"], dtype=float), drawn["z"])
    level = {tuple(pair): j for j, pair in enumerate(heat["levels"])}
    for group, point, z in zip(found.cells["group"], found.cells["level"], found.cells["z"], strict=True):
        shown = heat["z"][heat["groups"].index(str(group))][level[float(point), float(point)]]
        assert shown == pytest.approx(z) if shown is not None else np.isnan(z)
    assert re.search(r"cannot tell", (tmp_path / "r.html").read_text("utf-8"))
