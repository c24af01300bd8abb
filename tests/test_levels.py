"""Levels of about equal weight without sorting everything are those of sorting everything."""

from __future__ import annotations

import numpy as np
import pytest

import multivalid as mv
from multivalid import levels
from multivalid.levels import ArrayValues, LevelPolicy

CASES = {
    "uniform": lambda rng: rng.random(5000),
    "heavy": lambda rng: np.exp(4 * rng.standard_normal(5000)),
    "an outlier": lambda rng: np.append(rng.random(5000), 1e12),
    "ties": lambda rng: rng.integers(0, 90, 5000) ** 2 / 7,
    "far from zero": lambda rng: 1e9 + rng.random(5000),
    "both ends of the range": lambda rng: np.append(rng.standard_normal(5000), [-1.7e308, 1.7e308]),
}


@pytest.mark.parametrize("crowded", [False, True], ids=["", "cut again"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_the_same_as_sorting(name, weighted, crowded, monkeypatch):
    if crowded:
        monkeypatch.setattr(levels, "MOST_SORTED", 50)
    rng = np.random.default_rng(2)
    values = CASES[name](rng)
    weights = rng.choice([0.0, 1.0, 2.0, 5.0], values.size) if weighted else None
    with np.errstate(over="ignore"):
        found = LevelPolicy().choose(ArrayValues(values, weights))
    used = values if weights is None else values[weights > 0]
    expected = mv.Grid.quantile(used, 20, None if weights is None else weights[weights > 0])
    np.testing.assert_array_equal(found.points, expected.points)
    assert (found.lo, found.hi) == (used.min(), used.max())


def test_few_values_are_levels_as_they_are():
    values = np.array([3.0, 1.0, 1.0, 2.0, 9.0])
    assert LevelPolicy(few=4, levels=2).choose(ArrayValues(values)).points.tolist() == [1.0, 2.0, 3.0, 9.0]
    assert len(LevelPolicy(few=3, levels=2).choose(ArrayValues(values))) == 2
    assert LevelPolicy(few=3).choose(ArrayValues(values, np.array([1.0, 1, 1, 1, 0]))).points.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("weight", [0.1, 1 / 3, 3.0, 7e9, 1e-150, 1e150])
def test_one_weight_for_all_rows_is_none(weight):
    """Shares that running sums reach exactly must not hang on how 0.1 + 0.1 + … is rounded."""
    for rows in (200, 800, 1000, 2000):
        values = np.random.default_rng(rows).random(rows)
        plain = LevelPolicy().choose(ArrayValues(values))
        np.testing.assert_array_equal(LevelPolicy().choose(ArrayValues(values, np.full(rows, weight))).points, plain.points)


def numbers(seed=0, count=300):
    rng = np.random.default_rng(seed)
    return np.round(rng.gamma(2, 1, count), 1), rng.choice([0.0, 0.5, 1.0, 3.0], count)


@pytest.mark.parametrize("slice_", [7, 1 << 15])
def test_values_part_by_part(slice_, monkeypatch):
    monkeypatch.setattr(levels, "SLICE", slice_)
    values, weights = numbers()
    used, w = values[weights > 0], weights[weights > 0]
    looked, cut = ArrayValues(values, weights), levels.Cut(0.5, 4.5, 16)
    assert cut.scale == 4.0
    part = np.array([min(int((v - 0.5) * 4), 15) if 0.5 <= v <= 4.5 else -1 for v in used])
    seen = looked.histogram(cut)
    assert seen.part.tolist() == sorted(set(part) - {-1})
    for at, rows, weight in zip(*seen, strict=True):
        assert (rows, weight) == ((part == at).sum(), pytest.approx(w[part == at].sum()))
        assert looked.ends(cut, int(at)) == (used[part == at].min(), used[part == at].max())
    wanted = np.array([2, 3, 15])
    value, weight = looked.listed(cut, wanted)
    np.testing.assert_array_equal(value, used[np.isin(part, wanted)])
    np.testing.assert_array_equal(weight, w[np.isin(part, wanted)])
    assert looked.ends() == (used.min(), used.max())
    assert looked.distinct(np.unique(used).size).tolist() == sorted(set(used))
    assert looked.distinct(np.unique(used).size - 1) is None


@pytest.mark.parametrize("most", [3, 20, 2_000_000])
@pytest.mark.parametrize("count", [1, 4, 9, 20])
def test_the_value_at_which_a_share_is_reached(most, count, monkeypatch):
    monkeypatch.setattr(levels, "MOST_SORTED", most)
    for seed in range(4):
        values, weights = numbers(seed)
        used, w = values[weights > 0], weights[weights > 0]
        found = LevelPolicy(few=0, levels=count).choose(ArrayValues(values, weights)).points
        goals = [w.sum() * (k + 0.5) / count for k in range(count)]
        wanted = {min(v for v in used if w[used <= v].sum() >= goal) for goal in goals}
        assert found.tolist() == sorted(wanted)


def test_a_range_without_length_or_beyond_numbers_has_no_parts():
    assert levels.Cut(1.0, 1.0).scale == 0.0
    assert levels.Cut(-1.7e308, 1.7e308).scale == 0.0
    assert levels.Cut(1.0, 3.0, 8).scale == 4.0
    assert LevelPolicy(few=0).choose(ArrayValues(np.full(5, 2.0))).points.tolist() == [2.0]


def test_grids_as_they_are_given():
    first, second = mv.Grid([0.0, 1.0]), mv.Grid([0.5])
    assert levels.given_grids(first, 1) == (first,)
    assert levels.given_grids([first, second], 2) == (first, second)
    for grid, count, told in (
        (first, 2, "two Grids for a pair"),
        ([first], 2, "two Grids for a pair"),
        ([first, second], 3, "3 Grids"),
    ):
        with pytest.raises(mv.MultivalidError, match=told):
            levels.given_grids(grid, count)
    with pytest.raises(mv.MultivalidError, match="grid must be a Grid, got"):
        levels.given_grids([first], 1)
