"""Groups by month, weekday, hour and year: the same on every engine, in any zone of the machine, for single rows and in SQL."""

from __future__ import annotations

import datetime as dt
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError, PredicateError
from multivalid.groups.predicate import parse
from tests.inputs.frames import ENGINES

START = dt.datetime(1999, 12, 31, 20)


def world(rows: int = 900) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    when = [None if k % 17 == 0 else START + dt.timedelta(hours=int(h)) for k, h in enumerate(rng.integers(0, 20_000, rows))]
    frame = pl.DataFrame({"t": when, "p": rng.choice([0.2, 0.5], rows), "y": (rng.random(rows) < 0.4).astype(float)})
    return frame.with_columns(
        z=pl.col("t").dt.replace_time_zone("UTC"), d=pl.col("t").dt.date(), n=pl.col("t").cast(pl.Datetime("ns"))
    )


def in_tokyo(frame: pl.DataFrame) -> Any:
    connection = duckdb.connect()
    connection.execute("SET TimeZone='Asia/Tokyo'")
    return connection.from_arrow(frame.to_arrow())


PARTS = [
    ("z", "hour"),
    ("t", "hour"),
    ("n", "hour"),
    ("z", "weekday"),
    ("d", "weekday"),
    ("t", "month"),
    ("d", "month"),
    ("z", "year"),
]


@pytest.mark.parametrize("engine", [*ENGINES, in_tokyo, lambda frame: frame.to_arrow()])
@pytest.mark.parametrize(("column", "part"), PARTS)
def test_groups_by_the_calendar(engine: Any, column: str, part: str) -> None:
    frame = world()
    found = mv.audit("y", "p", groups=[mv.bins(column, part)], data=engine(frame))
    by_hand = frame.group_by(getattr(pl.col(column).dt, part)().alias("part")).len().sort("part", nulls_last=True)
    assert sorted(found.table["rows"][1:]) == sorted(by_hand["len"].to_list())
    names = {"month": "January", "weekday": "Monday", "hour": "0", "year": "2000"}
    assert f"{part}({column}) = {names[part]}" in found.groups.names
    assert found.groups.names[-1] == f"{column} is missing"


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_a_column_with_a_zone_is_read_on_its_own_clock(zone: str) -> None:
    frame = world().with_columns(z=pl.col("z").dt.convert_time_zone(zone))
    rows = frame.filter(pl.col("z").dt.hour() == 3).height
    for data in (frame, frame.to_pandas(), frame.to_arrow()):
        found = mv.audit("y", "p", groups=["hour(z) == 3"], data=data)
        assert found.table["rows"][1] == rows
    assert sum(parse("hour(z) == 3").holds(row) for row in frame.to_dicts()) == rows


def test_sql_reads_instants_in_utc() -> None:
    frame = world(300).with_row_index("row")
    fitted = mv.multicalibrate("y", "p", groups=[mv.bins("z", "hour"), mv.bins("z", "month")], data=frame, mode="theorem", m=20)
    connection = duckdb.connect()
    connection.execute("SET TimeZone='Asia/Tokyo'")
    connection.register("given", frame.to_arrow())
    made = connection.sql(f"SELECT calibrated FROM ({fitted.to_sql('given', 'p')}) ORDER BY row").fetchall()
    assert [line[0] for line in made] == pytest.approx(fitted.predict("p", data=frame), abs=1e-9)


def test_without_data_all_hours_are_groups_and_years_need_data() -> None:
    groups = mv.Groups([mv.bins("t", "hour")]).fit()
    assert len(groups) == 25
    assert groups.row({"t": dt.datetime(2024, 5, 6, 7)}).nonzero()[0].tolist() == [0, 8]
    with pytest.raises(InputError, match="needs data"):
        mv.Groups([mv.bins("t", "year")]).fit()


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_no_date_is_refused_with_the_type(engine: Any) -> None:
    with pytest.raises(InputError, match=r"needs dates or times, column 'p' is of type"):
        mv.audit("y", "p", groups=[mv.bins("p", "month")], data=engine(world()))
    with pytest.raises(InputError, match=r'for dates write mv.bins\("t", "month"\)'):
        mv.audit("y", "p", groups=[mv.bins("t", 3)], data=engine(world()))
    with pytest.raises(InputError, match=r'mv.bins\("t", "month"\)'):
        mv.audit("y", "p", groups=["t"], data=engine(world()))
    with pytest.raises(InputError, match="one of year, month, weekday, hour, got 'minute'"):
        mv.bins("t", "minute")


