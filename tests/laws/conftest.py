"""The corners that every law runs over: one coordinate or two, rows in memory or in an engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tests.engines.conftest import entrance, spark

__all__ = ["spark"]

Enter = Callable[[pd.DataFrame], Any]


@pytest.fixture(params=["pandas", "polars lazy", "duckdb", "pyspark"])
def place(request: pytest.FixtureRequest) -> Enter:
    """Where the rows live: a function that takes them there."""
    return entrance(request.param, request)


@pytest.fixture(params=["single", "pair"])
def coordinates(request: pytest.FixtureRequest) -> int:
    """How many columns a prediction has."""
    return {"single": 1, "pair": 2}[request.param]
