"""The plain functions agree with the audit, and fit where scikit-learn's metrics fit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score

import multivalid as mv
from multivalid import metrics
from multivalid.errors import InputError


def rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.exponential(size=500), np.round(rng.exponential(size=500), 1), rng.random(500)


@pytest.mark.parametrize("prop", ["mean", "quantile:0.9", "expectile:0.7"])
def test_rms_is_the_root_of_the_audits_error(prop: str) -> None:
    y, p, w = rows()
    grid = mv.Grid.quantile(p, 20, w)
    found = metrics.calibration_rms(y, p, sample_weight=w, property=prop)
    assert found == pytest.approx(np.sqrt(mv.audit(y, p, groups=[], property=prop, sample_weight=w, grid=grid).error), rel=1e-12)


def test_the_gap_is_signed_and_weighted() -> None:
    assert metrics.calibration_gap([0.0, 1.0], [1.0, 1.0], sample_weight=[3, 1]) == pytest.approx(0.75)
    assert metrics.calibration_gap([0.0, 1.0], [0.0, 0.0]) == -0.5
    assert metrics.calibration_gap([1, 1, 2], [1, 1, 1], property="quantile:0.5") == pytest.approx(2 / 3 - 0.5)


def test_the_score_is_the_propertys_own() -> None:
    y, p, w = rows(1)
    expected = np.average(mv.Quantile(0.9).score(p, y), weights=w)
    assert metrics.mean_score(y, p, sample_weight=w, property="quantile:0.9") == pytest.approx(expected)


def test_they_are_scorers() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    scores = cross_val_score(LinearRegression(), X, X[:, 0], scoring=make_scorer(metrics.calibration_rms, greater_is_better=False))
    assert (np.abs(scores) < 1e-8).all()


def test_they_fill_a_metric_frame() -> None:
    """A table of metrics by group, as fairlearn makes it: the gaps are those of the audit's groups."""
    fairlearn = pytest.importorskip("fairlearn.metrics", reason="fairlearn is not installed: it comes with the extra 'test'")
    y, p, w = rows(2)
    site = np.where(np.arange(500) % 3 == 0, "north", "south")
    frame = fairlearn.MetricFrame(
        metrics={"gap": metrics.calibration_gap, "rms": metrics.calibration_rms}, y_true=y, y_pred=p, sensitive_features=site,
        sample_params={"gap": {"sample_weight": w}, "rms": {"sample_weight": w}},
    )  # fmt: skip
    table = mv.audit(y, p, groups=[site == "north", site == "south"], sample_weight=w).table
    assert frame.by_group["gap"]["north"] == pytest.approx(np.average((p - y)[site == "north"], weights=w[site == "north"]))
    assert frame.by_group["gap"].to_list() == pytest.approx((np.array(table["gap"])[1:]).tolist(), rel=1e-9)
    assert frame.overall["rms"] == pytest.approx(metrics.calibration_rms(y, p, sample_weight=w))


def test_bad_input_is_named() -> None:
    with pytest.raises(InputError, match="y_pred"):
        metrics.calibration_gap([0, 1], [0.5])
    with pytest.raises(InputError, match="one coordinate"):
        metrics.calibration_gap([0, 1], [0.5, 0.5], property="mean_variance")


@pytest.mark.parametrize("distinct", [20, 21])
def test_few_distinct_predictions_are_taken_value_by_value(distinct: int) -> None:
    """Of 21 the most part is one value, so that levels of equal weight join many of the others."""
    rng = np.random.default_rng(4)
    p = np.concatenate([np.arange(distinct), np.full(400, 3)]) / 10
    y, w = rng.exponential(size=p.size), rng.choice([0.0, 0.5, 2.0], p.size)
    w[:distinct] = 0.5
    levels = np.unique(p) if distinct <= 20 else mv.Grid.quantile(p, 20, w).points
    place = np.abs(p[:, None] - levels).argmin(axis=1)
    parts = [(w[place == k].sum(), (w * (p - y))[place == k].sum()) for k in range(levels.size)]
    total = sum(mass for mass, _ in parts)
    wanted = sum((v / mass) ** 2 * mass / total for mass, v in parts if mass) ** 0.5
    assert metrics.calibration_rms(y, p, sample_weight=w) == pytest.approx(wanted, rel=1e-12)
    assert metrics.calibration_gap(y, p, sample_weight=w) == pytest.approx((w @ (p - y)) / w.sum(), rel=1e-12)
    assert metrics.mean_score(y, p, sample_weight=w) == pytest.approx((w @ (p - y) ** 2) / 2 / w.sum(), rel=1e-12)
