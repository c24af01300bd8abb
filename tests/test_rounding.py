"""Evenly spaced boundaries: arithmetic answers as a search does, at, beside and far from every boundary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import multivalid as mv
from multivalid.rounding import MOST, EvenBoundaries


def hard(boundaries: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Values on boundaries, one and a few doubles away, in between, outside and infinite."""
    step = boundaries[1] - boundaries[0]
    near = [np.nextafter(boundaries, np.inf), np.nextafter(boundaries, -np.inf), boundaries * (1 + 1e-12), boundaries - step * 1e-6]
    spread = rng.uniform(boundaries[0] - 3 * step, boundaries[-1] + 3 * step, 2000)
    return np.concatenate([boundaries, *near, spread, [-np.inf, np.inf, -1e308, 1e308, np.nan, 0.0]])


@settings(max_examples=300, deadline=None)
@given(
    lo=st.floats(-1e9, 1e9),
    width=st.floats(1e-6, 1e9),
    m=st.integers(3, MOST + 1),
    kind=st.sampled_from([mv.Grid.uniform, mv.Grid.closed]),
    seed=st.integers(0, 2**32 - 1),
)
def test_arithmetic_agrees_with_a_search(lo, width, m, kind, seed):
    if not lo < lo + width:
        return
    boundaries = kind(lo, lo + width, m).boundaries
    even = EvenBoundaries.of(boundaries)
    if even is None:  # too close together for doubles of this size to be even
        assert boundaries.size < 2 or np.ptp(boundaries) < 1e-6 * np.abs(boundaries).max()
        return
    values = hard(boundaries, np.random.default_rng(seed))
    np.testing.assert_array_equal(even.below(values), np.searchsorted(boundaries, values, side="left"))


@pytest.mark.parametrize(
    "boundaries",
    [[0.0], [0.0, 1.0, 2.001], [0.0, 1.0, 2.0 + 1e-5], list(range(MOST + 1)), [-1e308, 0.0, 1e308], [0.0, 5e-324, 1e-323]],
)
def test_uneven_too_many_or_out_of_range_is_left_to_the_search(boundaries):
    assert EvenBoundaries.of(np.array(boundaries)) is None


@pytest.mark.parametrize("grid", [mv.Grid.uniform(-1, 1, 20), mv.Grid([0.0, 1.0, 5.0]), mv.Grid.uniform(0, 1, 999)], ids=repr)
@pytest.mark.parametrize("shape", [(), (7,), (3000,), (50, 60), (0,)])
def test_a_grid_rounds_arrays_of_any_shape_and_size(grid, shape):
    values = np.random.default_rng(0).normal(size=shape)
    levels = grid.round(values)
    assert levels.dtype == np.intp
    np.testing.assert_array_equal(levels, np.searchsorted(grid.boundaries, values, side="left"))


@pytest.mark.parametrize("seed", range(10))
def test_uneven_boundaries_count_like_a_search(seed):
    rng = np.random.default_rng(seed)
    points = [
        rng.normal(size=40), np.exp(5 * rng.normal(size=30)), rng.integers(0, 50, 20) / 7, np.array([0.0, 1e-300, 1e300]),
        1e9 + rng.random(20), np.array([3.0]),
    ][seed % 6]  # fmt: skip
    grid = mv.Grid(points)
    edges = grid.boundaries
    near = [edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), grid.points]
    values = np.concatenate([rng.normal(grid.points.mean() / 2, 1 + np.ptp(points) / 4, 2000), *near, [-1e308, 1e308]])
    np.testing.assert_array_equal(grid.round(values), np.searchsorted(edges, values, side="left"))


@pytest.mark.parametrize(("off", "even"), [(0.2, True), (-0.2, True), (0.3, False), (-0.3, False)])
def test_how_even_boundaries_must_be(off, even):
    """By a quarter of 1/2²³ of an interval, and no more."""
    boundaries = np.array([0.0, 1.0 + off / 2**23, 2.0])
    made = EvenBoundaries.of(boundaries)
    assert (made is not None) == even
    if made is not None:
        values = hard(boundaries, np.random.default_rng(0))
        np.testing.assert_array_equal(made.below(values), np.searchsorted(boundaries, values, side="left"))


@pytest.mark.parametrize("size", [2, 3, MOST])
def test_two_boundaries_are_enough_and_as_many_as_a_byte_holds(size):
    assert EvenBoundaries.of(np.arange(float(size))) is not None


@pytest.mark.parametrize("chunk", [13, 1 << 16])
def test_values_are_counted_chunk_by_chunk(chunk, monkeypatch):
    from multivalid import rounding

    monkeypatch.setattr(rounding, "CHUNK", chunk)
    for boundaries in (np.arange(40) / 7, np.sort(np.random.default_rng(0).gamma(2, 1, 40))):
        values = hard(boundaries, np.random.default_rng(1))
        values = values[np.isfinite(values)]
        kind = EvenBoundaries if boundaries[1] == 1 / 7 else rounding.UnevenBoundaries
        np.testing.assert_array_equal(kind(boundaries).below(values), np.searchsorted(boundaries, values, side="left"))


def test_parts_of_uneven_boundaries():
    from multivalid.rounding import PARTS, UnevenBoundaries

    boundaries = np.array([1.0, 1.5, 1.5001, 5.0])
    made = UnevenBoundaries(boundaries)
    assert made.scale == (PARTS - 2) / 4
    values = np.array([-9.0, 0.999, 1.0, 2.0, 3.0, 5.0, 99.0])
    part = [0 if v < 1 else min(int((v - 1) / 4 * (PARTS - 2)) + 1, PARTS - 1) for v in values]
    part[1] = 0
    assert made._part(values).tolist() == part
    own = made._part(boundaries)
    assert np.flatnonzero(made.mixed).tolist() == sorted(set(own.tolist()))
    assert made.table.tolist() == [int((own < p).sum()) for p in range(PARTS)]
    for flat in ([], [2.0], [-1e308, 1.7e308]):
        values = np.array([-1.0, 2.0, 3.0])
        with np.errstate(over="ignore"):
            found = UnevenBoundaries(np.array(flat)).below(values)
        np.testing.assert_array_equal(found, np.searchsorted(np.array(flat), values))