def test_an_hour_of_a_date() -> None:
    with pytest.raises(InputError, match="needs times"):
        mv.audit("y", "p", groups=[mv.bins("d", "hour")], data=pl.DataFrame(world()))
    with pytest.raises(PredicateError, match="has no hour"):
        parse("hour(d) > 3").holds({"d": dt.date(2024, 1, 1)})


def test_names_of_days_and_months_in_predicates() -> None:
    assert parse("weekday(t) in ['Saturday', 'Sunday']").text == "weekday(t) in [6, 7]"
    assert parse("month(t) == 'June' or hour(`a b`) + 1 > 20").columns == ("t", "a b")
    assert parse(parse("month(t) >= 'June'").text) == parse("month(t) >= 6")
    with pytest.raises(PredicateError, match="'Sonntag' is no weekday"):
        parse("weekday(t) == 'Sonntag'")
    for text in ("hour(t)", "hour()", "hour(3) > 1", "hour(t, u) > 1", "minute(t) > 3", "hour(hour(t)) > 1", "`hour`(t) > 1"):
        with pytest.raises(PredicateError):
            parse(text)
    assert parse("hour >= 18").columns == ("hour",)  # a column may have that name


def test_pandas_times_with_gaps_and_of_object_type() -> None:
    data = pd.DataFrame({"t": [pd.Timestamp("2024-02-29 13:00"), pd.NaT], "y": [0, 1], "p": [0.5, 0.5]})
    found = mv.audit("y", "p", groups=[mv.bins("t", "hour")], data=data)
    assert found.groups.names == ("everyone", "hour(t) = 13", "t is missing")


def test_the_last_nanosecond_of_an_hour_belongs_to_it() -> None:
    import pyarrow as pa

    last = pa.table(
        {"t": pa.array([1706659199999999999, 1706659200000000000], pa.timestamp("ns")), "p": [0.5, 0.5], "y": [0.0, 1.0]}
    )
    relation = duckdb.connect().from_arrow(last)
    names = ("everyone", "hour(t) = 0", "hour(t) = 23")
    for data in (last, relation, last.to_pandas(), pl.from_arrow(last)):
        assert mv.audit("y", "p", groups=[mv.bins("t", "hour")], data=data).groups.names == names
    fitted = mv.multicalibrate("y", "p", groups=[mv.bins("t", "hour")], data=last, mode="theorem", m=4)
    told = relation.query("given", fitted.to_sql("given", "p")).fetchall()
    assert sorted(line[-1] for line in told) == sorted(fitted.predict("p", data=last))


@pytest.mark.parametrize("mode", ["theorem", "practical"])
def test_a_model_predicts_the_same_everywhere(mode: str) -> None:
    frame = world()
    groups = [mv.bins("z", "hour"), mv.bins("t", "weekday"), mv.bins("d", "month"), mv.bins("n", "hour")]
    fitted = mv.multicalibrate("y", "p", groups=groups, data=frame, mode=mode, m=20)
    told = np.asarray(fitted.predict("p", data=frame))
    assert [fitted.predict_one(row["p"], row) for row in frame.head(60).to_dicts()] == pytest.approx(told[:60], abs=1e-12)
    for engine in (*ENGINES, in_tokyo):
        made = fitted.predict("p", data=engine(frame), output="q")
        if isinstance(made, pl.LazyFrame):
            column = made.collect()["q"]
        else:
            column = made.to_arrow_table()["q"] if isinstance(made, duckdb.DuckDBPyRelation) else made["q"]
        assert np.asarray(column) == pytest.approx(told, abs=1e-9)
