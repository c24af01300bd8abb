"""Codes, keys and packed bits of groups against plain loops over rows, on sizes around bytes and words."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.groups import blocks, fitting, membership
from multivalid.groups.blocks import DateParts, Holds, Intervals, Product, Values, whole_codes
from multivalid.groups.columns import Columns
from multivalid.groups.fitting import Fitter, _interval_names, _outward_names
from multivalid.groups.frames import enter
from multivalid.groups.membership import Coded, Flagged, Membership, columns_of, count_codes, everyone, pack_masks, pack_rows
from multivalid.groups.predicate import parse

SIZES = [1, 7, 8, 9, 63, 64, 65, 200]


def parts_of(rows, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, rows).astype(np.uint8)
    masks = [rng.random(rows) < share for share in (0.5, 0.2, 0.9, 0.4, 0.5, 0.1, 0.6, 0.3, 0.5)]
    more = rng.integers(0, 3, rows).astype(np.uint16)
    wanted = [np.ones(rows, dtype=bool), *(codes == k for k in (1, 2, 3)), *masks, *(more == k for k in (1, 2))]
    made = Membership.of(
        [everyone(rows), Coded(codes, 3), pack_masks(masks[:4], rows), pack_masks(masks[4:], rows), Coded(more, 2)], rows
    )
    return made, np.array(wanted)


@pytest.mark.parametrize("rows", SIZES)
def test_groups_in_parts_are_their_masks(rows):
    made, wanted = parts_of(rows)
    assert (made.groups, made.rows, len(made.parts)) == (15, rows, 4)
    np.testing.assert_array_equal([made.mask(g) for g in range(15)], wanted)
    np.testing.assert_array_equal(made.sizes(), wanted.sum(axis=1))
    np.testing.assert_array_equal(made.dense(0, rows), wanted)
    for start, stop in itertools.combinations(sorted({0, rows // 3, rows // 2 + 1, rows}), 2):
        np.testing.assert_array_equal(made.dense(start, stop), wanted[:, start:stop])
    for start in range(0, rows, 64):
        for stop in {rows, min(rows, start + 64), min(rows, start + 70)}:
            part = made.part(start, stop)
            assert part.rows == stop - start
            np.testing.assert_array_equal([part.mask(g) for g in range(15)], wanted[:, start:stop])
            if stop % 64 == 0:  # else the last word holds rows beyond
                np.testing.assert_array_equal(part.sizes(), wanted[:, start:stop].sum(axis=1))
                assert part.words.shape == (15, (stop - start) // 64)
    rng = np.random.default_rng(1)
    for chosen in (rng.integers(0, rows, 2 * rows), np.zeros(0, dtype=int), rng.random(rows) < 0.5):
        taken = made.take(chosen)
        np.testing.assert_array_equal([taken.mask(g) for g in range(15)], wanted[:, chosen])
        assert taken.rows == wanted[:, chosen].shape[1]
    for groups in ([0], [0, 2, 5, 14], [1, 3, 4, 13], list(range(15)), [12]):
        some = made.choose(groups)
        np.testing.assert_array_equal([some.mask(g) for g in range(len(groups))], wanted[groups])
    bits = [[int(wanted[g, i]) << i % 8 for i in range(rows)] for g in range(15)]
    packed = [[sum(line[8 * b : 8 * b + 8]) for b in range(-(-rows // 64) * 8)] for line in bits]
    np.testing.assert_array_equal(made.bits, packed)
    with pytest.raises(IndexError):
        made.mask(15)


@pytest.mark.parametrize("rows", SIZES)
def test_twins_are_the_first_group_of_the_same_rows(rows):
    rng = np.random.default_rng(rows)
    codes = rng.integers(0, 3, rows).astype(np.uint8)
    masks = [codes == 1, rng.random(rows) < 0.5, np.zeros(rows, dtype=bool), codes == 2, np.ones(rows, dtype=bool)]
    masks += [masks[1], np.zeros(rows, dtype=bool), ~masks[1]]
    made = Membership.of([everyone(rows), Coded(codes, 2), pack_masks(masks, rows)], rows)
    wanted = [np.ones(rows, dtype=bool), codes == 1, codes == 2, *masks]
    first = [
        next(k for k, other in enumerate(wanted) if np.array_equal(other, one)) if one.any() else g for g, one in enumerate(wanted)
    ]
    assert made.twins() == first


def test_counts_go_block_by_block(monkeypatch):
    monkeypatch.setattr(membership, "BLOCK", 64)
    codes = np.random.default_rng(0).integers(0, 5, 300).astype(np.uint16)
    np.testing.assert_array_equal(count_codes(codes, 7), [np.sum(codes == k) for k in range(7)])
    wide = np.random.default_rng(1).random((300, 19)) < 0.4
    by_row = Flagged(pack_masks(list(wide.T), 300).bits, 300).by_row()
    assert by_row.shape == (300, 8 * -(-19 // 64))
    np.testing.assert_array_equal(np.unpackbits(by_row, axis=1, bitorder="little")[:, :19], wide)
    np.testing.assert_array_equal(pack_rows(by_row, 19).bits, pack_masks(list(wide.T), 300).bits)
    for group, flags in zip([3, 8, 18, 0], columns_of(by_row, [3, 8, 18, 0]), strict=True):
        np.testing.assert_array_equal(flags != 0, wide[:, group])


FRAME = pd.DataFrame({
    "city": ["Rome", None, "Oslo", "Bonn", "Rome", "Lima"], "n": [3, 5, -2, 9, 5, 4], "gap": [1.0, math.nan, 7.0, 2.5, 1.0, -9.0],
    "flag": pd.array([True, None, False, True, False, None], dtype="boolean"),
    "when": pd.to_datetime(["2024-01-01 05:00", None, "2024-07-14 23:59", "2023-02-28 00:00", "2024-02-29 12:00", "2024-12-31 00:00"]),
})  # fmt: skip
CITY = Values("city", ("Bonn", "Oslo", "Rome"), "text", missing=True)
NUMBER = Values("n", (-2, 3, 5), "number")
FLAG = Values("flag", (True, False), "boolean", missing=True)
AGE = Intervals("gap", (-1.0, 1.0, 2.5, 8.0), missing=True)
MONTH = DateParts("when", "month", (1, 2, 7), missing=True)
WEEKDAY = DateParts("when", "weekday", (1, 4, 7))


@pytest.mark.parametrize(
    ("block", "codes"),
    [
        (CITY, [2, 3, 1, 0, 2, -1]),
        (NUMBER, [1, 2, 0, -1, 2, -1]),
        (FLAG, [0, 2, 1, 0, 1, 2]),
        (AGE, [1, 3, 2, 2, 1, 0]),
        (MONTH, [0, 3, 2, 1, 1, -1]),
        (WEEKDAY, [0, -1, 2, -1, 1, -1]),
        (Holds(parse("n > 3 and city != 'Rome'").condition), [-1, -1, -1, 0, -1, 0]),
        (Product((CITY, FLAG), ((0, 0), (1, 1), (2, 0), (2, 1), (3, 2))), [2, 4, 1, 0, 3, -1]),
    ],
)
@pytest.mark.parametrize("kind", [pd, pl])
def test_the_code_of_every_row_in_memory_and_alone(block, codes, kind):
    frame = Columns(enter(FRAME if kind is pd else pl.from_pandas(FRAME)))
    assert block.codes(frame).tolist() == codes
    rows = [{name: (None if pd.isna(value) else value) for name, value in row.items()} for row in FRAME.to_dict("records")]
    assert [block.code(row) for row in rows] == codes
    assert block.size == max(codes) + 1
    for code in range(block.size):
        condition = Holds(block.condition(code))
        assert (condition.codes(frame) == 0).tolist() == [one == code for one in codes], code


@pytest.mark.parametrize("largest", [1 << 22, 3, 8, 9])
@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int64, pl.UInt8, pl.UInt64, pl.Float64])
@pytest.mark.parametrize("missing", [False, True])
def test_whole_numbers_are_looked_up_or_searched(largest, dtype, missing, monkeypatch):
    monkeypatch.setattr(blocks, "LARGEST_TABLE", largest)
    low = 0 if dtype in (pl.UInt8, pl.UInt64) else -4
    known = [low + k for k in (0, 1, 5, 8)]
    values = [*range(max(low - 2, -100 if low else 0), low + 12), *([None] if missing else [])]
    series = enter(pl.DataFrame({"x": pl.Series("x", values, dtype=dtype)}))["x"]
    wanted = [7 if value is None else known.index(value) if value in known else -1 for value in values]
    assert whole_codes(series, known, nowhere=7).tolist() == wanted
    assert whole_codes(series, [], nowhere=7).tolist() == [7 if value is None else -1 for value in values]
    assert whole_codes(series, [low + 3]).tolist() == [0 if value == low + 3 else -1 for value in values]


@pytest.mark.parametrize("largest", [1 << 22, 2])
def test_combinations_are_those_of_the_rows_in_order(largest, monkeypatch):
    monkeypatch.setattr(blocks, "LARGEST_TABLE", largest)
    monkeypatch.setattr(fitting, "LARGEST_TABLE", largest)
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"a": rng.choice(["x", "y", "z"], 80), "b": rng.integers(-1, 3, 80), "c": rng.random(80) < 0.3})
    data.loc[(data["a"] == "x") & (data["b"] == 2), "b"] = 0
    fitted = mv.Groups([mv.cross("a", "b", "c")]).fit(data)
    seen = sorted({(a, b, not c) for a, b, c in zip(data["a"], data["b"], data["c"], strict=True)})
    names = [f"a = {a} & b = {b} & {'not c' if flag else 'c'}" for a, b, flag in seen]
    assert list(fitted.names)[1:] == names
    assert len(names) < 24
    for (a, b, flag), mask in zip(seen, list(fitted.masks(data))[1:], strict=True):
        np.testing.assert_array_equal(mask, (data["a"] == a) & (data["b"] == b) & (data["c"] != flag))


@pytest.mark.parametrize("k", [2, 3, 7])
def test_edges_are_values_that_so_many_rows_lie_below(k):
    rng = np.random.default_rng(k)
    values = rng.permutation(np.r_[rng.lognormal(0, 1, 90), np.nan, np.inf]).round(1)
    finite = np.sort(values[np.isfinite(values)])
    inner = sorted({finite[math.ceil(j / k * (finite.size - 1) - 1e-12)] for j in range(1, k)} - {finite[0]})
    data = Columns(pd.DataFrame({"x": values}))
    edges = Fitter(data, ["x"])._fitted_edges(mv.bins("x", k))
    assert edges == pytest.approx((finite[0], *inner, finite[-1]))


def test_rows_beyond_edges_are_counted():
    data = Columns(pd.DataFrame({"x": [0.0, 1.0, 2.0, 5.0, 5.1, -0.1, math.nan]}))
    fitter = Fitter(data, ["x"])
    assert fitter._fitted_edges(mv.bins("x", edges=[0, 2, 5])) == (0.0, 2.0, 5.0)
    assert "2 rows lie beyond the edges" in fitter.notes[0]
    fewer = Fitter(Columns(pd.DataFrame({"x": [1.0] * 9 + [2.0]})), ["x"])
    assert fewer._fitted_edges(mv.bins("x", 4)) == (1.0, 2.0)
    assert "1 bins instead of 4" in fewer.notes[0]


def test_names_of_intervals():
    assert _interval_names("x", [0.0, 1.5, 1e16]) == ["x in [0, 1.5)", "x in [1.5, 1e+16]"]
    assert _outward_names("x", [-math.inf, 2.0, 3.25, 9.0]) == ["x < 2", "x in [2, 3.25)", "x >= 3.25"]
    assert _outward_names("x", [0.0, 1.0]) == ["x is not missing"]
    assert _interval_names("x", [1.00001, 1.00002, 3.0]) == ["x in [1.00001, 1.00002)", "x in [1.00002, 3.0]"]


@pytest.mark.parametrize(
    ("value", "whole"), [(2.0**53, True), (2.0**53 + 2, False), (-(2.0**53), True), (-(2.0**53) - 2, False), (0.5, False)]
)
def test_floats_are_whole_as_far_as_neighbours_are_told_apart(value, whole):
    fitter = Fitter(Columns(pd.DataFrame({"x": [1.0, value, math.nan]})), ["x"])
    if whole:
        assert fitter.fit("x")[0].values == tuple(sorted((1, int(value))))
    else:
        with pytest.raises(InputError, match="holds fractions"):
            fitter.fit("x")


def test_whole_numbers_have_63_bits():
    for value, accepted in ((2**63 - 1, True), (2**63, False)):
        fitter = Fitter(Columns(pl.DataFrame({"x": pl.Series([value, 3], dtype=pl.UInt64)})), ["x"])
        if accepted:
            assert fitter.fit("x")[0].values == (3, value)
        else:
            with pytest.raises(InputError, match="beyond 64 bits"):
                fitter.fit("x")


@pytest.mark.parametrize("values", [["b", "a", None, "b"], [None, None], ["a", "a"], []])
def test_texts_are_numbered_whether_some_or_all_are_missing(values):
    number, texts = Columns(pl.DataFrame({"x": pl.Series("x", values, dtype=pl.String)})).texts("x")
    assert [None if k < 0 else texts[k] for k in number.tolist()] == values
    assert sorted(texts) == sorted({value for value in values if value is not None})


def test_categories_that_are_declared_and_not_used_are_no_texts():
    for values in (["b", None, "d", "b"], ["b", "d", "d", "b"]):
        column = pd.Series(pd.Categorical(values, categories=["a", "b", "c", "d"]))
        number, texts = Columns(pd.DataFrame({"x": column})).texts("x")
        assert texts == ["b", "d"]
        assert [None if k < 0 else texts[k] for k in number.tolist()] == values
