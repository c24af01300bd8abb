"""Random tables of what engines disagree about, in every kind of frame there is in this process.

-0.0, NaN beside null, unsigned numbers beyond 2**63, decimals, dates, times of every unit, in time zones and far in the future, nullable
kinds, categories, letters that look alike, names that are words of the language.
"""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

Columns = dict[str, list[Any]]

UTC, PARIS = ZoneInfo("UTC"), ZoneInfo("Europe/Paris")
START = dt.datetime(2024, 1, 31)
NANOS = [1706659200000000000 + k for k in (-1, 0, 1, 1000, 3_600_000_000_000)]
INTS = [-(2**63), -(2**53) - 1, -1, 0, 1, 2, 7, 2**53 + 1, 2**63 - 1]
FLOATS = [-1e308, -2.5, -1.0, -0.0, 0.0, 0.1, 0.5, 1.0, 2.0, 1e300, float("inf"), float("-inf"), float("nan")]
LOOK_ALIKE = ["\N{LATIN SMALL LETTER E WITH ACUTE}", "e\N{COMBINING ACUTE ACCENT}"]
WORDS = [
    "",
    "a",
    "b",
    "A",
    "it's",
    'say "x"',
    "日本",
    "a b",
    "\\",
    "NaN",
    "2024-01-31",
    "a\tb",
    "\N{GRINNING FACE}",
    "\uffef",
    *LOOK_ALIKE,
]
TIMES = [START + dt.timedelta(microseconds=k) for k in (-1, 0, 1, 3_600_000_000, 86_400_000_000)]
FAR = [dt.datetime(1600, 2, 29, 23), dt.datetime(9999, 12, 31)]
SECONDS = [when.replace(microsecond=0) for when in TIMES]
CLOCKS = [
    dt.datetime(2024, 3, 31, 0, 59),
    dt.datetime(2024, 3, 31, 1),
    dt.datetime(2024, 10, 27, 0, 30),
    dt.datetime(2024, 10, 27, 1, 30),
]
POOLS: dict[str, tuple[list[Any], pa.DataType]] = {
    "i": (INTS, pa.int64()),
    "small": ([-128, -1, 0, 1, 127], pa.int8()),
    "byte": ([0, 1, 7, 255], pa.uint8()),
    "u": ([0, 1, 7, 2**63 - 1, 2**63, 2**64 - 1], pa.uint64()),
    "f": (FLOATS, pa.float64()),
    "g": ([float(np.float32(x)) for x in FLOATS if abs(x) < 1e38 or x != x], pa.float32()),
    "d": ([Decimal("-1.10"), Decimal("0.00"), Decimal("1.10"), Decimal("2.50")], pa.decimal128(12, 2)),
    "and": (INTS, pa.int64()),
    "a.b": (FLOATS, pa.float64()),
    "s": (WORDS, pa.string()),
    'the "s"': (WORDS, pa.string()),
    "flag": ([True, False], pa.bool_()),
    "day": ([START.date() + dt.timedelta(days=k) for k in (-1, 0, 1)] + [dt.date(9999, 12, 31)], pa.date32()),
    "t": ([*TIMES, *FAR], pa.timestamp("us")),
    "ms": ([*SECONDS, *FAR], pa.timestamp("ms")),
    "sec": (SECONDS, pa.timestamp("s")),
    "ns": (NANOS, pa.timestamp("ns")),
    "z": ([when.replace(tzinfo=UTC) for when in TIMES], pa.timestamp("us", tz="UTC")),
    "paris": ([when.replace(tzinfo=UTC).astimezone(PARIS) for when in (*TIMES, *CLOCKS)], pa.timestamp("us", tz="Europe/Paris")),
}
# What a kind of frame does not hold as it is: whole numbers with gaps are floats in NumPy, and DuckDB forgets the zone of an instant.
LOST = {"pandas plain": {"i", "u", "and"}, "duckdb": {"paris"}, "duckdb table": {"paris"}}


def table(rng: random.Random, rows: int) -> Columns:
    """Columns of values, a fifth of them missing."""
    return {name: [None if rng.random() < 0.2 else rng.choice(pool) for _ in range(rows)] for name, (pool, _) in POOLS.items()}


def arrow(columns: Columns) -> pa.Table:
    return pa.table({name: pa.array(values, POOLS[name][1]) for name, values in columns.items()})


def frames(columns: Columns, connection: Any) -> dict[str, Any]:
    """The same rows in every kind of frame."""
    whole = arrow(columns)
    in_polars = pl.from_arrow(whole)
    assert isinstance(in_polars, pl.DataFrame)
    levels = pl.Enum([*WORDS, "of no row"])
    plain = whole.to_pandas()
    nullable = _nullable(plain, columns)
    encoded = whole.set_column(whole.column_names.index("s"), "s", whole["s"].dictionary_encode())
    connection.execute("CREATE OR REPLACE TABLE awkward AS SELECT * FROM whole")
    listed = ", ".join("'" + word.replace("'", "''") + "'" for word in WORDS)
    connection.execute(f"ALTER TABLE awkward ALTER s TYPE ENUM ({listed})")
    connection.execute("ALTER TABLE awkward ALTER u TYPE HUGEINT")
    return {
        "polars": in_polars,
        "polars categorical": in_polars.with_columns(pl.col("s").cast(pl.Categorical), pl.col('the "s"').cast(levels)),
        "polars lazy": in_polars.lazy(),
        "arrow": whole,
        "arrow encoded": encoded,
        "pandas plain": plain,
        "pandas nullable": nullable,
        "pandas arrow": whole.to_pandas(types_mapper=pd.ArrowDtype),
        "pandas category": nullable.astype({"s": pd.CategoricalDtype([*reversed(WORDS), "of no row"])}),
        "duckdb": connection.from_arrow(whole),
        "duckdb table": connection.table("awkward"),
    }


def _nullable(plain: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """Columns with NA; those of floats have NaN as well."""
    kinds = {"i": "Int64", "and": "Int64", "u": "UInt64", "small": "Int8", "byte": "UInt8", "s": "string", "flag": "boolean"}
    made = plain.assign(**{name: pd.array(columns[name], dtype=kind) for name, kind in kinds.items()})  # type: ignore[call-overload]
    gaps = np.array([value is None for value in columns["f"]])
    floats = np.array([0.0 if value is None else value for value in columns["f"]])
    return made.assign(f=pd.arrays.FloatingArray(floats, gaps))


def dict_rows(columns: Columns) -> list[dict[str, Any]]:
    """What an online learner would be handed."""
    held = {**columns, "ns": [None if value is None else pd.Timestamp(value) for value in columns["ns"]]}
    return [dict(zip(held, values, strict=True)) for values in zip(*held.values(), strict=True)]
