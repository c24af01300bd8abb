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
