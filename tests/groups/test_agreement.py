"""Every evaluator gives the same rows; the full count is run by hand, a sample here."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from multivalid.groups.family import Groups
from multivalid.groups.predicate import parse
from tests.groups.agreement import answers, answers_in_sql, disagreements


def test_a_sample_of_random_cases() -> None:
    assert disagreements(60, seed=int(time.time()) % 1000, together=30) == []


def kinds(table: pa.Table) -> list[Any]:
    import duckdb

    frame = pl.from_arrow(table)
    return [
        frame,
        frame.lazy(),
        table,
        table.to_pandas(),
        table.to_pandas(types_mapper=pd.ArrowDtype),
        duckdb.connect().from_arrow(table),
    ]  # type: ignore[union-attr]


def same(column: pa.Array, expected: dict[str, list[bool]]) -> None:
    for native in kinds(pa.table({"x": column})):
        assert dict(zip(expected, answers(native, list(expected)), strict=True)) == expected, type(native)


def test_minus_zero_is_zero() -> None:
    yes = {"x in [0]": [True, True, False], "x in [-0.0, 5]": [True, True, False], "x not in [0.0]": [False, False, True]}
    same(pa.array([0.0, -0.0, 1.0]), yes)


def test_unsigned_numbers_beyond_63_bits() -> None:
    expected = {"x > -1": [True, True, False], "x == 5": [False, True, False], "x >= 9223372036854775807": [True, False, False],
                "x in [-3]": [False, False, False], "x in [5, -3]": [False, True, False], "x != -1": [True, True, False]}  # fmt: skip
    same(pa.array([2**63, 5, None], pa.uint64()), expected)


def test_nanoseconds_and_far_dates() -> None:
    noon = 1706659200000000000
    expected = {"x > '2024-01-31'": [True, False, False], "x == '2024-01-31'": [False, True, False],
                "x <= '9999-12-31'": [True, True, False], "x > '0001-01-01'": [True, True, False],
                "x in ['9999-12-31']": [False, False, False]}  # fmt: skip
    same(pa.array([noon + 1, noon, None], pa.timestamp("ns")), expected)
    assert parse("x > '2024-01-31'").holds({"x": pd.Timestamp(noon + 1)})
    assert parse("x > '2024-01-31'").holds({"x": pd.Timestamp(noon + 1).to_datetime64()})


def test_decimals_and_dates_of_an_object_column() -> None:
    from decimal import Decimal

    same(
        pa.array([Decimal("1.10"), Decimal("2.20"), None], pa.decimal128(8, 2)),
        {"x > 1.1": [False, True, False], "x == 1.1": [True, False, False]},
    )
    same(pa.array([0, 19753, None], pa.int32()).cast(pa.date32()), {"x >= '2024-01-31'": [False, True, False]})


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Tokyo"])
def test_dates_do_not_follow_the_machine(zone: str) -> None:
    code = """
