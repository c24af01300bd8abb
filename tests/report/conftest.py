"""One calibration with an awkwardly named group, and its reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import multivalid as mv

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="session")
def flights() -> pd.DataFrame:
    """Rows whose predictions are off for some groups."""
    rng = np.random.default_rng(7)
    n = 12_000
    frame = pd.DataFrame({"carrier": rng.choice(["AA", "B6", "UA"], n), "hour": rng.integers(5, 9, n), "x": rng.random(n)})
    frame[HOSTILE] = rng.random(n) < 0.3
    frame["chance"] = 0.2 + 0.5 * frame["x"]
    truth = frame["chance"] + 0.12 * (frame["carrier"] == "B6") - 0.15 * frame[HOSTILE]
    frame["late"] = (rng.random(n) < truth).astype(float)
    frame["delay"] = rng.gamma(2.0, 10 * (1 + frame["x"]) * np.where(frame["carrier"] == "UA", 1.6, 1.0))
    frame["limit"] = 40 * (1 + frame["x"]).round(1)
    frame["tail"] = 1.4 * frame["limit"]
    return frame


PAGES = ("mean", "quantile", "audit", "pair", "pair audit")
GROUPS = ["carrier", "hour", mv.cross("carrier", "hour"), HOSTILE]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the reports of the session lie."""
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="session")
def reports(flights: pd.DataFrame, folder: Path) -> dict[str, Any]:
    """Pages of every kind, by name; "objects" holds what they were made from."""
    train, test = flights[:6000], flights[6000:]
    mean = mv.multicalibrate("late", "chance", data=train, groups=GROUPS)
    quantile = mv.multicalibrate("delay", "limit", data=train, groups=GROUPS, property="quantile:0.9", mode="theorem", m=20)
    found = mv.audit("delay", "limit", data=test, groups=GROUPS, property=mv.Expectile(0.8))
    both = ["limit", "tail"]
    pair = mv.multicalibrate("delay", both, data=train, groups=GROUPS, property="quantile_cvar:0.9")
    two = mv.audit("delay", both, data=test, groups=GROUPS, property="quantile_iqr")
    return {
        "pair": pair.report(folder / "pair.html", "delay", both, data=test, title="Limit and tail"),
        "pair audit": two.report(folder / "pair_audit.html"),
        "mean": mean.report(folder / "mean.html", "late", "chance", data=test, title="Late or not"),
        "quantile": quantile.report(folder / "quantile.html", "delay", "limit", data=test),
        "audit": found.report(folder / "audit.html"),
        "objects": {"mean": mean, "quantile": quantile, "audit": found, "pair": pair, "pair audit": two},
    }
