"""Limits and edges of groups: runs that become codes, notes, ranks, times at the ends of what nanoseconds hold."""

from __future__ import annotations

import datetime as dt
import itertools
import math

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError, PredicateError
from multivalid.groups import fitting, lazy, recode, remote
from multivalid.groups.arrays import ArrayColumns
from multivalid.groups.calendar import PARTS, CalendarPart
from multivalid.groups.fitting import _digits, _occurring
from multivalid.groups.kinds import instant, moment, plain
from multivalid.groups.lazy import _ranks
from multivalid.groups.membership import Coded, Membership, distinct, pack_masks
from multivalid.groups.predicate import parse
from multivalid.groups.source import Source

OPERATORS = ("==", "!=", "<", "<=", ">", ">=")


# ---- runs of groups that exclude each other ---------------------------------------------------------------------------
@pytest.mark.parametrize("peek", [1, 256])
@pytest.mark.parametrize(
    ("first", "second", "coded"), [(39, 39, []), (40, 39, [40]), (39, 41, [41]), (40, 45, [40, 45]), (300, 0, [300])]
)
def test_long_runs_become_codes(first, second, coded, peek, monkeypatch):
    monkeypatch.setattr(recode, "PEEK", peek)
    rng = np.random.default_rng(first)
    values = rng.permutation(np.arange(700) % max(first, second))
    masks = [values == k for k in range(first)] + [values == k for k in range(second)]
    made = recode.with_codes(Membership.of([Coded(np.ones(700, dtype=np.uint8), 1), pack_masks(masks, 700)], 700))
    assert [part.size for part in made.parts[1:] if isinstance(part, Coded)] == coded
    np.testing.assert_array_equal([made.mask(g + 1) for g in range(len(masks))], masks)


def test_runs_end_where_two_groups_share_a_row_far_from_the_start(monkeypatch):
    monkeypatch.setattr(recode, "PEEK", 1)
    values = np.arange(500) % 50
    masks = [values == k for k in range(50)]
    masks[45] = masks[45] | (np.arange(500) == 494)  # 494 is of the 44th
    made = recode.with_codes(Membership.of([pack_masks(masks, 500)], 500))
    assert [(type(part).__name__, part.size) for part in made.parts] == [("Coded", 45), ("Flagged", 5)]
    np.testing.assert_array_equal([made.mask(g) for g in range(50)], masks)


def test_combinations_of_bits_are_told_apart():
    bits = np.zeros((6, 16), dtype=np.uint8)
    bits[1, 0], bits[2, 8], bits[3, 7], bits[4, 15], bits[5, 0] = 1, 1, 128, 128, 1
    found = distinct(bits)
    assert len(found.bits) == 5
    np.testing.assert_array_equal(found.bits[found.code], bits)
    assert found.code[1] == found.code[5]


@pytest.mark.parametrize("order", ["C", "F"])
def test_columns_of_arrays(order):
    rng = np.random.default_rng(0)
    one, two = np.asarray(rng.random((21, 19)) < 0.5, order=order), rng.random(21) < 0.5
    columns = ArrayColumns.of([one, two])
    assert (len(columns), columns.rows) == (20, 21)
    every = np.column_stack([one, two])
    for wanted in ([0, 7, 8, 18], [3], [0, 19, 5], [], list(range(20))):
        np.testing.assert_array_equal(np.array(list(columns.masks(wanted))).reshape(-1, 21), every[:, wanted].T)


# ---- choosing ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("sizes", "limit", "told"), [
    ([5, 1], 2, "group 'x = b' has 1 row, below min_size=2: left out"),
    ([5, 2], 3, "group 'x = b' has 2 rows, below min_size=3: left out"),
    ([5, 2, 2, 2], 3, "3 groups have fewer rows than min_size=3: left out ('x = b', 'x = c', 'x = d')"),
    ([5, 2, 2, 2, 2], 3, "4 groups have fewer rows than min_size=3: left out ('x = b', 'x = c', 'x = d', …)"),
])  # fmt: skip
@pytest.mark.parametrize("where", ["memory", "engine"])
def test_groups_that_are_too_small(sizes, limit, told, where):
    values = np.repeat(list("abcde")[: len(sizes)], sizes)
    data = pl.DataFrame({"x": values, "y": np.arange(float(len(values))) % 2, "p": np.full(len(values), 0.5)})
    groups = mv.Groups(["x"], min_size=limit)
    fitted = groups.fit(data) if where == "memory" else mv.audit("y", "p", data=data.lazy(), groups=groups).groups
    assert told in fitted.notes
    assert fitted.names == ("everyone", "x = a")
    exact = mv.Groups(["x"], min_size=min(sizes)).fit(data)
    assert len(exact.names) == len(sizes) + 1


