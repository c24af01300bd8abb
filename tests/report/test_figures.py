"""Figures hold the audit's numbers, on the page and on a matplotlib axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.report import figures, geometry
from multivalid.report.content import build
from multivalid.report.sources import story

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def close(ax: Any) -> None:
    import matplotlib.pyplot as plt

    ax.figure.canvas.draw()
    plt.close(ax.figure)


def test_coverage_is_the_share_at_or_below() -> None:
    y = np.array([1.0, 2.0, 3.0, 4.0, 5.0] * 20)
    found = mv.audit(y, np.full(100, 4.0), groups=[], property="quantile:0.9")
    curve = figures.curve(found.coordinates[0], "everyone")
    assert curve["observed"] == pytest.approx([0.8])
    assert curve["low"][0] < 0.8 < curve["high"][0]
    ax = found.plot_reliability()
    assert ax.lines[1].get_ydata() == pytest.approx([0.8])
    close(ax)


def test_observed_mean_lies_on_the_diagonal_when_calibrated() -> None:
    y = np.tile([0.0, 1.0, 1.0, 1.0], 50)
    found = mv.audit(y, np.full(200, 0.75), groups=[])
    assert figures.curve(found.coordinates[0], "everyone")["observed"] == pytest.approx([0.75])
    assert figures.group_average(found) == pytest.approx([0.75])


def test_heat_map_shows_the_deviates_of_the_cells(reports: dict[str, Any]) -> None:
    found = reports["objects"]["audit"]
    names = figures.worst_groups(found, 5)
    made = figures.heatmap(found, names, levels=1000)
    at = {(str(g), float(level)): i for i, (g, level) in enumerate(zip(found.cells["group"], found.cells["level"], strict=True))}
    for row, name in enumerate(names):
        for column, (low, high) in enumerate(made["levels"]):
            assert low == high
            i = at.get((name, low))
            if i is None:
                assert np.isnan(made["z"][row, column])
            else:
                assert made["z"][row, column] == pytest.approx(found.cells["z"][i])


def test_levels_taken_together_keep_their_rows(reports: dict[str, Any]) -> None:
    found = reports["objects"]["audit"]
    made = figures.heatmap(found, ["everyone"], levels=4)
    assert len(made["levels"]) <= 4
    assert made["rows"].sum() == found.table["rows"][0]


def test_axes(reports: dict[str, Any]) -> None:
    found, fitted = reports["objects"]["audit"], reports["objects"]["quantile"]
    close(found.plot_heatmap(8))
    close(found.plot_heatmap(["everyone", "carrier = UA"]))
    close(found.plot_groups(5))
    close(found.plot_reliability("carrier = UA"))
    ax = fitted.plot_potential()
    assert np.array_equal(ax.lines[0].get_ydata(), fitted.certificate.potential)
    close(ax)
    import matplotlib.pyplot as plt

    figure, mine = plt.subplots()
    assert found.plot_reliability(ax=mine, label="before", color="k") is mine
    plt.close(figure)
    with pytest.raises(InputError, match="name of a group"):
        found.plot_reliability("no such group")


def test_trace_keeps_its_ends() -> None:
    steps = figures.thin(np.linspace(1, 0, 5000))
    assert len(steps) <= figures.TRACE
    assert steps[0] == [0, 1.0]
    assert steps[-1] == [4999, 0.0]
    assert geometry.trace(steps, 0.0) is not None
    assert geometry.trace([[0, 1.0], [1, 0.5]], None) is None


@pytest.mark.parametrize(("lo", "hi"), [(0, 1), (-3, 7), (1e-6, 2e-6), (1e5, 1.1e5), (0.5, 0.5001)])
def test_ticks_lie_inside(lo: float, hi: float) -> None:
    made = geometry.ticks(lo, hi)
    assert 3 <= len(made) <= 12
    assert lo - 1e-9 <= made[0] <= made[-1] <= hi + 1e-9
    assert np.all(np.diff(made) > 0)


def test_the_worst_that_remain_are_shown_beside_the_worst_before():
    rng = np.random.default_rng(0)
    n = 12_000
    masks = {f"g{k}": rng.random(n) < 0.2 for k in range(20)}
    y = (rng.random(n) < 0.5).astype(float)
    before = np.clip(0.5 + sum(0.08 * masks[f"g{k}"] for k in range(6)), 0, 1)
    after = np.clip(0.5 + 0.2 * masks["g19"], 0, 1)
    audits = [mv.audit(y, said, groups=mv.Groups(masks)) for said in (before, after)]
    content = build(story(audits[1], audits[0], None, None, [], {}))
    shown = [one["group"] for one in content["reliability"]["diagrams"]]
    assert "g19" in shown
    assert set(shown) & {f"g{k}" for k in range(6)}


def test_axes_of_shares_stay_between_0_and_1():
    curve = {"prediction": [0.01, 0.02], "observed": [0.0, 0.03], "low": [-0.02, 0.0], "high": [0.02, 0.99], "rows": [5, 5]}
    for target in (None, 0.9):
        drawn = geometry.diagram({"now": curve}, target, percent=True)
        texts = [tick["text"] for tick in drawn["y_ticks"]]
        assert not any(text.startswith("−") for text in texts)
        at = [float(place.split(",")[1]) for place in drawn["curves"]["now"]["band"].split()]
        assert min(at) >= drawn["frame"]["top"]
        assert max(at) <= drawn["frame"]["bottom"]
