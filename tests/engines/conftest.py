"""The same rows in every engine; where an engine is absent its tests are skipped, with the reason."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

EAGER, LAZY, SLOW = ("pandas", "polars", "pyarrow"), ("polars lazy", "duckdb", "pyspark"), ("ibis", "dask")


def rows(n: int = 3000, seed: int = 0) -> pd.DataFrame:
    """Whole-number labels, predictions and weights: sums are exact in any order, so engines can agree to the last bit."""
    rng = np.random.default_rng(seed)
    site, age = rng.choice(["a", "b", "c"], n), rng.integers(0, 90, n)
    return pd.DataFrame(
        {
            "y": (rng.poisson(20 + 15 * (site == "a") + 20 * (age > 60), n)).astype(float),
            "p": 4.0 * rng.integers(4, 16, n),
            "w": rng.integers(0, 4, n),
            "site": site,
            "age": age,
            "held": rng.random(n) < 0.3,
        }
    )


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        pytest.skip("pyspark is not installed: make test-spark installs it and runs this")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed, Spark cannot start")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # rows in batches are read by Python workers, which need multivalid too
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(params=[*EAGER, *LAZY])
def engine(request: pytest.FixtureRequest) -> Callable[[pd.DataFrame], Any]:
    """A function that takes rows to an engine."""
    return entrance(request.param, request)


@pytest.fixture(params=LAZY)
def lazy_engine(request: pytest.FixtureRequest) -> Callable[[pd.DataFrame], Any]:
    """The same for engines that keep the rows to themselves."""
    return entrance(request.param, request)


@pytest.fixture(params=SLOW)
def slow_engine(request: pytest.FixtureRequest) -> Callable[[pd.DataFrame], Any]:
    """Engines that take seconds where others take a tenth: they are shown a case of each kind."""
    return entrance(request.param, request)


def entrance(name: str, request: pytest.FixtureRequest) -> Callable[[pd.DataFrame], Any]:
    if name == "pyspark":
        session = request.getfixturevalue("spark")
        return lambda frame: session.createDataFrame(list(frame.itertuples(index=False, name=None)), schema=list(frame.columns))
    if name == "duckdb":
        duckdb = pytest.importorskip("duckdb")

        def enter(frame: pd.DataFrame) -> Any:
            connection = duckdb.connect()  # not the default one: models must find the relation's own
            connection.register("given", pa.Table.from_pandas(frame, preserve_index=False))
            return connection.sql("SELECT * FROM given")

        return enter
    if name == "ibis":
        ibis = pytest.importorskip("ibis", reason="ibis is not installed: pip install 'ibis-framework[duckdb]'")
        return lambda frame: ibis.memtable(pa.Table.from_pandas(frame, preserve_index=False))
    if name == "dask":
        dask = pytest.importorskip("dask.dataframe", reason="dask is not installed: pip install 'dask[dataframe]'")
        return lambda frame: dask.from_pandas(frame, npartitions=3)
    made: dict[str, Callable[[pd.DataFrame], Any]] = {
        "pandas": lambda frame: frame,
        "polars": pl.from_pandas,
        "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
        "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    }
    return made[name]


def collected(frame: Any) -> pd.DataFrame:
    """Any engine's frame as pandas."""
    if isinstance(frame, pd.DataFrame):
        return frame
    if hasattr(frame, "toPandas"):
        return pd.DataFrame([row.asDict() for row in frame.collect()])
    if hasattr(frame, "compute"):
        return frame.compute()
    if hasattr(frame, "to_pyarrow"):
        return frame.to_pyarrow().to_pandas()
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if hasattr(frame, "to_arrow_table"):
        frame = frame.to_arrow_table()
    return frame.to_pandas()
