"""What scope says rests on more than rounding and on more than a solver's error."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

import multivalid as mv
from multivalid.errors import InputError
from multivalid.properties import CVaR, DistortionRisk, Law, Mean, Shortfall, Variance
from multivalid.scope import Counterexample, FiniteWorld, certify, classify, falsify, scope, sensible
from multivalid.scope.evaluate import value_on


def pull(at: float, values: np.ndarray, weights: np.ndarray) -> float:
    return float((weights * np.where(values <= at, 0.2, 0.8) * (at - values)).sum())


def by_bisection(tolerance: float):
    def expectile(values, weights):
        lo, hi = values[0], values[-1]
        while hi - lo > tolerance:
            middle = (lo + hi) / 2
            lo, hi = (middle, hi) if pull(middle, values, weights) < 0 else (lo, middle)
        return (lo + hi) / 2

    return expectile


def by_brentq(tolerance: float):
    def expectile(values, weights):
        if values.size == 1:
            return values[0]
        return brentq(pull, values[0], values[-1], args=(values, weights), xtol=tolerance, rtol=tolerance)

    return expectile


def by_minimising(tolerance: float):
    def expectile(values, weights):
        def loss(at):
            return (weights * np.where(values <= at, 0.2, 0.8) * (at - values) ** 2).sum()

        return minimize_scalar(loss, bounds=(values[0], values[-1] + 1e-9), method="bounded", options={"xatol": tolerance}).x

    return expectile


@pytest.mark.parametrize("solver", [by_bisection, by_brentq, by_minimising])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-5, 1e-6, 1e-8])
def test_an_expectile_by_a_solver_is_not_impossible(solver, tolerance: float) -> None:
    for seed in range(1):
        assert scope(solver(tolerance), trials=60, seconds=None, seed=seed).status == "undecided"


@pytest.mark.parametrize("strength", [1.0, 0.5, 0.3])
def test_a_true_violation_is_still_found(strength: float) -> None:
    def utility(values, weights):
        mean = weights @ values
        return mean - strength * (weights @ (values - mean) ** 2)

    found = falsify(utility, trials=400, seconds=None).certificate
    assert found is not None
    assert found.verify()


def laws_of_mean(mean: float, rng: np.random.Generator) -> Law:
    low, high = mean * rng.random(), mean + (1 - mean) * rng.random()
    return Law.of([low, high], [high - mean, mean - low])


def test_no_certificate_of_a_shifted_mean() -> None:
    """Γ(P) = mean − c on laws of mean c: all values are roundings of zero, and none of them proves anything."""
    rng = np.random.default_rng(0)
    for shift in (0.5, 0.3, 0.1, 1e-3, 0.7, 1 / 3):
        for _ in range(66):
            with pytest.raises(InputError, match="prove nothing"):
                certify(lambda v, w, c=shift: w @ v - c, laws_of_mean(shift, rng), laws_of_mean(shift, rng), rng.uniform(0.1, 0.9))


@pytest.mark.parametrize("labels", [(1e6, 1e6 + 1), (1e9, 1e9 + 1), (-1e9, -1e9 + 1e-3), (0.0, 1e-5)])
def test_nothing_is_found_for_means_far_from_zero(labels: tuple[float, float]) -> None:
    for function in (lambda v, w: w @ v, lambda v, w: w @ (v - labels[0]), lambda v, w: w @ v - sum(labels) / 2):
        assert falsify(function, labels=labels, trials=60, seconds=None).certificate is None


@pytest.mark.parametrize("tau", [1e-9, 1e-6, 0.5, 1 - 1e-9])
def test_expected_shortfall_at_any_level(tau: float) -> None:
    verdict = scope(CVaR(tau))
    assert verdict.status == "jointly"
    assert verdict.certificate is not None
    assert verdict.certificate.verify()


def test_expected_shortfall_that_cannot_be_told_from_the_mean() -> None:
    verdict = scope("cvar:1e-13")
    assert (verdict.status, verdict.certificate) == ("jointly", None)


@pytest.mark.parametrize("at", [1e-13, 1e-9, 1e-6, 0.3, 1 - 1e-6, 1 - 1e-9])
def test_a_step_is_a_quantile_however_near_to_an_end(at: float) -> None:
    found = classify(DistortionRisk(lambda u: (u > at) * 1.0))
    assert found.kind == "quantile"
    assert found.tau == pytest.approx(1 - at, rel=1e-9)


def test_steps_at_the_very_ends_are_not_quantiles() -> None:
    assert classify(DistortionRisk(lambda u: (u > 0) * 1.0)).kind == "q2"
    assert classify(DistortionRisk(lambda u: (u >= 1) * 1.0)).kind == "q2"


def test_a_flat_loss_has_intervals_of_values() -> None:
    flat = scope(Shortfall(lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.1, 0.0)))
    steep = scope(Shortfall(np.expm1))
    assert "interval" in flat.hypotheses[0]
    assert "rises strictly" in steep.hypotheses[0]


@pytest.mark.parametrize("unit", [1e-30, 1e-5, 1.0, 1e5])
def test_sensible_in_any_unit(unit: float) -> None:
    coin = FiniteWorld.of({"x1": (0.5, Law.point(0)), "x2": (0.5, Law.point(unit))})
    tied = FiniteWorld.of({"a": (0.3, Law.of([0, unit], [0.3, 0.7])), "b": (0.7, Law.of([0.4 * unit, unit], [0.5, 0.5]))})
    assert not sensible(Variance(), [coin]).holds
    assert not sensible(Variance(), [tied, coin, tied]).holds
    for prop in (Mean(), mv.Expectile(0.8), mv.Quantile(0.6)):
        assert sensible(prop, [coin, tied]).holds
    assert sensible(lambda v, w: w @ v - 0.7 * unit, [coin, tied]).holds


def test_one_digit_of_a_mean_is_no_certificate() -> None:
    """Two laws of one mean to the last digit, whose mixture is off by the last digit: an affine mean, in any unit and far from 0."""
    random, told = np.random.default_rng(9), 0
    for _i in range(1200):
        slope = float(random.choice([-1.0, 1.0]) * 10 ** random.uniform(-6, 6))
        far, size = float(random.choice([0.0, 1e3, 1e9])), int(random.integers(2, 6))
        shift = float(random.choice([-far * slope, random.normal() * 10 ** random.uniform(-6, 9)]))

        def affine(values, weights, slope=slope, shift=shift):
            return float(slope * (weights @ values) + shift)

        weights = random.dirichlet(np.ones(size)), random.dirichlet(np.ones(size))
        values = random.random(size) + far, random.random(size) + far
        first, second = (
            Law.of(values[0], weights[0]),
            Law.of(values[1] + (weights[0] @ values[0] - weights[1] @ values[1]), weights[1]),
        )
        weight = float(random.uniform(0.1, 0.9))
        at = [value_on(affine, law) for law in (first, first.mix(second, weight))]
        told += Counterexample(first, second, weight, *at, affine).verify()
    assert told == 0
