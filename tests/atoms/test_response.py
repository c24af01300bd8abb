"""Sums over label bins answer for V and S on the whole grid, exactly as the rows themselves would."""

from __future__ import annotations

import numpy as np
import pytest

import multivalid as mv
from multivalid.atoms import response as module
from multivalid.atoms.response import Piecewise, Tabulated, response
from tests.properties.registry import REGISTRY, Case


def data(case: Case, rows: int = 80):
    rng = np.random.default_rng(9)
    ends = case.prop.facts(case.lo, case.hi).range
    grid = mv.Grid(np.sort(rng.uniform(ends.lo, ends.hi, 7)))
    labels = case.lo + case.length * rng.random(rows)
    on = grid.points[(grid.points >= case.lo) & (grid.points <= case.hi)]
    labels[: on.size] = on  # labels on grid points, where V may jump
    return grid, labels, rng.choice([0.5, 1.0, 2.0], rows)


def check(answer, prop, grid, labels, weights, tolerance=1e-12):
    """Entries, sums over entries, V and S with its constant: all against direct sums over the rows."""
    bins, moments = answer.encode(labels)
    entries = moments * weights[:, None]
    v, s = prop.identify(grid.points[:, None], labels), prop.score(grid.points[:, None], labels)
    size_v, size_s = 1 + np.abs(v).max(), 1 + np.abs(s).max()
    for level in range(len(grid)):
        got = answer.identify(bins, entries, level)
        np.testing.assert_allclose(got, weights * v[level], rtol=0, atol=tolerance * size_v * weights.max())
    sums = np.zeros((answer.bins, answer.width))
    np.add.at(sums, bins, entries)
    total = weights.sum()
    identify, score = answer.on_grid(sums)
    np.testing.assert_allclose(identify, v @ weights, rtol=0, atol=tolerance * size_v * total)
    constant = weights @ answer.score_constant(labels)
    np.testing.assert_allclose(score + constant, s @ weights, rtol=0, atol=tolerance * size_s * total)


@pytest.mark.parametrize("case", REGISTRY, ids=lambda case: case.name)
def test_equals_direct_sums(case):
    grid, labels, weights = data(case)
    answer = response(case.prop, grid, labels)
    assert isinstance(answer, Piecewise if case.prop.moments(labels) is not None else Tabulated)
    check(answer, case.prop, grid, labels, weights)


def test_tables_too_large_to_keep(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_TABLE", 10)
    prop = mv.LpQuantile(1.5, 0.3)
    grid, labels, weights = data(Case(prop))
    check(response(prop, grid, labels), prop, grid, labels, weights)


@pytest.mark.parametrize("prop", [mv.Mean(), mv.Quantile(0.9), mv.Expectile(0.8), mv.Huber(0.2), mv.LpQuantile(3, 0.7)], ids=repr)
def test_a_large_offset_costs_no_digits(prop):
    """Labels around 1e9: differences of the score between levels are what the algorithms compare, and they keep their digits."""
    rng = np.random.default_rng(10)
    offset = 2.0**30
    small, points = rng.integers(0, 257, 1000) / 256, np.arange(9) / 8
    far = response(prop, mv.Grid(points + offset), small + offset)
    near = response(prop, mv.Grid(points), small)
    answers = []
    for answer, labels in ((far, small + offset), (near, small)):
        bins, moments = answer.encode(labels)
        sums = np.zeros((answer.bins, answer.width))
        np.add.at(sums, bins, moments)
        identify, score = answer.on_grid(sums)
        answers.append((identify, np.diff(score)))
    # Breakpoints of Huber's V are rounded to the spacing of doubles near the offset, 1e-7.
    for got, expected in zip(*answers, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-9)


def test_a_label_a_hair_above_a_level_is_not_covered():
    points, hair = np.array([0.3, 0.9, 0.95]), np.nextafter(0.3, 1)
    answer = response(mv.Quantile(0.5), mv.Grid(points), np.array([hair]))
    bins, moments = answer.encode(np.array([hair]))
    assert answer.identify(bins, moments, 0)[0] == -0.5
    assert answer.identify(bins, moments, 1)[0] == 0.5
