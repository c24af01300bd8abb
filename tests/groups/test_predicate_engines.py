"""One meaning everywhere: a predicate on a dict row and in every kind of frame gives the same rows."""

from __future__ import annotations

import datetime as dt
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multivalid.errors import InputError, PredicateError
from multivalid.groups.frames import open_frame
from multivalid.groups.predicate import parse

from . import frames
from .strategies import predicate_texts, rows

MANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def evaluated(native: Any, texts: list[str]) -> dict[str, list[bool]]:
    predicates = [parse(text) for text in texts]
    frame = nw.from_native(native)
    if isinstance(frame, nw.DataFrame):
        frame = open_frame(native, [name for predicate in predicates for name in predicate.columns])
    wanted = [predicate.expression(frame.collect_schema()).alias(f"p{i}") for i, predicate in enumerate(predicates)]
    answer = frame.select(*wanted)
    collected = answer.collect() if isinstance(answer, nw.LazyFrame) else answer
    return {text: collected[f"p{i}"].to_list() for i, text in enumerate(texts)}


@pytest.mark.parametrize("kind", frames.EAGER + frames.LAZY, ids=lambda kind: kind.__name__)
@given(rows(), st.lists(predicate_texts(), min_size=1, max_size=4, unique=True))
@MANY
def test_rows_and_frames_agree(kind: Any, table: frames.Rows, texts: list[str]) -> None:
    table = frames.as_stored(table)
    with np.errstate(all="ignore"):
        answers = evaluated(kind(table), texts)
    for text in texts:
        assert answers[text] == [parse(text).holds(row) for row in table], text


TABLE: frames.Rows = [
    {"i": 1, "small": 1, "n": 1, "f": 1.0, "g": 1.0, "s": "a", "t x": "a", "flag": True, "maybe": True},
    {"i": 2, "small": -2, "n": None, "f": None, "g": 0.0, "s": None, "t x": "b", "flag": False, "maybe": None},
    {"i": 3, "small": 3, "n": 3, "f": float("nan"), "g": -1.0, "s": "c", "t x": "c", "flag": True, "maybe": False},
]
EXPECTED = {
    "f > 0": [True, False, False],
    "f != 0": [True, False, False],
    "not f > 0": [False, True, True],
    "f is None": [False, True, True],
    "f is not None": [True, False, False],
    "i / g > -100": [True, False, True],
    "not i / g > -100": [False, True, False],
    "i / g is None": [False, True, False],
    "s != 'zzz'": [True, False, True],
    "s not in ['a']": [False, False, True],
    "not s in ['a']": [False, True, True],
    "maybe": [True, False, False],
    "not maybe": [False, True, True],
    "maybe == False": [False, False, True],
    "s == `t x`": [True, False, True],
    "small * 100 > 250": [False, False, True],  # would overflow in int8
    "small < 300": [True, True, True],
    "n in [1, 2.5]": [True, False, False],
}


@pytest.mark.parametrize("kind", frames.EAGER + frames.LAZY, ids=lambda kind: kind.__name__)
def test_missing_values_and_zero_divisors(kind: Any) -> None:
    assert evaluated(kind(TABLE), list(EXPECTED)) == EXPECTED
    for text, answer in EXPECTED.items():
        assert [parse(text).holds(row) for row in TABLE] == answer, text


@pytest.mark.parametrize(
    "text",
    [
        "i == 'a'",
        "s > 3",
        "s + 1 > 3",
        "flag > 1",
        "flag == 1",
        "flag < True",
        "i",
        "not s",
        "i == flag",
        "s == i",
        "i in ['a']",
        "flag in [1]",
        "s in [True]",
    ],
)
@pytest.mark.parametrize("kind", frames.EAGER + frames.LAZY, ids=lambda kind: kind.__name__)
def test_a_type_mismatch_is_our_error(kind: Any, text: str) -> None:
    with pytest.raises(PredicateError, match="column '"):
        evaluated(kind(TABLE), [text])
    with pytest.raises(PredicateError, match="column '"):
        parse(text).holds(TABLE[0])


