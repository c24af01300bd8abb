"""The fan of several quantiles: numbers by hand, on the page for quantiles and for nothing else."""

from __future__ import annotations

import json

import numpy as np
import pytest

import multivalid as mv
from multivalid.report.fans import drawn, fan


def test_slices_by_hand():
    predictions = np.column_stack([np.arange(200.0) - 10, np.arange(200.0), np.arange(200.0) + 20])[::-1]
    labels, weights = np.arange(200.0)[::-1] + 1, np.ones(200)
    target = mv.Quantiles([0.1, 0.5, 0.9])
    found = fan("everyone", target.keys, target.properties, predictions, labels, weights)
    assert found["rank"] == pytest.approx([0.125, 0.375, 0.625, 0.875])  # four slices of fifty rows
    low, middle, high = found["columns"]
    assert middle["predicted"] == pytest.approx([24.5, 74.5, 124.5, 174.5])
    assert low["predicted"] == pytest.approx([14.5, 64.5, 114.5, 164.5])
    assert high["observed"] == pytest.approx([45.0, 95.0, 145.0, 195.0])  # nine tenths of 1 … 50, and so on
    picture = drawn(found)
    assert len(picture["bands"]) == 1
    assert len(picture["lines"]) == 3
    assert len(picture["points"]) == 12
    assert all(picture["frame"]["left"] <= point["x"] <= picture["frame"]["right"] for point in picture["points"])


def test_weights_count_and_few_rows_make_one_slice():
    target = mv.Quantiles([0.2, 0.8])
    found = fan(
        "few", target.keys, target.properties, np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([5.0, 9.0]), np.array([1.0, 3.0])
    )
    assert found["rank"] == [0.5]
    assert [column["predicted"] for column in found["columns"]] == [[1.5], [2.5]]
    assert [column["observed"] for column in found["columns"]] == [[5.0], [9.0]]


def test_on_the_page_for_quantiles_and_not_for_classes(tmp_path):
    rng = np.random.default_rng(2)
    side = rng.random(3000) < 0.3
    y = rng.normal(size=3000) * np.where(side, 3.0, 1.0)
    said = np.tile([-1.28, 0.0, 1.28], (3000, 1))
    fitted = mv.multicalibrate(y, said, groups={"<b>wide</b>": side}, property=mv.Quantiles([0.1, 0.5, 0.9]))
    page = fitted.report(tmp_path / "fan.html").read_text("utf-8")
    content = json.loads((tmp_path / "fan.report.json").read_text("utf-8"))
    assert [one["group"] for one in content["fans"]["before"]] == ["<b>wide</b>", "everyone"]
    before, after = (content["fans"][when][0]["columns"][2] for when in ("before", "after"))
    off = [abs(np.mean(one["predicted"]) - np.mean(one["observed"])) for one in (before, after)]
    assert off[1] < 0.3 * off[0]
    assert "Fans of the worst groups" in page
    assert "<b>wide" not in page
    assert "other prediction where" not in page  # that is true of pairs only
    kind = np.where(rng.random(3000) < 0.4, "a", np.where(rng.random(3000) < 0.5, "b", "c"))
    classes = mv.audit(kind, np.full((3000, 3), 1 / 3), groups=[side], property=mv.Classes(["a", "b", "c"]))
    classes.report(tmp_path / "classes.html")
    assert "fans" not in json.loads((tmp_path / "classes.report.json").read_text("utf-8"))
    assert (tmp_path / "classes.html").read_text("utf-8").count("Worst groups in detail: ") == 6  # a row of diagrams for each class
