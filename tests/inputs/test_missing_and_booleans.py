"""Rows without a value are a group, and a boolean column is two: on every engine, for single rows, in SQL and in files."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError, ModelFileError
from multivalid.groups.codec import family_from_json
from tests.inputs.frames import ENGINES

NAMES = (
    "everyone", "race = a", "race = b", "race is missing", "member", "not member", "member is missing",
    "age in [0, 25)", "age in [25, 49]", "age is missing",
)  # fmt: skip
ITEMS = ["race", "member", mv.bins("age", 2)]


def world(rows: int = 1200) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    race = [None if k % 5 == 0 else "ab"[k % 2] for k in range(rows)]
    member = [None if k % 7 == 0 else k % 3 == 0 for k in range(rows)]
    age = [None if k % 11 == 0 else float(k % 50) for k in range(rows)]
    p = rng.choice([0.2, 0.5], rows)
    y = (rng.random(rows) < np.where([one is None for one in race], 0.9, p)).astype(float)
    return pl.DataFrame({"race": race, "member": member, "age": age, "p": p, "y": y})


@pytest.mark.parametrize("engine", ENGINES)
def test_names_and_sizes(engine: Any) -> None:
    frame = world()
    found = mv.audit("y", "p", groups=ITEMS, data=engine(frame))
    assert found.groups.names == NAMES
    counted = dict(zip(found.table["name"], found.table["rows"], strict=True))
    for column in ("race", "member", "age"):
        assert counted[f"{column} is missing"] == frame[column].null_count()
    assert counted["not member"] == (~frame["member"]).sum()  # not the rows where nobody knows
    assert "race is missing" in found.off


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("how", [lambda items: mv.Groups(items, missing="ignore"), list])
def test_missing_values_are_left_alone_on_request(engine: Any, how: Any) -> None:
    groups = how(ITEMS)
    options = {} if isinstance(groups, mv.Groups) else {"missing": "ignore"}
    found = mv.audit("y", "p", groups=groups, data=engine(world()), **options)
    assert found.groups.names == tuple(name for name in NAMES if "missing" not in name)


@pytest.mark.parametrize("engine", ENGINES)
def test_where_nothing_is_missing_there_is_no_group(engine: Any) -> None:
    found = mv.audit("y", "p", groups=ITEMS, data=engine(world().drop_nulls()))
    assert not any("missing" in name for name in found.groups.names)
    assert found.groups.notes == []


@pytest.mark.parametrize("engine", ENGINES)
def test_crossings_count_them_too(engine: Any) -> None:
    frame = world()
    found = mv.audit("y", "p", groups=[mv.cross("race", "member")], data=engine(frame))
    both = frame.filter(pl.col("race").is_null() & pl.col("member").is_null()).height
    counted = dict(zip(found.table["name"], found.table["rows"], strict=True))
    assert counted["race is missing & member is missing"] == both
    assert len(found.groups) == 10
    assert sum(rows for name, rows in counted.items() if name != "everyone") == frame.height


@pytest.mark.parametrize("mode", ["practical", "theorem"])
def test_a_model_says_the_same_everywhere(mode: str, tmp_path: Path) -> None:
    frame = world()
    fitted = mv.multicalibrate("y", "p", groups=[*ITEMS, mv.cross("race", "member")], data=frame, mode=mode, m=20)
    told = np.asarray(fitted.predict("p", data=frame))
    fitted.save(tmp_path / "model.json")
    loaded = mv.load(tmp_path / "model.json")
    assert np.array_equal(loaded.predict("p", data=frame), told)
    assert [loaded.predict_one(row["p"], row) for row in frame.to_dicts()] == pytest.approx(told, abs=1e-12)
    for engine in ENGINES:
        again = loaded.predict("p", data=engine(frame), output="q")
        values = again.collect() if isinstance(again, pl.LazyFrame) else again
        column = values["q"] if not isinstance(values, duckdb.DuckDBPyRelation) else values.to_arrow_table()["q"]
        assert np.asarray(column) == pytest.approx(told, abs=1e-9)
    connection = duckdb.connect()
    connection.register("given", frame.with_row_index("row").to_arrow())
    lines = connection.sql(f"SELECT calibrated FROM ({loaded.to_sql('given', 'p')}) ORDER BY row").fetchall()
    assert [line[0] for line in lines] == pytest.approx(told, abs=1e-9)


def test_groups_of_earlier_files_are_as_they_were() -> None:
    blocks = [
        {"codes": [0], "kind": "flag", "column": "member"},
        {"codes": [0, 1], "kind": "values", "column": "race", "type": "text", "values": ["a", "b"]},
        {"codes": [0, 1], "kind": "bins", "column": "age", "edges": [0.0, 25.0, 49.0]},
    ]
    names = ["everyone", "member", "race = a", "race = b", "age in [0, 25)", "age in [25, 49]"]
    groups = mv.FittedGroups.from_json({"names": names, "blocks": blocks, "arrays": 0, "notes": []})
    assert groups.row({"member": None, "race": None, "age": None}).tolist() == [True, False, False, False, False, False]
    assert mv.FittedGroups.from_json(groups.to_json()) == groups


@pytest.mark.parametrize(
    "block",
    [
        {"kind": "values", "column": "c", "type": "boolean", "values": [False, True]},
        {"kind": "values", "column": "c", "type": "boolean", "values": [1, 0]},
        {"kind": "values", "column": "c", "type": "text", "values": ["a"], "missing": 1},
        {"kind": "dates", "column": "c", "part": "minute", "values": [1]},
        {"kind": "dates", "column": "c", "part": "month", "values": [0]},
        {"kind": "dates", "column": "c", "part": "month", "values": [2, 1]},
    ],
)
def test_damaged_blocks_are_refused(block: dict[str, Any]) -> None:
    with pytest.raises(ModelFileError):
        family_from_json({"names": ["everyone", "c"], "blocks": [{"codes": [0], **block}], "arrays": 0, "notes": []})


@pytest.mark.parametrize("nothing", [None, math.nan])
@pytest.mark.parametrize("column", ["race", "member", "age"])
def test_a_request_in_which_nothing_is_known_of_a_column(nothing: Any, column: str) -> None:
    frame = world()
    groups = mv.Groups(ITEMS).fit(frame)
    row = {**frame.row(1, named=True), column: nothing}
    by_row = groups.row(row)
    assert by_row[groups.names.index(f"{column} is missing")]
    requests = [pd.DataFrame([row]), pl.DataFrame([row], schema_overrides={column: pl.Null} if nothing is None else {})]
    for request in requests:
        assert [bool(mask[0]) for mask in groups.masks(request)] == by_row.tolist()


def test_an_unknown_word_is_refused() -> None:
    with pytest.raises(InputError, match='missing must be "group" or "ignore", got \'drop\''):
        mv.Groups(["race"], missing="drop")


def test_the_report_shows_them(tmp_path: Path) -> None:
    mv.audit("y", "p", groups=ITEMS, data=world()).report(tmp_path / "r.html")
    assert "race is missing" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("printed", "answer"),
    [
        ("race = a", "race == 'a'"),
        ("race is missing", "race is None"),
        ("`home town` is missing", "`home town` is None"),
        ("age in [18, 25)", "18 <= x < 25"),
        ("month(t) = June", "month(t) == 'June'"),
    ],
)
def test_names_as_they_are_printed_are_answered_with_the_predicate(printed: str, answer: str) -> None:
    with pytest.raises(InputError, match="Hint: write (an interval as )?" + re.escape(answer)):
        mv.Groups([printed]).fit()
