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
