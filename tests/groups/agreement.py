"""Random predicates on random tables, answered by every evaluator there is in this process: all must say the same.

The tables hold what engines disagree about: -0.0, NaN beside null, unsigned numbers beyond 2**63, decimals, dates, times in nanoseconds,
in a time zone and far in the future, nullable kinds. `python -m tests.groups.agreement 100000` runs that many cases.
"""

from __future__ import annotations

import datetime as dt
import random
import sys
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from multivalid.groups.frames import open_frame
from multivalid.groups.predicate import parse
from multivalid.groups.remote import lazy_frame, schema_of

UTC, PARIS = ZoneInfo("UTC"), ZoneInfo("Europe/Paris")
MICRO = dt.timedelta(microseconds=1)
START = dt.datetime(2024, 1, 31)
NANOS = [1706659200000000000 + k for k in (-1, 0, 1, 1000, 3_600_000_000_000)]
INTS = [-(2**63), -(2**53) - 1, -1, 0, 1, 2, 7, 2**53 + 1, 2**63 - 1]
FLOATS = [-1e308, -2.5, -1.0, -0.0, 0.0, 0.1, 0.5, 1.0, 2.0, 1e300, float("inf"), float("-inf"), float("nan")]
WORDS = ["", "a", "b", "it's", 'say "x"', "日本", "a b", "\\", "NaN", "2024-01-31"]
TIMES = [START + k * MICRO for k in (-1, 0, 1, 3_600_000_000, 86_400_000_000)]
POOLS: dict[str, tuple[list[Any], pa.DataType]] = {
    "i": (INTS, pa.int64()),
    "small": ([-128, -1, 0, 1, 127], pa.int8()),
    "u": ([0, 1, 7, 2**63 - 1, 2**63, 2**64 - 1], pa.uint64()),
    "f": (FLOATS, pa.float64()),
    "g": ([float(np.float32(x)) for x in FLOATS if abs(x) < 1e38 or x != x], pa.float32()),
    "d": ([Decimal("-1.10"), Decimal("0.00"), Decimal("1.10"), Decimal("2.50")], pa.decimal128(12, 2)),
    "s": (WORDS, pa.string()),
    "flag": ([True, False], pa.bool_()),
    "day": ([START.date() + dt.timedelta(days=k) for k in (-1, 0, 1)] + [dt.date(9999, 12, 31)], pa.date32()),
    "t": ([*TIMES, dt.datetime(9999, 12, 31)], pa.timestamp("us")),
    "ns": (NANOS, pa.timestamp("ns")),
    "z": ([when.replace(tzinfo=UTC) for when in TIMES], pa.timestamp("us", tz="UTC")),
}
ORDER = ["==", "!=", "<", "<=", ">", ">="]
NUMBERS = ("i", "small", "u", "f", "g", "d")
CONSTANTS = {
    "number": [*map(str, INTS), "-0.0", "0.0", "0.1", "1.1", "2.5", "1e19", "9223372036854775807", "-128"],
    "text": [repr(word) for word in WORDS],
    "day": ["'2024-01-31'", "'2024-02-01'", "'9999-12-31'", "'0001-01-01'"],
    "t": [
        "'2024-01-31'",
        "'2024-01-31T01:00'",
        "'2024-01-31T00:00:00.000001'",
        "'9999-12-31'",
        "'0001-01-01'",
        "'1969-12-31T23:59'",
    ],
    "z": ["'2024-01-31'", "'2024-01-31T01:00+01:00'", "'9999-12-31'", "'0001-01-02'"],
    "flag": ["True", "False"],
}


def table(rng: random.Random, rows: int) -> dict[str, list[Any]]:
    """Columns of values, a fifth of them missing."""
    return {name: [None if rng.random() < 0.2 else rng.choice(pool) for _ in range(rows)] for name, (pool, _) in POOLS.items()}


def arrow(columns: dict[str, list[Any]]) -> pa.Table:
    return pa.table({name: pa.array(values, POOLS[name][1]) for name, values in columns.items()})


def frames(columns: dict[str, list[Any]], connection: Any) -> dict[str, Any]:
    """The same rows in every kind of frame."""
    whole = arrow(columns)
    in_polars = pl.from_arrow(whole)
    assert isinstance(in_polars, pl.DataFrame)
    plain = whole.to_pandas()
    nullable = plain.astype({"i": "float64"}).assign(
        i=pd.array(columns["i"], dtype="Int64"),
        u=pd.array(columns["u"], dtype="UInt64"),
        small=pd.array(columns["small"], dtype="Int8"),
        s=pd.array(columns["s"], dtype="string"),
        flag=pd.array(columns["flag"], dtype="boolean"),
    )
    return {
        "polars": in_polars,
        "polars categorical": in_polars.with_columns(pl.col("s").cast(pl.Categorical)),
        "polars lazy": in_polars.lazy(),
        "arrow": whole,
        "pandas nullable": nullable,
        "pandas arrow": whole.to_pandas(types_mapper=pd.ArrowDtype),
        "pandas category": nullable.astype({"s": "category"}),
        "duckdb": connection.from_arrow(whole),
    }


def dict_rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """What an online learner would be handed."""
    held = {**columns, "ns": [None if value is None else pd.Timestamp(value) for value in columns["ns"]]}
    return [dict(zip(held, values, strict=True)) for values in zip(*held.values(), strict=True)]


