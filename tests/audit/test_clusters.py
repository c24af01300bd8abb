"""`cluster=` by the name of a column: days, names and numbers are the same units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    day = np.repeat(np.arange(60), 20)
    luck = rng.normal(0, 0.5, 60)[day]
    rows = pd.DataFrame({"g": rng.random(day.size) < 0.5, "p": np.full(day.size, 0.4), "number": day})
    rows["y"] = (rng.random(day.size) < 1 / (1 + np.exp(0.405 - luck))).astype(int)
    rows["date"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(day, unit="D")
    rows["name"] = [f"day {d}" for d in day]
    return rows


@pytest.mark.parametrize("column", ["date", "name"])
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_units_of_any_kind(frame: pd.DataFrame, column: str, kind: Any) -> None:
    data = frame if kind is pd.DataFrame else pl.from_pandas(frame)
    named, numbered = (mv.audit("y", "p", data=data, groups=["g"], cluster=c).table for c in (column, frame["number"].to_numpy()))
    plain = mv.audit("y", "p", data=data, groups=["g"]).table
    np.testing.assert_allclose(named["p_value"], numbered["p_value"], rtol=1e-12)  # clusters are summed in another order
    np.testing.assert_allclose(named["gap_low"], numbered["gap_low"], rtol=1e-12)
    assert (named["gap_high"] - named["gap_low"] > plain["gap_high"] - plain["gap_low"]).all()  # shared luck makes intervals wider