def test_an_unknown_column_suggests_the_nearest_names() -> None:
    predicate = parse("orign == 'JFK'")
    with pytest.raises(InputError, match=r"no column 'orign'.*'origin'"):
        predicate.expression({"origin": nw.String(), "dest": nw.String()})
    with pytest.raises(InputError, match=r"no column 'orign' in the row.*'origin'"):
        predicate.holds({"origin": "JFK"})


DAYS = [dt.date(2013, 5, 31), dt.date(2013, 6, 1), None]
TIMES = [dt.datetime(2013, 5, 31, 12), dt.datetime(2013, 6, 1), None]


@pytest.mark.parametrize(
    "native",
    [
        pl.DataFrame({"day": DAYS, "time": TIMES}),
        pl.LazyFrame({"day": DAYS, "time": TIMES}),
        pl.DataFrame({"day": DAYS, "time": TIMES}).to_arrow(),
        pl.DataFrame({"day": DAYS, "time": TIMES}).to_arrow().to_pandas(types_mapper=pd.ArrowDtype),
    ],
    ids=["polars", "lazy", "arrow", "pandas"],
)
def test_dates_compare_with_iso_strings(native: Any) -> None:
    expected = {
        "day >= '2013-06-01'": [False, True, False],
        "day in ['2013-05-31']": [True, False, False],
        "day not in ['2013-05-31']": [False, True, False],
        "time < '2013-06-01'": [True, False, False],
        "time == '2013-05-31T12:00'": [True, False, False],
        "time is None": [False, False, True],
    }
    assert evaluated(native, list(expected)) == expected
    for text, answer in expected.items():
        held = [parse(text).holds({"day": day, "time": time}) for day, time in zip(DAYS, TIMES, strict=True)]
        assert held == answer, text


def test_times_with_a_zone_read_constants_in_that_zone() -> None:
    stamps = pd.to_datetime(["2013-06-01T00:30", "2013-05-31T23:30", None]).tz_localize("Europe/Paris")
    expected = {"t >= '2013-06-01'": [True, False, False], "t < '2013-05-31T22:00+00:00'": [False, True, False]}
    native = pd.DataFrame({"t": stamps})
    assert evaluated(native, list(expected)) == expected
    assert evaluated(pl.from_pandas(native), list(expected)) == expected
    for text, answer in expected.items():
        assert [parse(text).holds({"t": stamp}) for stamp in stamps] == answer


@pytest.mark.parametrize(
    "text", ["day > 'June'", "day > 3", "day > '2013-06-01T05:00'", "time > '2013-06-01T00:00+02:00'", "day < time"]
)
def test_dates_refuse_other_constants(text: str) -> None:
    with pytest.raises(PredicateError, match=r"column 'day'|column 'time'"):
        evaluated(pl.DataFrame({"day": DAYS, "time": TIMES}), [text])
    with pytest.raises(PredicateError, match=r"column 'day'|column 'time'"):
        parse(text).holds({"day": DAYS[0], "time": TIMES[0]})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int8(20), True),
        (np.float32(2.5), False),
        (np.float64("nan"), False),
        (pd.NA, False),
        (pd.NaT, False),
        (None, False),
        (__import__("decimal").Decimal("18.5"), True),
        (10**400, None),
        ([1], None),
    ],
)
def test_values_of_a_row_of_any_numeric_type(value: object, expected: bool | None) -> None:
    if expected is None:
        with pytest.raises(InputError):
            parse("age + 0 >= 18").holds({"age": value})
    else:
        assert parse("age >= 18").holds({"age": value}) is expected


def test_a_type_that_cannot_be_compared() -> None:
    with pytest.raises(PredicateError, match="List"):
        evaluated(pl.DataFrame({"x": [[1]]}), ["x == 1"])


def test_many_conditions_make_a_shallow_expression() -> None:
    text = " or ".join(f"x == {i}" for i in range(800))
    native = pl.LazyFrame({"x": [5, 900]})
    assert evaluated(native, [text]) == {text: [True, False]}
