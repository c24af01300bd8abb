"""Edges, texts and instants of the bins, each against a second writing: exact fractions, plain loops, the calendar."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from fractions import Fraction

import narwhals as nw
import numpy as np
import polars as pl
import pytest

from multivalid.discover import fit_bins as module
from multivalid.discover.bins import Categories, Ordered
from multivalid.discover.features import HEAD, MOST_NAMES, repeating, says_the_label, without_copies
from multivalid.discover.fit_bins import FEWEST, SAME_EVERYWHERE, fit_bins, fit_edges
from multivalid.discover.instants import coarsest_unit, instants
from multivalid.discover.rounding import shortest_between
from multivalid.groups.nodes import render


def shortest(low, high):
    """Among the multiples of 10, 5, 2, 1 of ever smaller powers of ten, the first in (low, high], nearest to the middle; exactly."""
    if low < 0 <= high:
        return [0.0]
    ends, low, high = (low, high), Fraction(low), Fraction(high)
    power = math.floor(math.log10(max(abs(low), abs(high)))) + 2
    while True:
        power -= 1
        for unit in (10, 5, 2, 1):
            step = unit * Fraction(10) ** power
            inside = [k for k in range(math.floor(low / step), math.floor(high / step) + 2) if ends[0] < float(k * step) <= ends[1]]
            if inside:
                away = {k: abs(k * step - (low + high) / 2) for k in inside}
                return [float(k * step) for k in away if away[k] == min(away.values())]


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1.0, 37.0, 1e6])
def test_the_shortest_number_is_the_exact_one(size):
    rng = np.random.default_rng(7)
    for _ in range(300):
        low = float(np.round(rng.normal() * size, int(rng.integers(0, 6)))) if rng.random() < 0.5 else float(rng.normal() * size)
        high = low + float(rng.choice([1.0, 2.0, 10.0, rng.exponential()]) * size * 10.0 ** -rng.integers(0, 5))
        if low < high:
            assert shortest_between(low, high) in shortest(low, high), (low, high)


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [(2.0, 3.0, 3.0), (0.2, 0.3, 0.3), (34.0, 36.0, 35.0), (-0.0, 5.0, 5.0), (-3.0, 0.0, 0.0), (-3.0, -1.0, -2.0), (7.0, 7.0, 7.0),
     (99.0, 101.0, 100.0), (9.0, 1e300, 1e300), (-math.inf, -2.0, -2.0), (3.0, math.inf, math.inf), (1e-310, 2e-310, 2e-310)],
)  # fmt: skip
def test_short_numbers_by_hand(low, high, found):
    assert shortest_between(low, high) == found


def edges_by_loops(values, most, whole):
    """At most `most` edges: a cut at about each share, values that many rows have cut out whole; fewer shares until they are few enough."""

    def between(low, high):
        edge = shortest_between(low, high)
        return float(math.ceil(edge)) if whole and math.ceil(edge) <= high else edge

    rows, distinct = len(values), sorted(set(values))
    if len(distinct) <= most:
        return [between(a, b) for a, b in itertools.pairwise(distinct)]
    shares = most
    while True:
        heavy = [v for v in distinct if values.count(v) * shares >= 1.5 * rows]
        found = set(heavy) | {v + 1 if whole else math.nextafter(v, math.inf) for v in heavy}
        for k in range(1, shares):
            rank, slack = k / shares * (rows - 1), rows / shares / 4
            low, high = values[math.floor(rank - slack)], values[math.ceil(rank + slack)]
            if low < high and not any(low <= v <= high for v in heavy):
                found.add(between(low, high))
        inside = sorted(edge for edge in found if distinct[0] < edge <= distinct[-1])
        if len(inside) <= most:
            return inside
        shares = shares * most // (len(inside) + 1)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [4, 7, 24])
def test_edges_are_those_of_plain_loops(seed, most):
    rng = np.random.default_rng(seed)
    smooth, whole = rng.lognormal(0, 1.5, 300), rng.poisson(30, 300).astype(float)
    heavy = np.where(rng.random(300) < 0.12 * (1 + seed), rng.integers(0, 6, 300) / 2, smooth)
    spikes = np.repeat(np.arange(60.0), rng.integers(1, 10, 60))
    for values, is_whole in ((smooth, False), (whole, True), (heavy, False), (spikes, True), (spikes * 1.1, False)):
        sorted_values = np.sort(values)
        assert fit_edges(sorted_values, most, is_whole).tolist() == edges_by_loops(sorted_values.tolist(), most, is_whole)


def test_the_loops_meet_too_many_edges():
    """Nine values that a tenth of the rows have each ask for eighteen edges, where nine may be."""
    values = np.sort(np.concatenate([np.repeat(np.arange(1.0, 10.0), 30), np.random.default_rng(0).random(30) * 10]))
    edges = fit_edges(values, 9, False)
    assert edges.tolist() == edges_by_loops(values.tolist(), 9, False)
    assert 2 <= edges.size <= 9


def test_a_long_column_is_cut_where_evenly_spaced_rows_say(monkeypatch):
    values = np.random.default_rng(3).permutation(np.arange(1000.0) ** 2)
    monkeypatch.setattr(module, "PROBE", 100)
    found = fit_bins(nw.from_native(pl.DataFrame({"x": values}))["x"], 5)
    some = np.sort(values)[np.linspace(0, 999, 100).astype(int)]
    assert found.edges == tuple(edges_by_loops(some.tolist(), 5, False))
    assert fit_bins(nw.from_native(pl.DataFrame({"x": values[:100]}))["x"], 5).edges == tuple(
        edges_by_loops(sorted(values[:100]), 5, False)
    )


def text_bins(counts, missing=0, most=4):
    values = [name for name, count in counts.items() for _ in range(count)] + [None] * missing
    return fit_bins(nw.from_native(pl.DataFrame({"c": pl.Series("c", values, dtype=pl.String)}))["c"], most)


@pytest.mark.parametrize(
    ("counts", "missing", "kept"),
    [
        ({"a": 50, "b": FEWEST, "c": FEWEST - 1}, 0, ("a", "b")),
        ({"a": 5, "b": 5, "c": 4}, 0, ("a", "b")),  # all are rare: as frequent as the most frequent
        ({"a": 50, "b": 49, "c": 48, "d": 47, "e": 46}, 0, ("a", "b", "c", "d")),
        ({"a": 50}, 1, ("a",)),
        ({"a": 50, "b": 1}, 0, ("a",)),
        ({"a": 50}, 0, None),
        ({}, 9, None),
    ],
)
def test_texts_that_get_a_code_of_their_own(counts, missing, kept):
    found = text_bins(counts, missing)
    assert (found.values if isinstance(found, Categories) else None) == kept
    if kept is None:
        assert found == SAME_EVERYWHERE


@pytest.mark.parametrize(
    ("names", "twice", "identifiers"), [(5, 4, True), (5, 5, False), (9, 9, False), (10, 9, True), (4, 0, False)]
)
def test_more_texts_than_half_of_the_rows_that_have_one_are_identifiers(names, twice, identifiers):
    found = text_bins({f"k{i}": 2 if i < twice else 1 for i in range(names)}, most=4, missing=7)
    assert (isinstance(found, str) and "as identifiers do" in found) == identifiers


BINS = Ordered("x", "number", (0.0, math.nextafter(0.0, 1.0), 1.5, 4.0))
WHOLE = Ordered("n", "number", (3.0, 4.0, 7.0), whole=True)


@pytest.mark.parametrize(
    ("bins", "codes", "text"),
    [
        (BINS, [1], "x == 0"),
        (BINS, [0], "x < 0"),
        (BINS, [2], "x > 0 and x < 1.5"),
        (BINS, [0, 1], "x <= 0"),
        (BINS, [1, 2], "x >= 0 and x < 1.5"),
        (BINS, [3], "x >= 1.5 and x < 4"),
        (BINS, [4], "x >= 4"),
        (BINS, [2, 3, 4], "x > 0"),
        (BINS, [0, 4], "x < 0 or x >= 4"),
        (BINS, [1, 5], "x is None or x == 0"),
        (WHOLE, [1], "n == 3"),
        (WHOLE, [0], "n < 3"),
        (WHOLE, [0, 1], "n < 4"),
        (WHOLE, [2], "n >= 4 and n < 7"),
        (WHOLE, [1, 2], "n >= 3 and n < 7"),
        (WHOLE, [3], "n >= 7"),
    ],
)
def test_conditions_in_words(bins, codes, text):
    chosen = np.zeros(bins.size, dtype=bool)
    chosen[codes] = True
    assert render(bins.condition(chosen)) == text


MICRO = 1_000_000


@pytest.mark.parametrize(
    ("span", "unit"),
    [
        (32 * 86400, 86400), (32 * 86400 - 1, 3600), (32 * 3600, 3600), (32 * 3600 - 1, 60), (32 * 60, 60), (32 * 60 - 1, 1), (32, 1),
    ],
)  # fmt: skip
def test_times_are_cut_at_units_that_fit_thirty_two_times(span, unit):
    assert coarsest_unit(np.array([5.0, 3.0, 3.0 + span]) * MICRO, "datetime") == unit * MICRO
    assert coarsest_unit(np.array([5.0, 3.0, 3.0 + span]), "date") == 1


def test_below_half_a_minute_times_are_cut_anywhere():
    assert coarsest_unit(np.array([3.0, 34.0]) * MICRO, "datetime") == 1
    assert coarsest_unit(np.zeros(0), "datetime") == 1


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kolkata", "Europe/Berlin"])
def test_days_begin_at_midnight_of_the_zone(zone):
    rng = np.random.default_rng(5)
    start = dt.datetime(2024, 3, 1, 7, 13, tzinfo=dt.UTC)
    when = [start + dt.timedelta(seconds=int(s)) for s in rng.integers(0, 60 * 86400, 400)]
    series = pl.Series("when", when, dtype=pl.Datetime("us", "UTC"))
    series = series.dt.replace_time_zone(None) if zone is None else series.dt.convert_time_zone(zone)
    column = nw.from_native(pl.DataFrame({"when": series}))["when"]
    found = fit_bins(column, 12)
    assert isinstance(found, Ordered)
    assert 8 <= len(found.edges) <= 12
    shown = pl.Series(np.array(found.edges).astype(np.int64)).cast(pl.Datetime("us", "UTC")).dt.convert_time_zone(zone or "UTC")
    assert shown.dt.time().unique().to_list() == [dt.time(0)]
    # Cuts a day early at the most: as many rows in every bin as the days allow.
    counts = np.bincount(found.codes(column), minlength=found.size)[:-1]
    assert counts.min() > 400 / 12 / 3
    assert instants(column, "datetime").tolist() == [one.timestamp() * 1e6 for one in when]


def test_dates_are_days_since_1970():
    days = [dt.date(1969, 12, 30), None, dt.date(1970, 1, 2), dt.date(2024, 2, 29)]
    found = instants(nw.from_native(pl.DataFrame({"d": days}))["d"], "date")
    np.testing.assert_array_equal(found, [-2, np.nan, 1, (dt.date(2024, 2, 29) - dt.date(1970, 1, 1)).days])


def names_of(labels, spelled):
    return nw.from_native(pl.DataFrame({"c": [spelled[int(label)] for label in labels]}))["c"]


@pytest.mark.parametrize(("count", "told"), [(MOST_NAMES, True), (MOST_NAMES + 1, False)])
def test_other_names_of_so_many_labels_are_told(count, told):
    labels = (np.arange(1000) % count).astype(float)
    assert says_the_label(names_of(labels, [f"n{i}" for i in range(count)]), labels) == told
    assert not says_the_label(names_of(labels, ["same", "same", *map(str, range(count))]), labels), "two labels by one name"


def test_a_column_that_only_begins_like_the_label_is_none():
    labels = np.zeros(HEAD + 100)
    assert not says_the_label(names_of(labels, ["a"]), labels), "neither tells anything apart"
    labels[HEAD + 50 :] = 1.0
    assert says_the_label(names_of(labels, ["a", "b"]), labels)
    late = labels.copy()
    late[-1] = 0.0
    assert not says_the_label(names_of(late, ["a", "b"]), labels)
    assert says_the_label(nw.from_native(pl.DataFrame({"c": labels}))["c"], labels)
    assert not says_the_label(nw.from_native(pl.DataFrame({"c": np.zeros(HEAD + 9)}))["c"], np.zeros(HEAD + 9))


def test_columns_that_repeat_predictions_by_hand():
    rng = np.random.default_rng(8)
    p = rng.random(600)
    columns = {
        "same": p, "rounded": p.astype(np.float32).astype(float), "square": p**2, "falls": 1 - p, "off": p + 1e-4 * rng.normal(size=600),
        "halves": np.floor(p * 2), "coarse": np.floor(p * 500), "gap": np.where(p > 0.5, np.nan, p), "flat": np.ones(600),
    }  # fmt: skip
    frame = nw.from_native(pl.DataFrame(columns))
    assert repeating(frame, list(columns), p) == ["same", "rounded", "square", "falls", "coarse"]
    assert without_copies(frame, ["same", "off"], p)[0] == ["off"]
    assert without_copies(frame, ["same", "square"], p, own="same")[0] == ["same"]
    few = np.round(p * 20) / 20
    frame = nw.from_native(
        pl.DataFrame({"all": np.round(p * 20), "half": np.floor(np.round(p * 20) / 2), "fine": few + (p > few) * 1e-3})
    )
    assert repeating(frame, ["all", "half", "fine"], few) == ["all", "half"], (
        "half of the steps are enough, more than theirs are not"
    )
