"""Formulas of the table, each against a slow and obvious second writing: all outcomes of a few coins, sums in plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import multivalid as mv
from multivalid.cells.inference import mean_variance
from multivalid.cells.limits import ErrorLimits
from multivalid.cells.pearson import quantile
from multivalid.cells.statistics import CellStatistics
from multivalid.cells.sums import CellSums
from multivalid.cells.tilt import TiltedChances
from multivalid.cells.two_valued import coin_tails


def coin_sums(chance: np.ndarray, size: np.ndarray) -> dict[str, np.ndarray]:
    """One group, one level: the sums of weighted coins whose chance of a low value is given."""
    q = chance * (1 - chance)
    t = -q * (1 - 2 * chance)  # third moment of the high value
    made = {
        "u": size, "ur": size * chance, "uq": size * q, "ut": size * t, "u2": size**2, "u3": size**3,
        "u2q": size**2 * q, "u3t": size**3 * t, "u4q": size**4 * q,
    }  # fmt: skip
    return {name: np.array([[values.sum()]]) for name, values in made.items()}


@pytest.mark.parametrize("theta", [-1.7, 0.0, 0.6, 2.5])
def test_moments_of_tilted_coins_are_those_of_the_coins(theta):
    chance = np.array([0.1, 0.1, 0.1, 0.35, 0.35])  # two values: what the two points can represent without loss
    tilted = chance * np.exp(theta) / (1 - chance + chance * np.exp(theta))
    shift, variance, third = TiltedChances.of(coin_sums(chance, np.ones(5))).moments(np.array([theta]))
    assert shift[0] == pytest.approx((tilted - chance).sum(), abs=1e-9)
    assert variance[0] == pytest.approx((tilted * (1 - tilted)).sum(), abs=1e-9)
    assert third[0] == pytest.approx((tilted * (1 - tilted) * (1 - 2 * tilted)).sum(), abs=1e-9)


def test_tails_of_coins_of_unequal_size_are_near_those_of_all_outcomes():
    chance = np.full(12, 0.25)
    size = np.array([1.0] * 9 + [2.0, 2.0, 3.0])
    sums = {name: values[0] for name, values in coin_sums(chance, size).items()}
    outcomes = np.array(list(itertools.product((0, 1), repeat=12)))
    probability = np.prod(np.where(outcomes == 1, chance, 1 - chance), axis=1)
    total = ((chance - outcomes) * size).sum(axis=1)  # S = Σu(b − p) for the high value b = 1 − low
    for seen in np.unique(total)[[1, 4, -5, -2]]:
        low, high = coin_tails(sums, np.array([seen]), unequal=np.array([True]))
        exact_low = probability[total < seen - 1e-9].sum() + probability[np.isclose(total, seen)].sum() / 2
        assert low[0] == pytest.approx(exact_low, abs=0.06)
        assert high[0] == pytest.approx(1 - exact_low, abs=0.06)


def test_the_error_of_a_group_is_the_sum_of_mass_and_squared_mean():
    rng = np.random.default_rng(3)
    weight, residual = rng.uniform(1, 4, (3, 2)), rng.normal(size=(3, 2))
    weight[1, 1], residual[1, 1] = 0.0, 0.0  # a cell without rows
    sums = CellSums(4 * (weight > 0).astype(float), weight, weight**2 / 4, residual, residual**2, 0.3 * weight)
    found = CellStatistics.of(sums)
    for group in range(2):
        cells = [(weight[level, group], residual[level, group]) for level in range(3) if weight[level, group] > 0]
        assert found.errors[group] == pytest.approx(sum(w / weight[:, 0].sum() * (r / w) ** 2 for w, r in cells))
    assert found.group_prediction == pytest.approx([0.3, 0.3])


@pytest.mark.parametrize("skewness", [0.0, 0.04])
def test_limits_of_the_error_solve_their_equation(skewness):
    """Ê is `reach` standard deviations away from the limit, its spread being reckoned at the limit."""
    weight, v = np.array([[30.0, 8.0], [50.0, 20.0], [20.0, 2.0]]), np.array([[3.0, 2.0], [-9.0, 4.0], [2.5, 0.7]])
    row, whole = np.array([[0.2, 0.25], [0.21, 0.3], [0.16, 0.2]]), 100.0
    limits = ErrorLimits({"weight": weight, "v": v}, lambda bias: row * weight, row * weight, skewness)
    for group in range(2):
        noise = [row[j, group] / whole for j in range(3)]
        seen = sum(v[j, group] ** 2 / weight[j, group] / whole - noise[j] for j in range(3))
        assert limits.debiased[group] == pytest.approx(seen)
        mean = sum(weight[j, group] * noise[j] for j in range(3)) / weight[:, group].sum()
        size = [v[j, group] ** 2 / weight[j, group] + row[j, group] for j in range(3)]
        typical = max(mean, sum(s * n for s, n in zip(size, noise, strict=True)) / sum(size))
        for level, limit in ((0.05, limits.upper(0.05)[group]), (0.95, limits.lower(0.05)[group])):
            if limit == 0:
                continue
            variance = 4 * limit * typical + 2 * sum(n**2 for n in noise)
            third = 24 * limit * typical**2 + 8 * sum(n**3 for n in noise)
            reach = quantile(level, np.array(third / variance**1.5))
            if level < 0.5:
                reach = reach - abs(skewness) * (2 * reach**2 + 1) / 6
            assert max(seen, 0.0) - limit == pytest.approx(float(reach * np.sqrt(variance)), rel=1e-4)
    assert (limits.lower(0.05) < limits.debiased).all()
    assert (limits.upper(0.05) > limits.debiased).all()
    assert limits.lower(0.05)[0] > 0, "the case must be there"


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_the_variance_of_a_mean_is_the_same_in_any_unit_of_weights(unit):
    """v² less the mean of V_i·V_j over pairs of different rows; v² itself where one row has all the weight."""
    w, v = np.array([1.0, 2.0, 0.5, 3.0]) * unit, np.array([0.3, -1.0, 0.8, 0.1])
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    mean = np.average(v, weights=w)
    by_hand = mean**2 - sum(w[i] * w[j] * v[i] * v[j] for i, j in pairs) / sum(w[i] * w[j] for i, j in pairs)
    four = np.array([4.0])
    found = mean_variance(four, w.sum(keepdims=True), np.array([mean]), np.array([w @ w]), np.array([(w * v) @ (w * v)]))
    assert found[0] == pytest.approx(by_hand)
    alone = np.array([unit]), np.array([0.7]), np.array([unit**2]), np.array([(0.7 * unit) ** 2])
    assert mean_variance(four, *alone)[0] == pytest.approx(0.49)


def test_an_error_of_events_loses_what_their_own_spread_adds():
    """Ê = Σ (n·v̂² − s²)/N over levels, with s² = rate·(1 − rate)·n/(n − 1) of the labels there."""
    rng = np.random.default_rng(4)
    f = rng.choice([0.2, 0.3, 0.6], 400)
    y = (rng.random(400) < f + 0.1).astype(float)
    group = rng.random(400) < 0.1
    found = mv.audit(y, f, groups=[group]).coordinates[0].evidence.errors
    for k, mask in enumerate((np.ones(400, dtype=bool), group)):
        expected = 0.0
        for level in (0.2, 0.3, 0.6):
            there = y[mask & (f == level)]
            n, rate = there.size, there.mean()
            expected += (n * (level - rate) ** 2 - rate * (1 - rate) * n / (n - 1)) / 400
        assert found.debiased[k] == pytest.approx(expected, rel=1e-9)
