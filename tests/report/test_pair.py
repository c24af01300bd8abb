"""The report of a pair says for either coordinate what the audit of the pair found."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from multivalid.audit.audit import audit_source
from multivalid.errors import InputError
from multivalid.report import figures
from multivalid.report.sentences import number
from multivalid.sources.open import open_source

BOTH = ["limit", "tail"]


def loaded(page: Path) -> dict[str, Any]:
    return dict(json.loads(page.with_suffix(".report.json").read_text("utf-8")))


def test_the_json_holds_both_coordinates_before_and_after(reports: dict[str, Any], flights: pd.DataFrame) -> None:
    content, fitted, test = loaded(reports["pair"]), reports["objects"]["pair"], flights[6000:]
    said = fitted.predict(BOTH, data=test)
    after = mv.audit("delay", said, data=test, groups=fitted.groups, property=fitted.property)
    source = open_source("delay", BOTH, groups=fitted.groups, data=test, target=fitted.property)
    # Both on the levels of the calibrated predictions; those outside count at the outermost level.
    audits = {"before": audit_source(source, fitted.property, after.grids, beyond=True), "after": after}
    assert [one["name"] for one in content["coordinates"]] == list(fitted.property.names)
    for one, key in zip(content["coordinates"], ("first", "second"), strict=True):
        told = {entry["name"]: entry for entry in one["groups"]}
        for when, found in audits.items():
            for i, name in enumerate(found.table["name"]):
                for column in ("error", "gamma_error", "debiased", "p_adjusted", "prediction", "value"):
                    assert told[str(name)][when][column] == pytest.approx(found.table[f"{key}_{column}"][i], rel=1e-12, nan_ok=True)
    rows = {row["name"]: row for row in content["headline"]}
    for k, key in enumerate(("first", "second")):
        assert [rows[f"{key}_worst_error"][when] for when in audits] == [found.errors[k] for found in audits.values()]
        assert rows[f"{key}_worst_error"]["after"] < rows[f"{key}_worst_error"]["before"]
    assert rows["first_worst_gamma_error"]["after"] == audits["after"].gamma_errors[0]
    assert content["scope"]["status"] == "jointly"
    assert content["certificate"]["status"] == fitted.certificate.status


def test_cells_by_hand() -> None:
    """Six rows, two levels of the limit: coverage and the mean of limit + excess/(1 − τ), worked out by hand."""
    y = [1.0, 2.0, 6.0, 1.0, 3.0, 9.0]
    said = [[2.0, 5.0]] * 3 + [[4.0, 8.0]] * 3
    first, second = mv.audit(y, said, groups=[], property="quantile_cvar:0.5").coordinates
    assert first.cells["identification"] == pytest.approx([2 / 3 - 0.5, 2 / 3 - 0.5])
    assert figures.curve(first, "everyone")["observed"] == pytest.approx([2 / 3, 2 / 3])
    targets = [np.mean([2, 2, 2 + 4 / 0.5]), np.mean([4, 4, 4 + 5 / 0.5])]
    assert figures.curve(second, "everyone")["observed"] == pytest.approx(targets)
    assert second.cells["identification"] == pytest.approx([5 - targets[0], 8 - targets[1]])


def test_what_was_observed_moves_with_the_first_prediction(reports: dict[str, Any]) -> None:
    text = reports["pair"].read_text("utf-8")
    assert "actual before" in text
    assert "actual after" in text
    assert "actual before" not in reports["mean"].read_text("utf-8")
    for row in loaded(reports["pair"])["headline"]:
        assert number(row["before"]) in text
        assert number(row["after"]) in text


def test_without_rows(reports: dict[str, Any], flights: pd.DataFrame, tmp_path: Path) -> None:
    fitted = reports["objects"]["pair"]
    assert loaded(fitted.report(tmp_path / "r.html"))["settings"]["rows"] == 6000, "the rows fitted"
    held = mv.multicalibrate("delay", BOTH, data=flights, groups=["carrier"], property="quantile_cvar:0.9", holdout=0.25)
    assert loaded(held.report(tmp_path / "r.html"))["settings"]["rows"] == 3000, "the rows held out"
    fitted.save(tmp_path / "model.json")
    for bare in (mv.load(tmp_path / "model.json"), copy.copy(fitted)):
        page = bare.report(tmp_path / "bare.html")
        content = loaded(page)
        assert [one["groups"] for one in content["coordinates"]] == [[], []]
        assert content["certificate"]["words"]
        assert "Certificate" in page.read_text("utf-8")


def test_before_must_be_of_the_same_rows(tmp_path: Path) -> None:
    now, other = (mv.audit([0.0, 1.0] * k, [[0.5, 0.2]] * 2 * k, groups=[], property="mean_variance") for k in (1, 2))
    with pytest.raises(InputError, match="same groups and rows"):
        now.report(tmp_path / "r.html", before=other)


@pytest.mark.parametrize("pair", ["mean_variance", "mean_std", "quantile_cvar:0.5", "bayes:huber:0.3"])
def test_odd_audits_make_a_page(pair: str, tmp_path: Path) -> None:
    one = mv.audit([1.0], [[1.0, 1.0]], groups=[], property=pair)
    flat = mv.audit([0.0] * 50, [[0.0, 0.0]] * 50, groups=[np.zeros(50, dtype=bool)], property=pair)
    said, first = [[0.5, 0.5], [0.2, 0.5], [0.1, 0.1]], np.array([True, False, False])
    weighted = mv.audit([0, 1, 1], said, groups=[first], sample_weight=[0.0, 1.0, 2.0], property=pair)
    for i, found in enumerate((one, flat, weighted)):
        assert loaded(found.report(tmp_path / f"{i}.html"))["verdict"]


def test_axes(reports: dict[str, Any]) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found, fitted = reports["objects"]["pair audit"], reports["objects"]["pair"]
    for coordinate in (0, 1):
        ax = found.plot_groups(5, coordinate=coordinate)
        assert max(bar.get_width() for bar in ax.patches) == found.errors[coordinate]
        for made in (
            ax,
            found.plot_heatmap(6, coordinate=coordinate),
            found.plot_reliability("carrier = UA", coordinate=coordinate),
        ):
            made.figure.canvas.draw()
            plt.close(made.figure)
    ax = fitted.plot_potential()
    assert np.array_equal(ax.lines[0].get_ydata(), fitted.certificate.potential)
    plt.close(ax.figure)
    with pytest.raises(InputError, match="coordinate must be 0"):
        found.plot_groups(coordinate=2)
