"""Quality on the shared workloads, small enough to be quick; error and loss only, never time."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

import multivalid as mv

SHARED = Path(os.environ.get("MULTIVALID_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "bench" / "workloads.py"
pytestmark = pytest.mark.skipif(not SHARED.exists(), reason="the shared workloads are absent (set MULTIVALID_SHARED)")


@pytest.fixture(scope="module")
def workloads() -> Any:
    spec = importlib.util.spec_from_file_location("shared_workloads", SHARED)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def quality(d: dict[str, Any], prop: mv.Property, measure: Any) -> Any:
    fitted = mv.multicalibrate(d["y_fit"], d["base_fit"], groups=d["g_fit"], property=prop)
    return measure(fitted.predict(d["base_test"], groups=[d["g_test"]]), d["y_test"], d["g_test"])


@pytest.mark.parametrize(("rows", "error", "loss"), [(20_000, 7.5e-4, 0.479), (2_000, 2.8e-3, 0.50)])
def test_means(workloads: Any, rows: int, error: float, loss: float) -> None:
    found = quality(workloads.mean(rows, 10_000), mv.Mean(), workloads.mean_quality)
    assert found["max_error"] <= error
    assert found["logloss"] <= loss


def test_quantiles(workloads: Any) -> None:
    found = quality(workloads.quantile(20_000, 10_000), mv.Quantile(0.9), workloads.quantile_quality)
    assert found["max_error"] <= 6.0e-4
    assert found["pinball"] <= 0.0242


@pytest.mark.parametrize("make", ["mean", "quantile"])
def test_the_truth_is_left_alone(workloads: Any, make: str) -> None:
    prop = mv.Mean() if make == "mean" else mv.Quantile(0.9)
    for seed in (300, 301):
        d = getattr(workloads, make)(5_000, 10_000, seed=seed)
        fitted = mv.multicalibrate(d["y_fit"], d["truth_fit"], groups=d["g_fit"], property=prop)
        final = fitted.predict(d["truth_test"], groups=[d["g_test"]])
        before, after = (prop.score(p, d["y_test"]).mean() for p in (d["truth_test"], final))
        assert after <= before * 1.001
