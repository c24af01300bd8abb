"""Codes in memory and conditions on every engine choose the same rows."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multivalid.discover.bins import Categories, Ordered, encode
from multivalid.discover.fit_bins import fit_bins
from multivalid.discover.rounding import shortest_between
from multivalid.groups.engine import condition_expression
from multivalid.groups.frames import open_frame
from multivalid.groups.nodes import render
from multivalid.groups.predicate import parse
from tests.discover.worlds import mixed_frame


def engines(frame):
    import duckdb
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False)
    return {"pandas": frame, "pyarrow": table, "polars": pl.from_arrow(table).lazy(), "duckdb": duckdb.from_arrow(table)}


def selected(data, condition):
    """The rows that an engine selects, by number."""
    opened = nw.from_native(data)
    expression = condition_expression(condition, opened.collect_schema(), render(condition))
    kept = opened.filter(expression).select("row")
    kept = kept.collect() if isinstance(kept, nw.LazyFrame) else kept
    return sorted(kept["row"].to_list())


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_every_set_of_codes_is_the_same_rows_on_every_engine(zone):
    rng = np.random.default_rng(3)
    frame = mixed_frame(rng, 400, zone)
    frame["row"] = np.arange(len(frame))
    places = engines(frame)
    del places["pandas"]
    opened = open_frame(places["polars"].collect())  # pandas has no dates of its own
    for name in ("age", "income", "gain", "score", "city", "member", "when", "day"):
        bins = fit_bins(opened[name], 12)
        assert not isinstance(bins, str), bins
        codes = encode([bins], opened)[:, 0]
        assert codes.max() < bins.size
        for _ in range(6):
            chosen = rng.random(bins.size) < 0.5
            if chosen.all() or not chosen.any():
                continue
            condition = bins.condition(chosen)
            assert parse(render(condition)).condition == condition, render(condition)
            expected = np.flatnonzero(chosen[codes]).tolist()
            for engine, data in places.items():
                assert selected(data, condition) == expected, (engine, render(condition))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(st.none(), st.floats(), st.sampled_from([0.0, 1.5, -2.0])),
        min_size=3,
        max_size=60,
    ),
    st.integers(1, 8),
    st.data(),
)
def test_any_numbers(values, most, data):
    series = pl.DataFrame({"x": pl.Series("x", values, dtype=pl.Float64), "row": range(len(values))})
    bins = fit_bins(nw.from_native(series)["x"], most)
    if isinstance(bins, str):
        return
    assert bins.size <= most + 2
    codes = bins.codes(nw.from_native(series)["x"])
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=bins.size, max_size=bins.size)))
    if chosen.all() or not chosen.any():
        return
    assert selected(series.lazy(), bins.condition(chosen)) == np.flatnonzero(chosen[codes]).tolist()


def test_a_frequent_value_has_a_bin_of_its_own():
    values = np.concatenate([np.zeros(500), np.random.default_rng(0).exponential(1, 500)])
    bins = fit_bins(nw.from_native(pl.DataFrame({"gain": values}))["gain"], 20)
    assert isinstance(bins, Ordered)
    codes = bins.codes(nw.from_native(pl.DataFrame({"gain": values}))["gain"])
    zero = codes == codes[0]
    assert np.array_equal(zero, values == 0)
    chosen = np.zeros(bins.size, dtype=bool)
    chosen[: bins.size - 1] = True
    chosen[codes[0]] = False
    assert render(bins.condition(chosen)) == "gain > 0"


def test_unseen_and_missing_values_have_codes_of_their_own():
    seen = nw.from_native(pl.DataFrame({"c": ["a"] * 30 + ["b"] * 30}))["c"]
    bins = fit_bins(seen, 10)
    assert isinstance(bins, Categories)
    new = nw.from_native(pl.DataFrame({"c": ["a", "z", None]}))["c"]
    assert bins.codes(new).tolist() == [0, 2, 3]


def test_bins_have_about_equal_shares():
    values = np.random.default_rng(1).lognormal(0, 2, 20_000)
    bins = fit_bins(nw.from_native(pl.DataFrame({"x": values}))["x"], 25)
    shares = np.bincount(bins.codes(nw.from_native(pl.DataFrame({"x": values}))["x"]), minlength=bins.size)[:-1] / values.size
    assert shares.min() > 0.01
    assert shares.max() < 0.09


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e6))
def test_the_shortest_number_lies_inside(low, width):
    high = low + width
    if high > low:
        assert low < shortest_between(low, high) <= high


def test_what_cannot_be_searched_says_why():
    frame = nw.from_native(pl.DataFrame({"same": ["a"] * 300, "id": [f"k{i}" for i in range(300)], "lists": [[1]] * 300}))
    assert "same value" in fit_bins(frame["same"], 20)
    assert "300 different values" in fit_bins(frame["id"], 20)
    assert "has type" in fit_bins(frame["lists"], 20)


def test_ten_thousand_categories_keep_the_frequent_ones():
    rng = np.random.default_rng(2)
    values = np.where(rng.random(60_000) < 0.5, "common", rng.integers(0, 10_000, 60_000).astype(str))
    bins = fit_bins(nw.from_native(pl.DataFrame({"c": values}))["c"], 24)
    assert isinstance(bins, Categories)
    assert "common" in bins.values
    assert bins.size <= 26
