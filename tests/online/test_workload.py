"""Quality with default settings on the shared stream of quantiles with a jump half way."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

from multivalid.online import OnlineMulticalibrator

SHARED = Path(os.environ.get("MULTIVALID_SHARED", Path(__file__).parents[3] / "shared")) / "bench" / "workloads.py"


@pytest.mark.skipif(not SHARED.exists(), reason=f"{SHARED} is not there; set MULTIVALID_SHARED")
def test_default_quality() -> None:
    spec = importlib.util.spec_from_file_location("workloads", SHARED)
    assert spec is not None
    assert spec.loader is not None
    workloads = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(workloads)
    figures = []
    for seed in range(20233, 20243):
        data = workloads.online(seed=seed)
        learner = OnlineMulticalibrator("quantile:0.9", 20, labels=(0.0, 1.0))
        prediction = learner.replay(data["g"], data["y"])
        quality = workloads.quantile_quality(prediction, data["y"], data["g"])
        figures.append((learner.error(), quality["max_error"], quality["max_group_gap"], quality["pinball"]))
    exact, binned, gap, pinball = np.median(figures, axis=0)
    assert exact <= 2.2e-3
    assert binned <= 3.3e-3
    assert gap <= 0.08
    assert pinball <= 0.0445