def test_names_are_there_once():
    data = pd.DataFrame({"a": [1, 2, 3], "b": [1, 1, 2]})
    made = mv.Groups(["a > 1", "b > 1", "a > 2 or b > 5"], names=["x", None, None]).fit(data)
    assert made.names == ("everyone", "x", "b > 1")
    renamed = mv.Groups([[True, False, False], [False, True, False], [False, False, True], [True, True, False]])
    assert renamed.fit(n_rows=3).names == ("everyone", "group 1", "group 2", "group 3", "group 4")
    same = mv.Groups([mv.Groups(["a"]).entries[0].item, "a > 1"], names=["a", "a = 1"]).fit(data)
    assert same.names == ("everyone", "a = 1", "a = 2", "a = 3", "a = 1 (2)")


@pytest.mark.parametrize("most", [2, 3])
def test_a_column_of_many_values_is_an_identifier(most, monkeypatch):
    monkeypatch.setattr(fitting, "MOST_GROUPS", most)
    data = pd.DataFrame({"x": ["a", "b", "c"]})
    if most == 3:
        assert len(mv.Groups(["x"]).fit(data)) == 4
    else:
        with pytest.raises(InputError, match="has 3 values, at most 2"):
            mv.Groups(["x"]).fit(data)
    monkeypatch.setattr(fitting, "MOST_GROUPS", most + 1)
    pairs = pd.DataFrame({"x": ["a", "b", "a", "b"], "y": ["c", "c", "d", "d"]})
    if most == 3:
        assert len(mv.Groups([mv.cross("x", "y")]).fit(pairs)) == 5
    else:
        with pytest.raises(InputError, match="has 4 combinations, at most 3"):
            mv.Groups([mv.cross("x", "y")]).fit(pairs)


def test_keys_and_their_digits():
    for key, digits in zip(range(24), itertools.product(range(2), range(4), range(3)), strict=True):
        assert _digits(key, (2, 4, 3)) == digits
    keys = np.array([5, -1, 3, 3, 0, -1], dtype=np.int32)
    assert _occurring(keys, 6).tolist() == [0, 3, 5]
    assert _occurring(keys, 1 << 23).tolist() == [0, 3, 5]
    assert _occurring(np.array([-1], dtype=np.int32), 4).tolist() == []


@pytest.mark.parametrize("rows", [1, 2, 5, 17, 1000])
def test_ranks_of_quantiles(rows):
    values = np.arange(rows)
    for k in (2, 3, 7, 10):
        wanted = np.quantile(values, np.arange(1, k) / k, method="higher")
        np.testing.assert_array_equal(values[_ranks(k, rows)], wanted)
        assert _ranks(k, rows).tolist() == [math.ceil(j / k * (rows - 1)) for j in range(1, k)]


@pytest.mark.parametrize(("rows", "few", "sampled"), [(50, 5, False), (51, 60, False), (51, 5, True)])
def test_values_of_an_engines_column(rows, few, sampled, monkeypatch):
    monkeypatch.setattr(lazy, "SAMPLE", 50)
    monkeypatch.setattr(lazy, "FEW_VALUES", few)
    data = pl.DataFrame({"x": np.arange(float(rows)), "y": np.arange(float(rows)) % 2, "p": np.full(rows, 0.5)})
    found = mv.audit("y", "p", data=data.lazy(), groups=[mv.bins("x", 3)]).groups
    assert any("edges come from a sample" in note for note in found.notes) == sampled