def number_term(rng: random.Random, depth: int = 2) -> str:
    if depth == 0 or rng.random() < 0.6:
        return rng.choice(NUMBERS)
    right = number_term(rng, depth - 1) if rng.random() < 0.5 else rng.choice(["2", "0.5", "-3", "1e10"])
    return (
        f"({number_term(rng, depth - 1)} {rng.choice('+-*/')} {right})"
        if rng.random() < 0.85
        else f"-{number_term(rng, depth - 1)}"
    )


def date_part(rng: random.Random) -> str:
    """A condition on the calendar."""
    column = rng.choice(["day", "t", "ns", "z"])
    part = rng.choice(["year", "month", "weekday"] if column == "day" else ["year", "month", "weekday", "hour"])
    numbers = {"year": ["2024", "9999"], "month": ["1", "2", "2.5"], "weekday": ["3", "4", "7"], "hour": ["0", "1", "23"]}[part]
    names = {"month": ["'January'", "'June'"], "weekday": ["'Wednesday'", "'Sunday'"]}.get(part, numbers)
    if rng.random() < 0.2:
        return f"{part}({column}) {rng.choice(['is', 'is not'])} None"
    if rng.random() < 0.3:
        return f"{part}({column}) {rng.choice(['in', 'not in'])} [{', '.join(rng.choice([numbers, names]))}]"
    if rng.random() < 0.3:
        return f"{part}({column}) {rng.choice(['-', '*', '/'])} 2 {rng.choice(ORDER)} {rng.choice(numbers)}"
    return f"{part}({column}) {rng.choice(ORDER)} {rng.choice(names)}"


def simple(rng: random.Random) -> str:
    if rng.random() < 0.12:
        return date_part(rng)
    kind = rng.choice(["number", "number", "number", "text", "day", "t", "ns", "z", "flag"])
    column = {"number": number_term(rng), "text": "s"}.get(kind, kind)
    constants = CONSTANTS["t" if kind == "ns" else kind]
    form = rng.randrange(5)
    if form == 0:
        return f"{column} {rng.choice(['is', 'is not'])} None"
    if form == 1:
        listed = ", ".join(rng.choice(constants) for _ in range(rng.randint(1, 4)))
        return f"{column} {rng.choice(['in', 'not in'])} [{listed}]"
    if form == 2 and kind in ("number", "text", "day", "t", "z"):
        return f"{column} {rng.choice(ORDER)} {number_term(rng) if kind == 'number' else column}"
    if kind == "flag":
        return rng.choice(["flag", "not flag", f"flag {rng.choice(['==', '!='])} {rng.choice(constants)}"])
    return f"{column} {rng.choice(ORDER)} {rng.choice(constants)}"


def predicate(rng: random.Random, depth: int = 2) -> str:
    if depth == 0 or rng.random() < 0.5:
        return simple(rng)
    if rng.random() < 0.2:
        return f"not ({predicate(rng, depth - 1)})"
    return f"({predicate(rng, depth - 1)}) {rng.choice(['and', 'or'])} ({predicate(rng, depth - 1)})"


def answers(native: Any, texts: list[str]) -> list[list[bool]]:
    """One list of rows per text."""
    lazy = lazy_frame(native)
    frame: Any = open_frame(native) if lazy is None else lazy
    schema = frame.schema if lazy is None else schema_of(lazy)
    found = frame.select(*(parse(text).expression(schema).alias(f"p{k}") for k, text in enumerate(texts)))
    if isinstance(found, nw.LazyFrame):
        found = found.collect()
    return [found[f"p{k}"].to_list() for k in range(len(texts))]


def disagreements(cases: int, seed: int, together: int = 50, rows: int = 12) -> list[str]:
    """Cases in which an evaluator differs from the dict rows; the zone of the engine's session is drawn, too."""
    rng, connection, odd = random.Random(seed), duckdb.connect(), []
    connection.execute("SET threads=1")
    connection.execute(f"SET TimeZone='{rng.choice(['UTC', 'Asia/Tokyo', 'America/New_York'])}'")
    for _ in range(-(-cases // together)):
        columns = table(rng, rows)
        texts = [predicate(rng) for _ in range(together)]
        one_by_one = dict_rows(columns)
        with np.errstate(all="ignore"):
            expected = [[parsed.holds(row) for row in one_by_one] for parsed in map(parse, texts)]
            for name, native in frames(columns, connection).items():
                for text, wanted, got in zip(texts, expected, answers(native, texts), strict=True):
                    if got != wanted:
                        k = next(i for i, (a, b) in enumerate(zip(got, wanted, strict=True)) if a != b)
                        odd.append(f"{name}: {text} is {got[k]}, expected {wanted[k]} on {one_by_one[k]}")
    return odd


if __name__ == "__main__":
    # Cases, the first seed, and how many tables of 12 rows each predicate meets (put under each other, as evaluation costs per text).
    wanted, seed, tables = (int(word) for word in (*sys.argv[1:], *("100000", "0", "1")[len(sys.argv) - 1 :]))
    done = found = 0
    while done < wanted:
        odd = disagreements(1000 // tables, seed=seed + done, rows=12 * tables)
        done, found = done + 1000, found + len(odd)
        print(f"{done:,} cases, {found} disagreements", *odd[:5], sep="\n", flush=True)
