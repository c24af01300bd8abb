"""The same rows in every kind of frame the tests know."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

Rows = list[dict[str, Any]]

_POLARS = {
    "i": pl.Int64,
    "small": pl.Int8,
    "n": pl.Int64,
    "f": pl.Float64,
    "g": pl.Float32,
    "s": pl.String,
    "t x": pl.String,
    "flag": pl.Boolean,
    "maybe": pl.Boolean,
}


def polars(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=_POLARS)


def polars_categorical(rows: Rows) -> pl.DataFrame:
    return polars(rows).with_columns(pl.col("s", "t x").cast(pl.Categorical))


def polars_lazy(rows: Rows) -> pl.LazyFrame:
    return polars(rows).lazy()


def arrow(rows: Rows) -> pa.Table:
    return polars(rows).to_arrow()


def duck(rows: Rows) -> duckdb.DuckDBPyRelation:
    table = arrow(rows)
    return duckdb.connect().from_arrow(table)


def pandas_plain(rows: Rows) -> pd.DataFrame:
    """NumPy types: missing whole numbers are NaN, missing booleans make an object column."""
    frame = pd.DataFrame({name: [row[name] for row in rows] for name in _POLARS})
    # With nothing but None in it, an object column has no type that anyone could know.
    flags = object if frame["maybe"].notna().any() else "boolean"
    return frame.astype(
        {"small": "int8", "n": "float64", "f": "float64", "g": "float32", "s": object, "t x": object, "maybe": flags}
    )


def pandas_nullable(rows: Rows) -> pd.DataFrame:
    frame = pandas_plain(rows).assign(n=pd.array([row["n"] for row in rows], dtype="Int64"))
    return frame.astype({"i": "Int64", "s": "string", "t x": "string", "flag": "boolean", "maybe": "boolean"})


def pandas_arrow(rows: Rows) -> pd.DataFrame:
    return arrow(rows).to_pandas(types_mapper=pd.ArrowDtype)


def pandas_categorical(rows: Rows) -> pd.DataFrame:
    return pandas_plain(rows).astype({"s": "category", "t x": "category", "maybe": "boolean"})


EAGER = [polars, polars_categorical, arrow, pandas_plain, pandas_nullable, pandas_arrow, pandas_categorical]
LAZY = [polars_lazy, duck]


def as_stored(rows: Rows) -> Rows:
    """The rows with `g` as the float32 the frames hold."""
    with np.errstate(over="ignore"):
        return [{**row, "g": float(np.float32(row["g"]))} for row in rows]
