"""Sums, counts and sides of the search, each against a second writing in plain loops."""

from __future__ import annotations

import itertools

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import multivalid as mv
from multivalid.discover import engine_halves, run
from multivalid.discover import halves as memory_halves
from multivalid.discover.bins import Categories, Ordered
from multivalid.discover.coordinates import coordinates
from multivalid.discover.engine_halves import halves_in_engine
from multivalid.discover.evidence import level_edges
from multivalid.discover.features import fit_features
from multivalid.discover.fit_bins import fit_bins
from multivalid.discover.halves import Wanted, halves_in_memory
from multivalid.discover.search import Search
from multivalid.discover.slices import search_slices
from multivalid.discover.split import Layout, best_split
from multivalid.groups.frames import open_frame
from multivalid.groups.predicate import parse
from multivalid.groups.remote import lazy_frame
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
    sums = np.zeros((1, layout.width, 3))
    sums[0, :missing, 2] = 25.0
    sums[0, :missing, 1] = 25.0
    sums[0, :missing, 0] = np.where(np.arange(missing) < cut, 30.0 * missing / cut, -30.0)
    split = best_split(layout, sums, 1.0)
    assert split is not None
    column, left = split
    assert column == 0
    assert left[:missing].tolist() == [code < cut for code in range(missing)]
    assert bool(left[missing]) == (2 * cut > missing)


def halves(data, lazy=False, **given):
    """The two parts of a frame, and the sums of the rows to test."""
    wanted = Wanted(**{"y_true": "y", "y_pred": "p", "features": None, "groups": [], "target": mv.Mean(), "sample_weight": "w",
                       "cluster": None, "test_share": 0.5, "seed": 0} | given)  # fmt: skip
    return halves_in_engine(wanted, lazy_frame(pl.from_pandas(data).lazy())) if lazy else halves_in_memory(wanted, data)


@pytest.mark.parametrize("share", [0.5, 0.3])
@pytest.mark.parametrize("lazy", [False, True])
def test_so_many_rows_are_searched_and_the_others_tested(share, lazy, monkeypatch):
    data, _ = off_world(4000, 3, weights=True)
    found = halves(data, lazy, test_share=share)
    assert sum(found.sizes) == 4000
    assert (
        found.sizes[0] == found.labels.size == found.weights.size == pytest.approx(4000 * (1 - share), rel=0.05 if lazy else 1e-9)
    )
    told = coordinates(mv.Mean(), True)
    atoms = found.ask([], told, [1.0], [level_edges(found.predictions[:, 0])])
    assert atoms.sums[0]["rows"].sum() == found.sizes[1]
    # Weights have mean one over all rows, searched or tested.
    assert found.weights.sum() + atoms.sums[0]["weight"].sum() == pytest.approx(4000)
    monkeypatch.setattr(engine_halves if lazy else memory_halves, "MOST_SEARCHED", 1000)
    fewer = halves(data, lazy, test_share=share)
    assert fewer.sizes[0] == pytest.approx(1000, rel=0.1 if lazy else 1e-9)


def test_clusters_stay_whole_and_fill_the_part_searched():
    data, _ = off_world(3000, 3, weights=True)
    rng = np.random.default_rng(0)
    data["day"] = np.repeat(np.arange(200), rng.multinomial(3000, rng.dirichlet(np.ones(200))))[:3000]
    for share in (0.5, 0.2):
        found = halves(data, cluster="day", test_share=share)
        searched, tested = found.sizes
        largest = data["day"].value_counts().max()
        assert 3000 * (1 - share) - largest < searched <= 3000 * (1 - share)
        units = found.ask([], coordinates(mv.Mean(), True), [1.0], [np.array([0.5])]).cluster
        whole = np.unique(data["day"], return_counts=True)[1]
        assert whole[np.unique(units)].sum() == tested == units.size
    data["day"] = (np.arange(3000) > 2990).astype(int)
    assert sorted(halves(data, cluster="day").sizes) == [9, 2991], "one cluster at least is searched, however large"


@pytest.mark.parametrize("unit", [1.0, 7.0])
def test_the_gap_that_would_have_been_found_knows_no_unit_of_weights(unit):
    data, _ = off_world(4000, 1, delta=0.0, weights=True)
    data["w"] *= unit
    lazy = mv.discover("y", "p", data=pl.from_pandas(data).lazy(), sample_weight="w", features=["age", "city"], depth=1)
    memory = mv.discover("y", "p", data=data, sample_weight="w", features=["age", "city"], depth=1)
    v = (data["p"] - data["y"]) * data["w"] / data["w"].mean()
    for one, rel in ((memory, 0.05), (lazy, 0.1)):
        assert one.smallest == pytest.approx(
            run._smallest(2 * np.log(one.tried), float(np.sqrt(np.mean(v**2))), (2000, 2000)), rel=rel
        )


def test_a_binary_column_has_the_values_seen():
    for values, seen in (([True, False, None], (False, True)), ([True, True, None], (True,)), ([False, False, None], (False,))):
        found = fit_bins(nw.from_native(pl.DataFrame({"b": values * 30}))["b"], 9)
        assert found.values == seen
        flags = nw.from_native(pl.DataFrame({"b": [True, False, None]}))["b"]
        assert found.codes(flags).tolist() == [seen.index(v) if v in seen else len(seen) for v in (True, False)] + [len(seen) + 1]


@pytest.mark.parametrize("unit", [1.0, 250.0])
def test_in_an_engine_the_gap_of_amounts_is_in_their_own_unit(unit):
    data, inside = off_world(6000, 7, weights=True)
    rng = np.random.default_rng(1)
    data["y"] = unit * (data["p"] + rng.normal(size=6000) + 0.8 * inside)
    data["p"] *= unit
    lazy = mv.discover("y", "p", data=pl.from_pandas(data).lazy(), sample_weight="w", features=["age", "city"])
    assert len(lazy.groups) == 1
    held = np.array([parse(lazy.groups[0]).holds(row) for row in data[["age", "city"]].to_dict("records")])
    gap = np.average((data["p"] - data["y"])[held], weights=data["w"][held])
    assert lazy.table["gap"][0] == pytest.approx(gap, rel=0.15), "on the rows tested, about that of all"
    assert lazy.table["gap_low"][0] < gap < lazy.table["gap_high"][0]
