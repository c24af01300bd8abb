"""The same rows as a frame in memory, a lazy polars frame and a DuckDB relation."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl


def as_pandas(frame: pl.DataFrame) -> Any:
    return frame.to_pandas()


def as_lazy(frame: pl.DataFrame) -> Any:
    return frame.lazy()


def as_relation(frame: pl.DataFrame) -> Any:
    return duckdb.connect().from_arrow(frame.to_arrow())


ENGINES = [as_pandas, as_lazy, as_relation]