def test_as_many_values_are_fetched_as_memory_holds(monkeypatch):
    frame = nw.from_native(pl.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]}).lazy())
    monkeypatch.setattr(remote, "MOST_VALUES", 6)
    assert len(remote.gather(frame, "this works")) == 3
    monkeypatch.setattr(remote, "MOST_VALUES", 5)
    with pytest.raises(InputError, match="3 rows of 2 columns are more than the 5 values"):
        remote.gather(frame, "this works")


# ---- calendars and times ----------------------------------------------------------------------------------------------
def test_parts_of_dates():
    assert PARTS["year"].every is None
    assert PARTS["month"].every == tuple(range(1, 13))
    assert PARTS["hour"].every == tuple(range(24))
    assert PARTS["weekday"].every == tuple(range(1, 8))
    assert CalendarPart("x", 1, 1000).every is not None
    assert CalendarPart("x", 0, 1000).every is None
    assert [PARTS["month"].shown(k) for k in (1, 12)] == ["January", "December"]
    assert (PARTS["weekday"].number("Sunday"), PARTS["weekday"].number("Caturday")) == (7, None)
    when = dt.datetime(2024, 2, 29, 13, 5)
    assert [PARTS[name].of(when) for name in ("year", "month", "weekday", "hour")] == [2024, 2, 4, 13]


@pytest.mark.parametrize("unit", ["ns", "us", "ms"])
def test_parts_of_times_of_any_unit_and_age(unit):
    times = [dt.datetime(1700, 1, 1, 0, 0), dt.datetime(1969, 12, 31, 23, 59, 59, 999_000), dt.datetime(2024, 2, 29, 12), None]
    data = pl.DataFrame({"t": pl.Series("t", times, dtype=pl.Datetime(unit))})
    for name in ("year", "month", "weekday", "hour"):
        fitted = mv.Groups([mv.bins("t", name)]).fit(data)
        masks = np.array(list(fitted.masks(data)))[1:]
        seen = {PARTS[name].of(time) for time in times if time}
        assert len(fitted.names) == len(seen) + 2
        for value, mask in zip(sorted(seen), masks, strict=False):
            assert mask.tolist() == [time is not None and PARTS[name].of(time) == value for time in times]


MOMENTS = ["1600-01-01", "1677-09-21T00:12:43", "1677-09-22", "1677-09-22T00:00:00.000001", "1999-12-31T23:59:59.5", "2262-04-10T23:59:59",
           "2262-04-11", "2262-04-11T23:47:16", "2300-01-01"]  # fmt: skip


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("unit", ["ns", "us", "ms"])
def test_times_against_constants_that_their_unit_may_not_hold(operator, unit):
    times = [
        dt.datetime(1677, 9, 22, 0, 0, 0, 1000),
        dt.datetime(1999, 12, 31, 23, 59, 59, 500_000),
        dt.datetime(2262, 4, 10),
        None,
    ]
    frame = nw.from_native(pl.DataFrame({"t": pl.Series("t", times, dtype=pl.Datetime(unit))}))
    compare = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}[operator]
    for constant in MOMENTS:
        predicate = parse(f"t {operator} '{constant}'")
        found = frame.select(there=predicate.expression(frame.schema))["there"].to_list()
        other = dt.datetime.fromisoformat(constant)
        assert found == [time is not None and getattr(time, compare)(other) for time in times], constant
        assert found == [predicate.holds({"t": time}) for time in times]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("units", [("us", "ns"), ("ns", "ms"), ("ms", "us"), ("us", "us")])
def test_times_of_two_units(operator, units):
    pairs = list(
        itertools.product([dt.datetime(1677, 9, 22, 0, 0, 0, 1000), dt.datetime(2000, 1, 1), dt.datetime(2262, 4, 10)], repeat=2)
    )
    far = [dt.datetime(1500, 1, 1), dt.datetime(2500, 1, 1)]
    if units[0] != "ns":
        pairs += [(time, dt.datetime(2000, 1, 1)) for time in far]
    if units[1] != "ns":
        pairs += [(dt.datetime(2000, 1, 1), time) for time in far]
    a, b = (
        pl.Series(name, column, dtype=pl.Datetime(unit))
        for name, column, unit in zip("ab", zip(*pairs, strict=True), units, strict=True)
    )
    frame = nw.from_native(pl.DataFrame([a, b]))
    predicate = parse(f"a {operator} b")
    found = frame.select(there=predicate.expression(frame.schema))["there"].to_list()
    assert found == [predicate.holds({"a": left, "b": right}) for left, right in pairs]
    compare = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}[operator]
    assert found == [getattr(left, compare)(right) for left, right in pairs]


