"""What is said to have converged has no group off beyond chance: on rows held out where there are some, else on the rows fitted."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv

LEVELS = (np.array([9, 18, 27, 36]) - 0.5) / 45  # four of the 45 levels: rounding moves no prediction
HOMES: dict[str, Any] = {"memory": lambda d: d, "polars": lambda d: pl.from_pandas(d).lazy(), "DuckDB": duckdb.from_df}


def rows(n: int = 20_000, off: float = 0.08, seed: int = 0) -> pd.DataFrame:
    """A tenth of the rows are off; another group's labels are far from the average, so that a constant does badly."""
    rng = np.random.default_rng(seed)
    p = rng.choice(LEVELS, n)
    site = rng.choice(["a", "b"], n, p=[0.1, 0.9])
    y = rng.random(n) < np.where(site == "a", p - off, p)
    return pd.DataFrame({"y": y.astype(float), "p": p, "site": site, "high": np.where(p > 0.5, "yes", "no")})


@pytest.mark.parametrize("mode", ["theorem", "paper"])
@pytest.mark.parametrize("home", HOMES)
def test_an_error_that_is_met_is_not_all_that_counts(home: str, mode: str) -> None:
    """alpha allows what the group is off by: nothing has to be done for it, and that is not called converged."""
    data = HOMES[home](rows(200_000, off=0.03))
    made = mv.multicalibrate("y", "p", data=data, groups=["site", "high"], mode=mode, alpha=0.004).certificate
    assert made.error <= made.alpha <= made.trivial
    assert made.status == "uncalibrated"
    assert "of 5 groups" in made.note
    assert "off beyond chance at 5 %" in made.note
    assert "allows that" in made.summary()


@pytest.mark.parametrize("home", HOMES)
def test_right_predictions_converge(home: str) -> None:
    made = mv.multicalibrate("y", "p", data=HOMES[home](rows(off=0.0)), groups=["site", "high"], mode="theorem", m=45).certificate
    assert made.status == "converged"
    assert "None of 5 groups is off beyond chance" in made.note
    assert "allows that" not in made.summary()


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("mode", ["theorem", "practical"])
def test_rows_held_out_decide(home: str, mode: str) -> None:
    """The group is right among the rows fitted and off among those held out."""
    data = pd.concat([rows(off=0.0).assign(later=False), rows(8000, seed=1).assign(later=True)], ignore_index=True)
    made = mv.multicalibrate(
        "y", "p", data=HOMES[home](data), groups=["site", "high"], mode=mode, alpha=0.004, holdout="later"
    ).certificate
    assert made.status == "uncalibrated"
    assert "of 5 groups" in made.note.split("On held-out rows: ")[1]
    assert "off beyond chance at 5 %: site = a" in made.note.split("On held-out rows: ")[1]
    assert "allows that" not in made.summary()


@pytest.mark.parametrize("target", ["mean_variance", "quantiles:0.5,0.9"])
@pytest.mark.parametrize("m", [8, 40, None])
@pytest.mark.parametrize("held", [None, 0.4])
def test_pairs_and_several_columns(target: str, m: int | None, held: float | None) -> None:
    rng = np.random.default_rng(2)
    center, group = rng.choice([-2.0, 0.0, 2.0], 3000), rng.random(3000) < 0.3
    y = np.clip(center + rng.normal(size=3000) + 0.6 * group, -6, 6)
    said = np.stack([center, np.ones(3000) if target == "mean_variance" else center + 1.2815515655446004], axis=1)
    groups = [group, center > 0, center < 0]
    out = None if held is None else rng.random(3000) < held
    made = mv.multicalibrate(
        y, said, groups=groups, property=target, mode="theorem", m=m, holdout=out, lipschitz=0.5 if m else None
    )
    seen = np.ones(3000, dtype=bool) if out is None else out
    off = made.audit(y[seen], said[seen], groups=[one[seen] for one in groups]).off
    assert not (off and made.certificate.status == "converged"), made.certificate.summary()
    assert ("On held-out rows" if held else "On the rows fitted") in str(made.certificate) or made.certificate.status != "converged"
