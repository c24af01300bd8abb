"""Sums, counts and sides of the search, each against a second writing in plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest

import multivalid as mv
from multivalid.discover.bins import Categories, Ordered
from multivalid.discover.features import fit_features
from multivalid.discover.search import Search
from multivalid.discover.slices import search_slices
from multivalid.discover.split import Layout, best_split
from multivalid.groups.frames import open_frame
from multivalid.groups.predicate import parse
from tests.discover.worlds import off_world


def test_the_candidates_tried_are_those_of_one_two_and_three_columns():
    rng = np.random.default_rng(2)
    bins = [Categories(name, "text", tuple("uvwxyz"[:size])) for name, size in (("a", 2), ("b", 4), ("c", 5))]
    codes = np.stack([rng.integers(0, one.size, 3000) for one in bins], axis=1).astype(np.uint8)
    search = Search(bins, codes, rng.normal(size=3000), 3)
    sizes = [len(one) for one in search.conditions]
    pairs = sum(a * b for a, b in itertools.combinations(sizes, 2))
    assert len(set(sizes)) == 3, "the case must be there"
    assert search.tried == pytest.approx([sum(sizes), pairs, pairs * sum(sizes) / 3])


def test_the_gap_of_a_slice_is_the_weighted_mean_of_its_rows():
    data, _ = off_world(4000, 3, weights=True)
    weights = data["w"].to_numpy()
    v = (data["p"] - data["y"]).to_numpy()
    frame = open_frame(data[["age", "city"]])
    bins = fit_features(frame, ["age", "city"], 24, named=True, labels=data["y"].to_numpy())
    found = search_slices(frame, bins, [v], weights, [], depth=2, most=3).found
    assert found
    for one in found:
        inside = np.array([parse(one.text).holds(row) for row in data[["age", "city"]].to_dict("records")])
        assert 30 < inside.sum() < 4000
        assert one.gap == pytest.approx(np.average(v[inside], weights=weights[inside]))


@pytest.mark.parametrize("others", [[], ["city"]])
def test_in_an_engine_too_what_is_found_is_beyond_every_named_group(others):
    data, _ = off_world(6000, 5)
    lazy = pl.from_pandas(data[["age", "city", "y", "p"]]).lazy()
    assert mv.discover("y", "p", data=lazy, features=["age", "city"]).groups
    named = ["age >= 50 and city == 'Oslo'", *others]
    found = mv.discover("y", "p", data=lazy, features=["age", "city"], groups=named)
    assert found.groups == []
    assert not [text for text in found.candidates["name"] if "Oslo" in text], "nor is it searched again"


@pytest.mark.parametrize("cut", [2, 6])
def test_a_missing_value_that_nobody_had_goes_with_the_larger_side(cut):
    """Eight codes of 25 rows, no row without a value; the residuals change sign after code `cut`."""
    layout = Layout.of([Ordered("a", "number", tuple(float(edge) for edge in range(1, 8)))])
    missing = int(layout.missing[0])
    sums = np.zeros((1, 256, 3))
    sums[0, :missing, 2] = 25.0
    sums[0, :missing, 1] = 25.0
    sums[0, :missing, 0] = np.where(np.arange(missing) < cut, 30.0 * missing / cut, -30.0)
    split = best_split(layout, sums, 1.0)
    assert split is not None
    column, left = split
    assert column == 0
    assert left[:missing].tolist() == [code < cut for code in range(missing)]
    assert bool(left[missing]) == (2 * cut > missing)