import duckdb, pyarrow as pa
from tests.groups.agreement import answers
hours = pa.array([(1706659200 + 3600 * k) * 10**6 for k in range(-30, 30)], pa.timestamp("us", tz="UTC"))
rows = duckdb.connect().from_arrow(pa.table({"t": hours}))
print(sum(answers(rows, ["t >= '2024-01-31'"])[0]))
"""
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "TZ": zone, "PYTHONPATH": root}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "30"


def test_a_column_of_nothing_is_missing_whatever_it_is_compared_with() -> None:
    texts = ["x", "x > 3", "x == 'a'", "x in [True]", "x is None", "not x", "x + 1 > 2"]
    expected = [[False], [False], [False], [False], [True], [True], [False]]
    assert answers(pl.DataFrame({"x": [None]}), texts) == expected
    assert answers(pd.DataFrame({"x": pd.Series([None], dtype=object)}), texts) == expected
    assert [[parse(text).holds({"x": None})] for text in texts] == expected


def test_a_request_without_a_value_in_a_boolean_column() -> None:
    groups = Groups(["flag", "not flag"]).fit(pd.DataFrame({"flag": [True, False, True]}))
    for request in (pd.DataFrame({"flag": [None]}), pl.DataFrame({"flag": [None]})):
        masks = {name: bool(mask[0]) for name, mask in zip(groups.names, groups.masks(request), strict=True)}
        assert masks["everyone"]
        assert not masks["flag"]
        assert isinstance(nw.from_native(request), nw.DataFrame)


def test_zones_with_any_name() -> None:
    noon = 1706659200000000
    times = pa.array([noon, noon + 3_600_000_000, None], pa.timestamp("us", tz="America/New_York"))
    for native in (pa.table({"x": times}), pa.table({"x": times}).to_pandas(), pl.from_arrow(pa.table({"x": times}))):
        assert answers(native, ["x >= '2024-01-30T19:30'", "hour(x) == 19"]) == [[False, True, False], [True, False, False]]


def test_times_of_two_units_are_compared_in_the_finer() -> None:
    noon = 1706659200000
    table = pa.table({
        "ms": pa.array([noon, noon, 253402214400000, -12219292800000, None], pa.timestamp("ms")),
        "ns": pa.array([noon * 10**6 + 1, noon * 10**6, noon * 10**6, 0, 0], pa.timestamp("ns")),
    })  # fmt: skip
    expected = {"ns == ms": [False, True, False, False, False], "ns > ms": [True, False, False, True, False],
                "ms >= ns": [False, True, True, False, False], "ms != ns": [True, False, True, True, False],
                "ms < '2024-01-31T00:00:00.000001'": [True, True, False, True, False]}  # fmt: skip
    for native in kinds(table):
        assert dict(zip(expected, answers(native, list(expected)), strict=True)) == expected, type(native)
    rows = [{"ms": a.as_py(), "ns": b.as_py()} for a, b in zip(table["ms"], table["ns"], strict=True)]
    assert {text: [parse(text).holds(row) for row in rows] for text in expected} == expected


def test_the_hour_that_comes_twice_and_the_one_that_never_comes() -> None:
    """Instants are compared, not what the clock on the wall shows; a constant that no clock shows is an hour later."""
    hours = [1729989000, 1729992600, 1711848600, None]  # 02:30, 02:30 again, 03:30 on the day that has no 02:30
    times = pa.array([None if second is None else second * 10**6 for second in hours], pa.timestamp("us", tz="Europe/Paris"))
    table = pa.table({"x": times, "utc": times.cast(pa.timestamp("ms", tz="UTC"))})
    expected = {"x == '2024-10-27T02:30'": [True, False, False, False], "x in ['2024-10-27T02:30']": [True, False, False, False],
                "x > '2024-10-27T02:30'": [False, True, False, False], "x == '2024-03-31T02:30'": [False, False, True, False],
                "x == utc": [True, True, True, False], "x < utc": [False] * 4}  # fmt: skip
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    for native in (table, table.to_pandas(), frame, frame.lazy()):
        assert dict(zip(expected, answers(native, list(expected)), strict=True)) == expected, type(native)
    rows = [{"x": a.as_py(), "utc": b.as_py()} for a, b in zip(table["x"], table["utc"], strict=True)]
    assert {text: [parse(text).holds(row) for row in rows] for text in expected} == expected


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_sql_reads_constants_beside_instants_in_utc(zone: str) -> None:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET TimeZone='{zone}'")
    midnight = 1706659200
    instants = pa.array([(midnight + 3600 * k) * 10**6 for k in (-1, 0, 1)], pa.timestamp("us", tz="UTC"))
    texts = pa.array(["2024-01-30", "2024-01-31", "2024-02-01"])
    relation = connection.from_arrow(pa.table({"t": instants, "s": texts, "d": texts.cast(pa.date32())}))
    for column in ("t", "s", "d"):
        asked = [f"{column} == '2024-01-31'", f"{column} > '2024-01-31'", f"{column} in ['2024-01-31', '2024-02-02']"]
        assert (
            answers_in_sql(relation, asked)
            == answers(relation, asked)
            == [[False, True, False], [False, False, True], [False, True, False]]
        )


def test_a_column_of_a_type_nobody_knows_is_refused() -> None:
    import duckdb

    periods = pd.DataFrame({"x": pd.period_range("2024-01", "2024-03", freq="M"), "i": [1, 2, 3]})
    with pytest.raises(ValueError, match=r"'x' of type period\[M\] cannot be used"):
        Groups(["x > 3"]).fit(periods)
    assert Groups(["i > 2"]).fit(periods).names == ("everyone", "i > 2")
    relation = duckdb.sql("SELECT uuid() AS x, NULL AS nothing")
    with pytest.raises(ValueError, match="'x' of type Object cannot be used"):
        answers(relation, ["x == 'a'"])
    assert answers(relation, ["nothing == 'a'", "nothing is None"]) == [[False], [True]]
