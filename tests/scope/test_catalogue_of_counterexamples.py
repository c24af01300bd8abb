"""Every counterexample of the catalogue: values before and after mixing, to the digits printed."""

import math

import pytest

from multivalid.properties import (
    CentralMoment,
    CoefficientOfVariation,
    CVaR,
    DispersionIndex,
    DualPower,
    Entropy,
    ExponentialSpectral,
    GiniDeviation,
    InterquartileRange,
    Law,
    MeanAbsoluteDeviation,
    MeanVarianceUtility,
    MinVar,
    ProportionalHazard,
    RangeVaR,
    Skewness,
    Spectral,
    Std,
    Variance,
    Variantile,
    Wang,
)
from multivalid.scope import bernoulli_certificate, certify, falsify

COIN = (Law.point(0), Law.point(1))
SYMMETRIC = (Law.of([0, 0.2]), Law.of([0, 1]))
SURE = (Law.point(0.2), Law.point(0.8))
# functional, the two laws, value, value of the half-half mixture, decimals printed
PAIRS_OF_LAWS = [
    (Variance(), COIN, 0, 0.25, 12),
    (Std(), COIN, 0, 0.5, 12),
    (MeanAbsoluteDeviation(), COIN, 0, 0.5, 12),
    (GiniDeviation(), COIN, 0, 0.5, 12),
    (Entropy(), COIN, 0, math.log(2), 12),
    (InterquartileRange(), COIN, 0, 1, 12),
    (CentralMoment(4), COIN, 0, 0.0625, 12),
    (Variantile(0.8), COIN, 0, 0.08, 12),
    (CoefficientOfVariation(), SURE, 0, 0.6, 12),
    (DispersionIndex(), SURE, 0, 0.18, 12),
    (MeanVarianceUtility(0.5), (Law.point(0.375), Law.bernoulli(0.5)), 0.375, 0.37305, 5),
    (CentralMoment(3), SYMMETRIC, 0, 0.072, 12),
    (Skewness(), SYMMETRIC, 0, 1.02721, 5),
]
# functional, p, c = h(p), value of the half-half mixture of δ_c and Bernoulli(p), decimals printed
DISTORTIONS = [
    (CVaR(0.9), 0.05, 0.5, 0.625, 12),
    (CVaR(0.5), 0.25, 0.5, 0.625, 12),
    (CVaR(1 / 3), 1 / 3, 0.5, 0.625, 12),
    (CVaR(0.25), 0.375, 0.5, 0.58333, 5),
    (CVaR(0.1), 0.45, 0.5, 0.52778, 5),
    (RangeVaR(0.25, 0.75), 0.4, 0.3, 0.27, 12),
    (RangeVaR(0.5, 0.9), 0.3, 0.5, 0.5625, 12),
    (Wang(0.5), 0.5, 0.69146, 0.74132, 5),
    (Wang(1.0), 0.3, 0.68282, 0.78014, 5),
    (ProportionalHazard(2), 0.25, 0.5, 0.57206, 5),
    (DualPower(2), 0.5, 0.75, 0.8125, 12),
    (ExponentialSpectral(5), 0.2, 0.63641, 0.75286, 5),
    (Spectral((0, 0.5), (0.5, 0.5)), 0.25, 0.375, 0.42188, 5),
    (MinVar(2), 0.5, 0.25, 0.1875, 12),
]


@pytest.mark.parametrize(("functional", "laws", "value", "mixed", "digits"), PAIRS_OF_LAWS, ids=lambda x: repr(x)[:40])
def test_two_laws(functional, laws, value, mixed, digits):
    found = certify(functional, *laws)
    assert round(found.value, digits) == pytest.approx(value, abs=10.0**-12)
    assert round(found.mixture_value, digits) == pytest.approx(mixed, abs=10.0**-12)
    assert found.verify()


@pytest.mark.parametrize(("functional", "p", "value", "mixed", "digits"), DISTORTIONS, ids=lambda x: repr(x)[:40])
def test_point_mass_against_bernoulli(functional, p, value, mixed, digits):
    found = bernoulli_certificate(functional, p)
    assert round(found.value, digits) == pytest.approx(value, abs=10.0**-12)
    assert round(found.mixture_value, digits) == pytest.approx(mixed, abs=10.0**-12)
    closed_form = value_of_mixture(functional, p)
    assert found.mixture_value == pytest.approx(closed_form, abs=1e-14)


def value_of_mixture(functional, p):
    import numpy as np

    c, low, high = functional.distort(np.array([p, p / 2, (1 + p) / 2]))
    return c * high + (1 - c) * low


@pytest.mark.parametrize("tau", [0.1, 0.25, 0.3])
def test_cvar_below_one_third_follows_its_closed_form(tau):
    found = bernoulli_certificate(CVaR(tau), (1 - tau) / 2)
    assert found.mixture_value == pytest.approx(0.25 + 0.25 / (1 - tau), abs=1e-14)


@pytest.mark.parametrize("functional", [row[0] for row in PAIRS_OF_LAWS + DISTORTIONS], ids=repr)
def test_black_box_search_finds_it_within_50_trials(functional):
    # As a plain function of (values, weights): the search must not profit from knowing the class.
    search = falsify(lambda values, weights: functional.solve(values, weights), trials=50, seconds=None)
    assert search.certificate is not None
    assert search.certificate.verify(functional)
