"""Grids: where the points are, how values round, and that ties go down."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import multivalid as mv
from multivalid.errors import InputError

NUMBERS = st.floats(-1e6, 1e6, allow_nan=False)


@pytest.mark.parametrize(
    ("grid", "points", "gap", "edge"),
    [
        (mv.Grid.uniform(-3, 7, 5), [-2, 0, 2, 4, 6], 2, 1),
        (mv.Grid.closed(-3, 7, 3), [-3, 2, 7], 5, 0),
        (mv.Grid.paper(4), [0.2, 0.4, 0.6, 0.8], 0.2, 0.2),
        (mv.Grid.paper(3, -1, 3), [0, 1, 2], 1, 1),
        (mv.Grid([3, 1, 1, 2], lo=0, hi=5), [1, 2, 3], 1, 2),
        (mv.Grid([0.5]), [0.5], 0, 0),
        (mv.Grid([0.5], lo=0, hi=1), [0.5], 1, 0.5),
        (mv.Grid.quantile([1, 2, 3, 4], 2), [1, 3], 2, 1),
        (mv.Grid.quantile([1, 2, 3, 4], 2, sample_weight=[6, 1, 1, 0]), [1], 3, 3),
        (mv.Grid.quantile([7, 7, 7], 5), [7], 0, 0),
    ],
    ids=repr,
)
def test_points(grid, points, gap, edge):
    np.testing.assert_allclose(grid.points, points, rtol=1e-15, atol=1e-15)
    assert len(grid) == len(points)
    assert (grid.gap, grid.edge) == pytest.approx((gap, edge), abs=1e-15)


def test_half_way_goes_down_and_ends_are_kept():
    grid = mv.Grid([0.0, 1.0, 3.0])
    np.testing.assert_array_equal(
        grid.round([-5, 0, 0.5, np.nextafter(0.5, 1), 1, 2, np.nextafter(2, 3), 9]), [0, 0, 0, 1, 1, 1, 2, 2]
    )
    assert grid.round(0.5) == 0


@settings(max_examples=200, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=12), st.lists(NUMBERS, min_size=1, max_size=12))
def test_rounding_is_to_the_nearest(points, values):
    grid = mv.Grid(points)
    at = grid.round(values)
    for value, index in zip(values, at, strict=True):
        distance = np.abs(grid.points - value)
        assert distance[index] <= distance.min() + 1e-9 * (1 + abs(value))
    np.testing.assert_array_equal(grid.round(grid.points), np.arange(len(grid)))


@settings(max_examples=50, deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3), st.integers(2, 60))
def test_no_value_is_farther_than_promised(lo, width, m):
    values = lo + width * np.linspace(0, 1, 301)
    for grid in (mv.Grid.uniform(lo, lo + width, m), mv.Grid.closed(lo, lo + width, m), mv.Grid.paper(m, lo, lo + width)):
        away = np.abs(grid.points[grid.round(values)] - values).max()
        assert away <= max(grid.gap / 2, grid.edge) + 1e-12 * (abs(lo) + width)
        assert grid.gap <= width / (m - 1) + 1e-12 * (abs(lo) + width)


def test_label_bins_are_right_closed():
    grid = mv.Grid([0.0, 0.5, 1.0])
    labels = np.array([-1, 0, np.nextafter(0, 1), 0.5, 0.7, 1.0, 1.1])
    from multivalid.atoms.response import response

    bins, _ = response(mv.Quantile(0.5), grid, labels).encode(labels)
    np.testing.assert_array_equal(bins, [0, 0, 1, 1, 2, 2, 3])
    for j, point in enumerate(grid.points):
        np.testing.assert_array_equal(labels <= point, bins <= j)


def test_a_grid_is_a_value():
    grid = mv.Grid.uniform(0, 1, 4)
    for other in (mv.Grid.from_json(grid.to_json()), pickle.loads(pickle.dumps(grid)), copy.deepcopy(grid)):  # noqa: S301
        assert other == grid
        assert hash(other) == hash(grid)
    assert grid != mv.Grid(grid.points)  # another interval
    assert grid != "grid"
    with pytest.raises(ValueError, match="read-only"):
        grid.points[0] = 5
    assert repr(grid) == "<Grid of 4 points on [0, 1]: 0.125, 0.375, 0.625, …>"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: mv.Grid([]), "points is empty"),
        (lambda: mv.Grid([0, np.nan]), "points has 1 missing or infinite"),
        (lambda: mv.Grid([[0, 1]]), "points must be one-dimensional"),
        (lambda: mv.Grid([0, 1], lo=0.5), r"points must lie in \[lo, hi\] = \[0.5, 1\], got 0 to 1; widen"),
        (lambda: mv.Grid.uniform(1, 1, 5), "lo must be below hi, got lo=1.0, hi=1.0"),
        (lambda: mv.Grid.uniform(0, np.inf, 5), "hi must be finite, got inf"),
        (lambda: mv.Grid.uniform(0, 1, 0), "m must be a whole number of at least 1, got 0"),
        (lambda: mv.Grid.uniform(0, 1, 2.5), "m must be a whole number of at least 1, got 2.5"),
        (lambda: mv.Grid.closed(0, 1, 1), "m must be a whole number of at least 2, got 1"),
        (lambda: mv.Grid.paper(True), "m must be a whole number"),
        (lambda: mv.Grid.quantile([1, 2], 2, [-1, 1]), "sample_weight must not be negative"),
        (
            lambda: mv.Grid.uniform(0, 1, 3).check(np.array([0.5, 2.0])),
            r"range \[0, 1\]: 1 values do not, the first at row 1 \(2\); give",
        ),
    ],
)
def test_bad_grids(build, message):
    with pytest.raises(InputError, match=message):
        build()


def test_the_gap_is_the_largest_distance_of_neighbours():
    assert mv.Grid([0.0, 0.1, 0.5, 0.6]).gap == pytest.approx(0.4)
    assert mv.Grid([0.2], lo=0.0, hi=1.0).gap == 1.0


def test_levels_of_equal_weight_reach_the_last_value_where_it_is_heavy():
    values, weights = np.array([5.0, 1.0, 3.0]), np.array([8.0, 1.0, 1.0])
    assert mv.Grid.quantile(values, 4, weights).points.tolist() == [3.0, 5.0]
    assert mv.Grid.quantile(values, 2, np.array([1.0, 1.0, 1.0])).points.tolist() == [1.0, 5.0]


@pytest.mark.parametrize("weighted", [False, True])
def test_levels_of_equal_weight_by_hand(weighted):
    rng = np.random.default_rng(3)
    for count, m in ((1, 3), (7, 4), (40, 9), (40, 40)):
        values = rng.integers(0, 12, count) / 4
        weights = rng.integers(1, 6, count) / 4 if weighted else np.full(count, 0.25)
        wanted = set()
        for k in range(m):
            goal = weights.sum() * (k + 0.5) / m
            wanted.add(min(v for v in values if weights[values <= v].sum() >= goal))
        grid = mv.Grid.quantile(values, m, weights)
        assert grid.points.tolist() == sorted(wanted)
        assert (grid.lo, grid.hi) == (values.min(), values.max())


def test_ends_that_a_grid_covers():
    grid = mv.Grid([0.5, 1.0], lo=-1.0, hi=2.0)
    np.testing.assert_array_equal(grid.check(np.array([-1.0, 2.0])), [-1.0, 2.0])
    grid.check_ends(-1.0, 2.0)
    for low, high in ((-1.1, 2.0), (-1.0, 2.1)):
        with pytest.raises(InputError, match=f"goes from {low:g} to {high:g}"):
            grid.check_ends(low, high)
        with pytest.raises(InputError, match="1 values do not"):
            grid.check(np.array([low, high, 0.0]))
    assert mv.Grid([0.5, 1.0], lo=0.5, hi=1.0).edge == 0.0
    assert (mv.Grid([0.5, 1.0], lo=0.0, hi=1.1).edge, grid.edge) == (0.5, 1.5)
    assert mv.Grid([0.5, 1.0], lo=0.4, hi=4.0).edge == 3.0


def test_between_neighbouring_doubles_the_middle_is_the_lower_one():
    for point in (1.0, np.nextafter(1.0, 2), 3e-310):
        pair = mv.Grid([point, np.nextafter(point, 9)])
        assert pair.round(pair.points).tolist() == [0, 1]
    np.testing.assert_allclose(mv.Grid([0.0, 1.0, 5.0]).boundaries, [0.5, 3.0])


def test_ten_million_levels_and_no_more():
    from multivalid.grid import level_count

    assert level_count(10_000_000) == 10_000_000
    with pytest.raises(InputError, match="at most 10,000,000 levels, got 10,000,001"):
        level_count(10_000_001)
