"""`cluster=` by the name of a column: days, names and numbers are the same units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError


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


def lucky(n: int = 3000) -> pd.DataFrame:
    """Groups of every kind; those of `site` hold whole clusters, the others cut through them; missing values; uneven weights."""
    rng = np.random.default_rng(7)
    customer = rng.integers(0, 150, n)
    luck = rng.normal(0, 0.6, 150)[customer]
    rows = pd.DataFrame({"customer": [f"c{k}" for k in customer], "site": np.array(["a", "b", None], dtype=object)[customer % 3]})
    rows["age"], rows["w"] = rng.integers(18, 90, n), rng.choice([0.0, 0.5, 1.0, 3.0], n)
    rows["p"] = rng.uniform(0.05, 0.6, n)
    rows["y"] = (rng.random(n) < 1 / (1 + np.exp(-np.log(rows["p"] / (1 - rows["p"])) - luck))).astype(float)
    rows["amount"] = np.exp(luck + rng.normal(size=n))
    rows["size"] = np.exp(rng.normal(0.5, 0.3, n))
    return rows


@pytest.mark.parametrize(
    ("columns", "property"), [(("y", "p"), "mean"), (("amount", "size"), "mean"), (("amount", "size"), "quantile:0.7")]
)
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_clusters_stay_in_their_engine(columns: tuple[str, str], property: str, weight: str | None, engine: str) -> None:
    rows = lucky()
    groups = ["site", mv.bins("age", 3), mv.cross("site", "age > 40"), "age > 30", "age < 60 and p > 0.2"]
    asked: Any = {"groups": groups, "property": property, "sample_weight": weight, "cluster": "customer"}
    if engine == "polars":
        data: Any = pl.from_pandas(rows).lazy()
    else:
        data = pytest.importorskip("duckdb").connect().from_df(rows)
    memory, there = mv.audit(*columns, data=rows, **asked), mv.audit(*columns, data=data, **asked)
    assert memory.table["name"].tolist() == there.table["name"].tolist()
    for name in ("p_value", "p_adjusted", "gap", "gap_low", "gap_high", "rms", "rms_high", "detectable"):
        np.testing.assert_allclose(there.table[name], memory.table[name], rtol=1e-9, atol=1e-12, err_msg=name)
    assert (memory.table["p_value"] != mv.audit(*columns, data=rows, **(asked | {"cluster": None})).table["p_value"]).any()


def test_clusters_of_a_lazy_frame_are_a_column_without_gaps() -> None:
    rows = pl.from_pandas(lucky(60))
    with pytest.raises(InputError, match="cluster must be the name of a column"):
        mv.audit("y", "p", data=rows.lazy(), groups=[], cluster=np.arange(60))
    with pytest.raises(InputError, match="cluster"):
        mv.audit("y", "p", data=rows.lazy(), groups=[], cluster="custmer")
    gaps = rows.with_columns(pl.when(pl.col("age") > 80).then(None).otherwise(pl.col("customer")).alias("customer"))
    with pytest.raises(InputError, match="must not have missing values"):
        mv.audit("y", "p", data=gaps.lazy(), groups=[], cluster="customer")
