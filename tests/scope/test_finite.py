"""Finite worlds: the true predictor is calibrated exactly when level sets are convex."""

import numpy as np
import pytest

from multivalid.errors import InputError
from multivalid.properties import CVaR, Entropic, Expectile, Law, Mean, Quantile, QuantileMix, Variance
from multivalid.scope import FiniteWorld, sensible
from multivalid.scope.finite import EVERYONE


def tied_world(functional, random, ties=4):
    """A world of laws with one Γ: each is moved so that Γ is zero, then two other laws are added."""
    points = {}
    for k in range(ties):
        y, w = random.normal(size=5), random.dirichlet(np.ones(5))
        points[f"x{k}"] = (random.uniform(0.1, 1), Law.of(y - functional.solve(y, w), w))
    points["a"], points["b"] = (0.3, Law.of(random.normal(size=3) + 5)), (0.4, Law.of(random.normal(size=3) - 5))
    return FiniteWorld.of(points)


@pytest.mark.parametrize("functional", [Expectile(0.8), Mean(), Quantile(0.3), Entropic(0.7), QuantileMix(0.5, 0.3)], ids=repr)
def test_convex_level_sets_are_sensible_on_50_worlds(functional):
    random = np.random.default_rng(1)
    result = sensible(functional, [tied_world(functional, random) for _ in range(50)])
    assert result.holds
    assert (result.checked, result.gap <= 1e-9) == (50, True)


def test_cvar_is_not():
    random = np.random.default_rng(1)
    result = sensible(CVaR(0.7), [tied_world(CVaR(0.7), random) for _ in range(20)])
    assert not result.holds
    assert result.gap > 0.01


def test_every_group_is_checked_and_weights_matter():
    world = FiniteWorld.from_table(["a", "a", "b", "b", "c"], [0, 1, 0, 1, 1], [3, 1, 1, 1, 2])
    assert world.masses == pytest.approx((0.5, 0.25, 0.25))
    truth = world.true_predictor(Mean())
    assert truth == pytest.approx([0.25, 0.5, 1])
    check = world.check(Mean(), [0.5, 0.5, 0.5], {"a": [True, False, False], "bc": [False, True, True], "none": [False] * 3})
    assert check.errors == pytest.approx({EVERYONE: 0.0, "a": 0.5 * 0.25**2, "bc": 0.5 * 0.25**2})
    assert check.worst.gap == 0.25
    assert not check.holds
    assert world.check(Mean(), truth, {"a": [True, False, False]}).holds


def test_ties_within_rounding_are_one_level():
    world = FiniteWorld.of({"x1": (0.5, Law.point(0)), "x2": (0.5, Law.point(1))})
    assert len(world.check(Variance(), [0.0, 1e-12]).cells) == 1
    assert len(world.check(Variance(), [0.0, 1e-12], tie=0).cells) == 2


def test_bad_worlds_are_refused():
    with pytest.raises(InputError, match="empty"):
        FiniteWorld.of({})
    with pytest.raises(InputError, match="mass of 'a'"):
        FiniteWorld.of({"a": (0, Law.point(0))})
    with pytest.raises(InputError, match="prediction"):
        FiniteWorld.of({"a": (1, Law.point(0))}).check(Mean(), [1, 2])
    with pytest.raises(InputError, match="worlds is empty"):
        sensible(Mean(), [])