@pytest.mark.parametrize("operator", OPERATORS)
def test_whole_numbers_with_and_without_a_sign(operator):
    signed, unsigned = [-1, 0, 5, 2**63 - 1, -(2**63)], [0, 5, 2**63, 2**64 - 1]
    pairs = list(itertools.product(signed, unsigned))
    frame = nw.from_native(pl.DataFrame({
        "s": pl.Series([one for one, _ in pairs], dtype=pl.Int64), "u": pl.Series([two for _, two in pairs], dtype=pl.UInt64),
    }))  # fmt: skip
    compare = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}[operator]
    for text, wanted in (
        (f"s {operator} u", [getattr(a, compare)(b) for a, b in pairs]),
        (f"u {operator} s", [getattr(b, compare)(a) for a, b in pairs]),
        (f"u {operator} -1", [getattr(b, compare)(-1) for _, b in pairs]),
        (f"u {operator} 5", [getattr(b, compare)(5) for _, b in pairs]),
    ):
        predicate = parse(text)
        assert frame.select(there=predicate.expression(frame.schema))["there"].to_list() == wanted, text
        assert [predicate.holds({"s": a, "u": b}) for a, b in pairs] == wanted, text


def test_whole_numbers_are_compared_exactly_and_fractions_as_floats():
    big = 2**53
    assert parse(f"x == {big}").holds({"x": big})
    assert not parse(f"x == {big}").holds({"x": big + 1})
    assert parse(f"x < {big + 1}").holds({"x": big})
    assert parse(f"x in [{big}, 3]").holds({"x": float(big)})
    assert not parse(f"x in [{big}, 3]").holds({"x": big + 1})
    assert parse("x in [0.5, 3]").holds({"x": 3})
    assert not parse("x != 3").holds({"x": float("nan")})
    assert parse("x / y > 1").holds({"x": 3, "y": 2})
    assert not parse("x / y > 1").holds({"x": 3, "y": 0})


def test_instants_and_plain_values():
    paris = dt.timezone(dt.timedelta(hours=2))
    when = dt.datetime(2024, 5, 6, 7, 8, 9, 10, tzinfo=paris)
    assert instant(when) == int((when - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) / dt.timedelta(microseconds=1)) * 1000
    stamp = pd.Timestamp("2024-05-06 07:08:09.000010123", tz="Europe/Paris")
    assert instant(stamp) == stamp.value
    assert moment("2024-05-06T07:00:00+02:00", "datetime", dt.UTC) == dt.datetime(2024, 5, 6, 5, tzinfo=dt.UTC)
    assert moment("2024-05-06", "date", None) == dt.date(2024, 5, 6)
    assert plain(np.datetime64("2024-05-06T07:08")) == dt.datetime(2024, 5, 6, 7, 8)
    assert plain(np.datetime64("2024-05-06T07:08:09.123456789")).nanosecond == 789


# ---- errors point at their place --------------------------------------------------------------------------------------
@pytest.mark.parametrize("at", [0, 3, 49, 50, 51, 120])
def test_the_caret_stands_below_the_character(at):
    text = "a" * at + "$" + "b" * 80
    error = str(Source(text).error(at, "wrong", "do it right"))
    lines = error.splitlines()
    assert f"column {at + 1}:" in lines[0]
    assert lines[1][lines[2].index("^")] == "$"
    assert len(lines[1]) == 4 + min(at, 50) + 50


def test_a_text_as_long_as_allowed():
    assert Source("a" * 10_000).tokens()[0].text == "a" * 10_000
    with pytest.raises(PredicateError, match="at most 10,000 characters, this one has 10,001"):
        Source("a" * 10_001)
