"""Each side of a pair against plain loops over rows: asymmetric grids, uneven weights, atoms in any order."""

from __future__ import annotations

import numpy as np
import pytest

from multivalid.grid import Grid
from multivalid.joint.sides import ConditionalSide, LabelRows, TargetSide
from multivalid.properties import Pair
from multivalid.scope import require

ATOMS, ROWS = 7, 120
FIRST, SECOND = Grid([-0.5, 0.25, 1.0]), Grid([0.1, 0.4, 1.1, 2.5, 3.0])


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    atom = rng.permutation(np.concatenate([np.arange(ATOMS), rng.integers(0, ATOMS, ROWS - ATOMS)]))
    return rng.normal(0.3, 1.0, ROWS), rng.choice([0.25, 1.0, 3.0], ROWS), atom


def side(kind: type, rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> TargetSide | ConditionalSide:
    labels, weights, atom = rows
    pair = require("mean_variance")
    assert isinstance(pair, Pair)
    by_atom = LabelRows(labels, weights, atom, ATOMS)
    if kind is ConditionalSide:
        return ConditionalSide(pair, by_atom, FIRST, SECOND)
    return TargetSide(pair, by_atom, np.bincount(atom, weights), FIRST, SECOND)


def naive(made: TargetSide | ConditionalSide, rows: tuple[np.ndarray, np.ndarray, np.ndarray], atom: int, place: int) -> float:
    """ΣwV¹ of one atom at one place, row by row."""
    labels, weights, owner = rows
    first, second = FIRST.points[place // 5], SECOND.points[place % 5]
    return sum(
        weights[i] * float(made.pair.identify_second(first, second, labels[i : i + 1])[0]) for i in range(ROWS) if owner[i] == atom
    )


@pytest.mark.parametrize("kind", [TargetSide, ConditionalSide])
def test_a_side_is_the_sum_over_its_rows(kind: type, rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    made = side(kind, rows)
    place = np.array([0, 4, 5, 9, 12, 14, 7])  # first and last levels of both grids among them
    made.prepare(place)
    np.testing.assert_allclose(made.everywhere(place), [naive(made, rows, a, int(p)) for a, p in enumerate(place)], rtol=1e-12)
    moved = place.copy()
    moved[[1, 5]] = [13, 2]  # two atoms change their first level: only they may change
    made.prepare(moved)
    np.testing.assert_allclose(made.everywhere(moved), [naive(made, rows, a, int(p)) for a, p in enumerate(moved)], rtol=1e-12)


@pytest.mark.parametrize("kind", [TargetSide, ConditionalSide])
def test_on_the_grid(kind: type, rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    made = side(kind, rows)
    chosen, at = np.array([5, 2, 3]), 8  # not in order; first level 1
    made.prepare(np.full(ATOMS, at))
    np.testing.assert_allclose(made.identify(chosen, at), [naive(made, rows, int(a), at) for a in chosen], rtol=1e-12)
    v, score = made.on_grid(chosen, at)
    wanted = [sum(naive(made, rows, int(a), 5 + j) for a in chosen) for j in range(5)]
    np.testing.assert_allclose(v, wanted, rtol=1e-12)
    # V¹ is linear in γ¹ here, so that the score rises by the trapezoid under it.
    np.testing.assert_allclose(np.diff(score), np.diff(SECOND.points) * (v[1:] + v[:-1]) / 2, rtol=1e-10)


def test_rows_of_atoms_are_found_with_their_owners(rows: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    labels, weights, atom = rows
    made = LabelRows(labels, weights, atom, ATOMS)
    chosen = np.array([6, 0, 3])
    found, owner = made.of(chosen)
    for k, a in enumerate(chosen):
        assert sorted(made.labels[found[owner == k]]) == sorted(labels[atom == a])
        assert made.weights[found[owner == k]].sum() == weights[atom == a].sum()
