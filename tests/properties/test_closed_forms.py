"""Constants of every property, values of V and S, and functionals of one law: all written out by hand on lopsided numbers."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import ceil, exp, expm1, log, sqrt

import numpy as np
import pytest

import multivalid as mv
from multivalid import properties as library
from multivalid.errors import InputError, PropertyError
from multivalid.properties import custom
from multivalid.properties.base import Interval
from multivalid.properties.custom import RightDerivative
from multivalid.properties.function import Function
from multivalid.properties.law import Law, normal_form
from multivalid.properties.pairs.sides import check_sides
from multivalid.properties.quadrature import integrate
from multivalid.properties.quantile import running_shares
from multivalid.properties.tail_risk import trimmed_mean

E = exp(0.5), exp(2.0)  # e^{y/2} at the ends of [1, 4]
RISE = (E[1] - E[0]) / 0.25 - 3 * E[0] / 0.5, (E[0] - E[1]) / 0.25 + 3 * E[1] / 0.5


# ---- constants for labels in [1, 4]: range, C, L, L_a, B --------------------------------------------------------------
@pytest.mark.parametrize(
    ("prop", "ends", "bound", "lipschitz", "anti", "span"),
    [
        (mv.Mean(), (1, 4), 3, 1, 1, 4.5),
        (mv.Quantile(0.8), (1, 4), 0.8, None, None, 2.4),
        (mv.Quantile(0.3), (1, 4), 0.7, None, None, 2.1),
        (mv.Expectile(0.8), (1, 4), 4.8, 1.6, 2.5, 7.2),
        (mv.Expectile(0.3), (1, 4), 4.2, 1.4, 1 / 0.6, 6.3),
        (mv.Huber(0.5), (1, 4), 0.5, 1, None, 0.125 + 0.5 * 2.5),
        (mv.Huber(5.0), (1, 4), 3, 1, None, 4.5),
        (mv.LpQuantile(3, 0.7), (1, 4), 3 * 0.7 * 9, 6 * 0.7 * 3, None, 0.7 * 27),
        (mv.LpQuantile(2, 0.7), (1, 4), 2 * 0.7 * 3, 2 * 0.7, 1 / 0.6, 0.7 * 9),
        (mv.LpQuantile(1.5, 0.7), (1, 4), 1.5 * 0.7 * sqrt(3), None, sqrt(3) / (0.75 * 0.3), 0.7 * 3**1.5),
        (mv.LpQuantile(1.5, 0.2), (1, 4), 1.5 * 0.8 * sqrt(3), None, sqrt(3) / (0.75 * 0.2), 0.8 * 3**1.5),
        (mv.Entropic(0.5), (1, 4), (E[1] - E[0]) / 0.5, E[1], 1 / E[0], max(RISE)),
        (mv.GeometricMean(), (1, 4), log(4), 1, 4, 3 * log(4)),
        (mv.Moment(2), (1, 16), 15, 1, 1, 15**2 / 2),
        (mv.EventProbability(2, 3), (0, 1), 1, 1, 1, 0.5),
        (mv.Ratio(2, 1), (1, 4), 12, 4, 1, 18),
        (mv.Ratio(1, 2), (0.25, 1), 12, 16, 1, 16 * 0.75**2 / 2),
    ],
    ids=repr,
)
def test_constants(prop, ends, bound, lipschitz, anti, span):
    facts = prop.facts(1, 4)
    assert facts.labels == (1, 4)
    assert facts.range == pytest.approx(ends)
    assert facts.bound == pytest.approx(bound, rel=1e-12)
    assert facts.span == pytest.approx(span, rel=1e-12)
    for found, wanted in ((facts.lipschitz, lipschitz), (facts.anti_lipschitz, anti)):
        assert found is None if wanted is None else found == pytest.approx(wanted, rel=1e-12)


def test_constants_of_other_ranges():
    low = mv.Entropic(-0.5).facts(1, 4)
    assert (low.bound, low.lipschitz) == pytest.approx((2 * (exp(-0.5) - exp(-2)), exp(-0.5)))
    assert low.anti_lipschitz == pytest.approx(exp(2))
    assert mv.GeometricMean().facts(2, 5).lipschitz == 0.5
    assert mv.Moment(2).facts(-2, 3).range == (0, 9)
    assert mv.Moment(3).facts(-2, 3).range == (-8, 27)
    assert mv.Moment(2, range=(-1, 20)).facts(1, 4).bound == 21
    touching = mv.Ratio(2, 1).facts(0, 4)  # the denominator is 0 at an end
    assert (touching.anti_lipschitz, touching.lipschitz, touching.range.hi) == (None, 4, 4)


def test_constants_of_a_shortfall():
    facts = mv.Shortfall(np.expm1).facts(1, 4)
    assert facts.bound == pytest.approx(expm1(3))
    assert facts.span == pytest.approx(exp(3) - 4)  # ∫ of e^x − 1 from 0 to 3
    assert exp(3) < facts.lipschitz < exp(3) * 1.003
    assert exp(3) < facts.anti_lipschitz < exp(3) * 1.003
    bent = mv.Shortfall(lambda x: np.where(x > 0, 3 * x, x / 2)).facts(1, 4)
    assert (bent.bound, bent.lipschitz, bent.anti_lipschitz) == pytest.approx((9, 3, 2))
    assert bent.span == pytest.approx(3 * 9 / 2)
    other = mv.Shortfall(lambda x: np.where(x > 0, x / 2, 3 * x)).facts(1, 4)
    assert (other.bound, other.span) == pytest.approx((9, 3 * 9 / 2))
    assert mv.Shortfall(lambda x: np.clip(x, -1, 1)).facts(1, 4).anti_lipschitz is None
    assert mv.Shortfall(lambda x: np.clip(x, -1, 1)).flat
    assert not mv.Shortfall(np.expm1).flat


# ---- pairs on [1, 4]: range, C¹, L¹, L_c, B¹, c ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("pair", "ends", "bound", "own", "conditional", "span", "scale"),
    [
        (mv.MeanVariance(), (0, 9), 9, 1, 6, 40.5, 2),
        (mv.MeanStd(), (0, 3), 9, 6, 6, 18, None),
        (mv.MeanMoment(2), (0, 9), 9, 1, 6, 40.5, 2),
        (mv.MeanMoment(3), (-27, 27), 54, 1, 27, 54**2 / 2, None),
        (mv.MeanMoment(4), (0, 81), 81, 1, 108, 81**2 / 2, None),
        (mv.MeanMAD(), (0, 3), 3, 1, 1, 4.5, None),
        (mv.QuantileCVaR(0.8), (1, 16), 15, 1, 4, 112.5, 5),
        (mv.QuantileCVaR(0.2), (1, 4.75), 3.75, 1, 1, 3.75**2 / 2, 1.25),
        (mv.LowerQuantileCVaR(0.8), (-11, 4), 15, 1, 4, 112.5, 5),
        (mv.QuantileSpectral(0.8, 0.4), (1, 8.8), 7.8, 1, 1.6, 7.8**2 / 2, 2),
        (mv.ExpectileVariantile(0.8), (0, 7.2), 7.2, 1, 4.8, 7.2**2 / 2, 1),
        (mv.ExpectileVariantile(0.3), (0, 6.3), 6.3, 1, 4.2, 6.3**2 / 2, 1),
        (mv.QuantileIQR(0.3, 0.8), (-3, 3), 0.8, None, None, 4.8, None),
        (mv.QuantileIQR(0.1, 0.3), (-3, 3), 0.7, None, None, 4.2, None),
        (mv.BayesPair(mv.Mean()), (0, 4.5), 4.5, 1, 3, 4.5**2 / 2, 1),
        (mv.BayesPair(mv.Quantile(0.8)), (0.2, 3.2), 3, 1, 0.8, 4.5, 1),
    ],
    ids=repr,
)
def test_constants_of_pairs(pair, ends, bound, own, conditional, span, scale):
    facts = pair.facts(1, 4)
    assert facts.second_range == pytest.approx(ends)
    found = facts.second_bound, facts.second_lipschitz, facts.conditional_lipschitz, facts.second_span, facts.bayes_scale
    for one, wanted in zip(found, (bound, own, conditional, span, scale), strict=True):
        assert one is None if wanted is None else one == pytest.approx(wanted, rel=1e-12)


def test_constants_of_a_users_pair():
    pair = mv.Pair.from_identification(mv.Mean(), lambda g, s, y: s**2 - (y - g) ** 2, range=(0, 5), labels=(1, 4), lipschitz=10)
    facts = pair.facts(1, 4)
    assert (facts.second_range, facts.second_bound, facts.second_span) == ((0, 5), 25, 125)
    assert (facts.second_lipschitz, facts.conditional_lipschitz) == (10, None)
    assert "pass conditional_lipschitz where" in facts.reason
    assert float(pair.score_second(2.0, 3.0, 2.5)) == pytest.approx(9 - 0.25 * 3)
    assert pair.solve_second(2.0, [1.0, 4.0], [3, 1]) == pytest.approx(sqrt(7 / 4), rel=1e-12)


# ---- V and S -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("prop", "low", "high"),  # (V, S) at prediction 2 for the labels 0.5 and 4
    [
        (mv.Mean(), (1.5, 1.125), (-2, 2)),
        (mv.Quantile(0.8), (0.2, 0.4), (-0.8, 2.4)),
        (mv.Expectile(0.8), (0.4 * 1.5, 0.2 * 2.25), (-1.6 * 2, 0.8 * 4)),
        (mv.Huber(0.5), (0.5, 0.125 + 0.5), (-0.5, 0.125 + 0.75)),
        (mv.Huber(1.75), (1.5, 1.125), (-1.75, 1.75**2 / 2 + 1.75 * 0.25)),
        (mv.LpQuantile(3, 0.7), (3 * 0.3 * 2.25, 0.3 * 1.5**3), (-3 * 0.7 * 4, 0.7 * 8)),
        (
            mv.Entropic(0.5),
            (2 * (exp(1) - exp(0.25)), 4 * exp(1) - 4 * exp(0.25)),
            (2 * (exp(1) - exp(2)), 4 * exp(1) - 4 * exp(2)),
        ),
        (mv.GeometricMean(), (log(4), 2 * (log(4) - 1)), (log(0.5), 2 * (log(0.5) - 1))),
        (mv.Moment(2), (1.75, 1.75**2 / 2), (-14, 98)),
        (mv.EventProbability(0.5, 3), (1, 0.5), (2, 2)),
        (mv.Ratio(2, 1), (1 - 0.25, 0.5 * 2 - 0.5), (8 - 16, 4 * 2 - 32)),
        (mv.Shortfall(np.expm1), (-expm1(-1.5), exp(-1.5) + 1.5 - 1), (-expm1(2), exp(2) - 3)),
    ],
    ids=repr,
)
def test_values_of_v_and_s(prop, low, high):
    for label, (v, s) in ((0.5, low), (4.0, high)):
        assert float(prop.identify(2.0, label)) == pytest.approx(v, rel=1e-12)
        assert float(prop.score(2.0, label)) == pytest.approx(s, rel=1e-12)


@pytest.mark.parametrize(
    ("pair", "low", "high"),  # target, V¹, S¹ at predictions (2, 3) for the labels 0.5 and 4
    [
        (mv.MeanVariance(), (2.25, 0.75, 0.28125), (4, -1, 0.5)),
        (mv.MeanMoment(3), (-3.375, 6.375, 6.375**2 / 2), (8, -5, 12.5)),
        (mv.MeanMAD(), (1.5, 1.5, 1.125), (2, 1, 0.5)),
        (mv.QuantileCVaR(0.75), (2, 1, 0.5), (10, -7, 24.5)),
        (mv.LowerQuantileCVaR(0.75), (-4, 7, 24.5), (2, 1, 0.5)),
        (mv.QuantileSpectral(0.75, 0.4), (0.8 + 0.3, 1.9, 1.9**2 / 2), (4 + 2.4, -3.4, 3.4**2 / 2)),
        (mv.ExpectileVariantile(0.8), (0.45, 2.55, 2.55**2 / 2), (3.2, -0.2, 0.02)),
        (mv.BayesPair(mv.Mean()), (1.125, 1.875, 1.875**2 / 2), (2, 1, 0.5)),
        (mv.MeanStd(), (None, 6.75, 9 - 3 * 2.25), (None, 5, 9 - 12)),
        (mv.QuantileIQR(0.3, 0.8), (None, 0.2, 0.6), (None, 0.2, 0.6)),
    ],
    ids=repr,
)
def test_values_of_the_second_coordinate(pair, low, high):
    for label, (target, v, s) in ((0.5, low), (4.0, high)):
        if target is not None:
            assert float(pair.target(2.0, label)) == pytest.approx(target, rel=1e-12)
        assert float(pair.identify_second(2.0, 3.0, label)) == pytest.approx(v, rel=1e-12)
        assert float(pair.score_second(2.0, 3.0, label)) == pytest.approx(s, rel=1e-12)
    assert float(mv.QuantileIQR(0.3, 0.8).identify_second(2.0, 1.5, 4.0)) == pytest.approx(-0.8)
    assert float(mv.QuantileIQR(0.3, 0.8).score_second(2.0, 1.5, 4.0)) == pytest.approx(0.3 + 0.5)


def test_second_coordinates_of_many_laws_at_once():
    rng = np.random.default_rng(0)
    sizes = [3, 1, 6, 4]
    starts = np.cumsum([0, *sizes[:-1]])
    labels = np.concatenate([np.sort(rng.integers(0, 9, n) / 2) for n in sizes])
    weights, first = rng.choice([0.5, 1.0, 3.0], labels.size), rng.uniform(0, 4, 4)
    said = np.column_stack([rng.uniform(0, 4, labels.size), rng.uniform(0, 4, labels.size)])
    for pair in (mv.MeanVariance(), mv.MeanStd(), mv.QuantileIQR(0.3, 0.8), mv.QuantileCVaR(0.7)):
        cells, groups = pair.solve_cells(labels, said, weights, starts), pair.solve_groups(labels, said, weights, starts)
        many = pair.solve_second_segments(first, labels, weights, starts)
        for k, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            y, w, p = (column[start : start + size] for column in (labels, weights, said))
            assert many[k] == pytest.approx(pair.solve_second(first[k], y, w), rel=1e-12)
            truth = pair.solve(y, w)
            v = np.average(pair.identify_second(truth[0], p[:, 1], y), weights=w)
            assert cells[:, k] == pytest.approx([*truth, v], rel=1e-12, abs=1e-12)
            whole = np.average(pair.target(p[:, 0], y), weights=w) if pair.has_target else truth[1]
            assert groups[:, k] == pytest.approx([truth[0], whole], rel=1e-12)


@pytest.mark.parametrize(("crossed", "most", "refused"), [(2, 0.2, False), (3, 0.2, True), (0, 0.0, False), (1, 0.0, True)])
def test_a_share_of_crossed_forecasts_may_be_repaired(crossed, most, refused):
    value, shortfall = np.zeros(10), np.ones(10)
    shortfall[:crossed] = -1
    if refused:
        with pytest.raises(InputError, match=f"{crossed} of 10 rows break this"):
            check_sides(np.zeros(10), value, shortfall, 0.9, losses=True, most=most)
    else:
        check_sides(np.zeros(10), value, shortfall, 0.9, losses=True, most=most)


SIGNS = [(400, 16, True), (400, 33, True), (400, 34, False), (400, 7, True), (400, 6, False), (240, 12, True), (239, 12, False)]


@pytest.mark.parametrize(("rows", "turned", "refused"), SIGNS)
def test_outcomes_of_the_wrong_sign(rows, turned, refused):
    """Five in a hundred are expected beyond value at risk: 20 ± 3·√20 of 400, and at least 12."""
    outcome = np.full(rows, 0.5)
    outcome[:turned] = -2.0
    found = [np.ones(rows), np.full(rows, 3.0)]
    if refused:
        with pytest.raises(InputError, match=f"none of {rows} lies beyond .* {turned} do"):
            check_sides(outcome, *found, 0.95, losses=True)
        outcome[-1] = 1.5
    check_sides(outcome, *found, 0.95, losses=True)


# ---- functionals of one law -------------------------------------------------------------------------------------------
VALUES, SHARES = [1.0, 2.0, 4.0, 8.0], [0.1, 0.4, 0.3, 0.2]
MEAN = 3.7  # 0.1 + 0.8 + 1.2 + 1.6
MOMENTS = {k: sum(p * (y - MEAN) ** k for y, p in zip(VALUES, SHARES, strict=True)) for k in (2, 3, 4, 5)}
SURVIVAL = [(0.9, 1.0), (0.5, 2.0), (0.2, 4.0)]  # P(Y ≥ next value), and how far the next value is


def distorted(h):
    return VALUES[0] + sum(h(u) * step for u, step in SURVIVAL)


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("Variance", (), MOMENTS[2]),
        ("Std", (), sqrt(MOMENTS[2])),
        ("CentralMoment", (5,), MOMENTS[5]),
        ("Skewness", (), MOMENTS[3] / MOMENTS[2] ** 1.5),
        ("Kurtosis", (), MOMENTS[4] / MOMENTS[2] ** 2),
        ("MeanAbsoluteDeviation", (), 0.1 * 2.7 + 0.4 * 1.7 + 0.3 * 0.3 + 0.2 * 4.3),
        ("CoefficientOfVariation", (), sqrt(MOMENTS[2]) / MEAN),
        ("DispersionIndex", (), MOMENTS[2] / MEAN),
        ("MeanVarianceUtility", (0.3,), MEAN - 0.3 * MOMENTS[2]),
        ("InterquartileRange", (0.2, 0.9), 8 - 2),
        ("MedianAbsoluteDeviation", (), 1.0),  # distances to 2 are 1, 0, 2, 6
        ("Range", (), 7),
        ("GiniDeviation", (), 2 * (0.1 * 0.9 * 1 + 0.5 * 0.5 * 2 + 0.8 * 0.2 * 4)),
        ("Mode", (), 2),
        ("Entropy", (), -sum(p * log(p) for p in SHARES)),
        ("CVaR", (0.7,), (0.1 * 4 + 0.2 * 8) / 0.3),
        ("RangeVaR", (0.3, 0.9), (0.2 * 2 + 0.3 * 4 + 0.1 * 8) / 0.6),
        ("Spectral", ((0.0, 0.7), (0.4, 0.6)), 0.4 * MEAN + 0.6 * 2.0 / 0.3),
        ("QuantileMix", (0.5, 0.3), 0.3 * 2 + 0.7 * 4),
        ("EndpointMix", (0.3,), 0.3 * 1 + 0.7 * 8),
        ("ProportionalHazard", (3.0,), distorted(lambda u: u ** (1 / 3))),
        ("DualPower", (3.0,), distorted(lambda u: 1 - (1 - u) ** 3)),
        ("MinVar", (3.0,), distorted(lambda u: u**3)),
        ("ExponentialSpectral", (2.0,), distorted(lambda u: (1 - exp(-2 * u)) / (1 - exp(-2)))),
    ],
    ids=str,
)
def test_functionals_by_hand(name, arguments, value):
    functional = getattr(library, name)(*arguments)
    labels, weights = [8.0, 1.0, 2.0, 4.0, 2.0], [0.4, 0.2, 0.3, 0.6, 0.5]  # in disorder, one value twice, weights of sum two
    assert functional.solve(labels, weights) == pytest.approx(value, rel=1e-12)


def test_distortions_of_a_function():
    from statistics import NormalDist

    normal = NormalDist()
    assert library.Wang(0.4).solve(VALUES, SHARES) == pytest.approx(
        distorted(lambda u: normal.cdf(normal.inv_cdf(u) + 0.4)), rel=1e-12
    )
    many = np.linspace(0, 1, 6001)
    few = np.concatenate([library.Wang(0.4).distort(part) for part in np.array_split(many, 3)])
    np.testing.assert_allclose(library.Wang(0.4).distort(many), few, rtol=1e-12, atol=1e-15)
    cubic = library.DistortionRisk.from_spectrum(lambda u: 5 * u**3)  # h(u) = 1 − (1 − u)⁴
    assert cubic.solve(VALUES, SHARES) == pytest.approx(distorted(lambda u: 1 - (1 - u) ** 4), rel=1e-12)
    for wrong in (lambda u: u + 1e-11 * (u == 0), lambda u: u - 1e-11 * (u == 1)):
        with pytest.raises(PropertyError, match="h must have"):
            library.DistortionRisk(wrong)
    with pytest.raises(PropertyError, match=r"just above 0\.5"):
        library.DistortionRisk(lambda u: np.where(u == 513 / 1024, 0.5 - 1e-11, u))
    assert trimmed_mean(0.2).solve([0, 1, 5, 90, 7]) == pytest.approx(13 / 3)


def test_laws():
    law = Law.of([4, 1, 4, 9], [1, 2, 3, 0])
    assert (law.values, law.weights) == ((1.0, 4.0), pytest.approx((1 / 3, 2 / 3)))
    mixed = law.mix(Law.bernoulli(0.3), 0.4)
    assert mixed.values == (0.0, 1.0, 4.0)
    assert mixed.weights == pytest.approx((0.6 * 0.7, 0.4 / 3 + 0.6 * 0.3, 0.8 / 3))
    values, weights = normal_form([2.0, 2.0, 1.0], [1e300, 2e300, 1e300])
    assert (values.tolist(), weights.tolist()) == ([1.0, 2.0], [0.25, 0.75])


# ---- quantiles of many laws --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [1, 2, 3, 7, 10, 49])
def test_quantiles_of_counted_labels_at_every_tie(count):
    labels = np.arange(count) * 10.0
    for k in range(1, count):
        tau = k / count
        assert mv.Quantile(tau).solve(labels) == labels[k - 1], "a share of exactly τ is enough"
        assert mv.Quantile(tau * (1 + 1e-9)).solve(labels) == labels[k]
    for tau in (0.013, 0.37, 0.5, 0.921):
        assert mv.Quantile(tau).solve(labels) == labels[ceil(Fraction(tau) * count) - 1]


def test_quantiles_of_weighted_labels_of_many_laws():
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 9, 40)
    starts = np.cumsum(np.append(0, sizes[:-1]))
    labels = np.concatenate([np.sort(rng.integers(0, 6, n)) for n in sizes]).astype(float)
    weights = rng.integers(1, 9, labels.size) / 8 * np.repeat(2.0 ** rng.integers(-40, 40, 40), sizes)
    shares = running_shares(weights, starts, sizes)
    for tau in (Fraction(1, 4), Fraction(1, 2), Fraction(5, 8)):
        found = mv.Quantile(float(tau)).solve_segments(labels, weights, starts)
        for law, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            w = [Fraction(x) for x in weights[start : start + size]]
            exact = [Fraction(sum(w[: i + 1]), sum(w)) for i in range(size)]
            np.testing.assert_allclose(shares[start : start + size], [float(x) for x in exact], rtol=1e-15)
            first = next(i for i, share in enumerate(exact) if share >= tau)
            assert found[law] == labels[start + first]


def test_expectiles_of_many_laws_are_roots():
    rng = np.random.default_rng(2)
    for offset in (0.0, 1e7):
        for tau in (0.1, 0.5, 0.83):
            y = np.sort(rng.integers(0, 20, 15)) + offset
            w = rng.choice([0.5, 1.0, 4.0], 15)
            root = mv.Expectile(tau).solve(y, w)
            v = sum(b * (2 * (1 - tau) if a <= root else 2 * tau) * (root - a) for a, b in zip(y, w, strict=True))
            assert v == pytest.approx(0, abs=1e-7 if offset else 1e-12)


# ---- what a user's own functions become --------------------------------------------------------------------------------
def test_a_derivative_from_the_right():
    cubic = RightDerivative(lambda g, y: g**3 - y * g, 0.5)
    assert float(cubic(np.array(2.0), np.array(3.0))) == pytest.approx(9.0, rel=1e-13)
    quartic = RightDerivative(lambda g, y: g**4, 0.5, convex=False)
    assert float(quartic(np.array(1.0), np.array(0.0))) == pytest.approx(4 + 0.5**3 / 8, rel=1e-12)  # what the weights leave
    bent = RightDerivative(lambda g, y: np.abs(g - y), 0.5)
    assert [float(bent(np.array(g), np.array(1.0))) for g in (0.8, 0.9, 0.95, 1.0, 1.1)] == pytest.approx([-1, -1, -0.4, 1, 1])
    free = RightDerivative(lambda g, y: np.abs(g - y), 0.5, convex=False)
    assert float(free(np.array(0.8), np.array(1.0))) == pytest.approx((0.2 + 6 * 0.6 - 8 * 1) / 3)


def test_integrals():
    starts, stops = np.array([0.0, 2.0, 1.0]), np.array([3.0, -1.0, 1.0])
    np.testing.assert_allclose(
        integrate(lambda x: x**5 - 2 * x, starts, stops), [121.5 - 9, -10.5 + 3, 0.0], rtol=1e-13, atol=1e-13
    )


def test_where_a_users_function_lies():
    seen = Function(lambda y: np.where(y == 0, -5.0, y**2), "g").range(-1.0, 1.7)
    assert (seen.lo, seen.hi) == (-5.0, pytest.approx(2.89))
    assert Function(3, "g").range(-2.0, 1.0) == (-8.0, 1.0)


@pytest.mark.parametrize(("factor", "refused"), [(1.0, False), (1.1, True), (0.9, True)])
def test_a_score_must_be_the_integral_of_v(factor, refused):
    def build():
        return mv.Property.from_identification(lambda g, y: g - y, score=lambda g, y: factor * (g - y) ** 2 / 2, range=(0, 2))

    if refused:
        with pytest.raises(PropertyError, match="disagree"):
            build()
    else:
        assert build().facts(0, 2).bound == 2.0


def test_constants_of_a_users_property():
    prop = mv.Property.from_identification(lambda g, y: 2 * (g - y), range=(0, 3), labels=(-1, 5))
    facts = prop.facts(-2, 4)
    assert (facts.labels, facts.range) == ((-1, 4), (0, 3))
    assert (facts.bound, facts.span) == (8.0, 24.0)
    assert prop.facts(0.5, 9).labels == (0.5, 5)
    assert custom._mesh(Interval(0, 1), Interval(2, 4))[0].shape == (129, 129)


@pytest.mark.parametrize("v", [lambda g, y: g + 0.01 * np.sign(0.5 - g) * (y > 0.7) - y, lambda g, y: y - g, lambda g, y: y - 0.5])
def test_a_v_that_falls_is_refused(v):
    with pytest.raises(PropertyError, match=r"not monotone|wrong orientation|constant"):
        mv.Property.from_identification(v)


# ---- several columns ---------------------------------------------------------------------------------------------------
def test_classes_by_hand():
    kinds = mv.Classes(["a", "b", "c"])
    assert kinds.solve(["a", "b", "b", "c"], [1, 2, 3, 4]) == pytest.approx([0.1, 0.5, 0.4])
    said = np.array([[0.2, 0.5, 0.3], [0.0, 0.6, 0.4], [1e-8, 0.4, 0.6]])
    assert kinds.losses(said, np.array([1.0, 0.0, 0.0])) == pytest.approx([-log(0.5), -log(1e-7), -log(1e-7)])
    off = np.array([[0.2, 0.5, 0.3 + extra] for extra in (0.9e-6, -0.9e-6, 1.1e-6, -1.1e-6)])
    assert kinds.breaks(off).tolist() == [False, False, True, True]
    assert kinds.breaks(np.array([[-0.1, 0.6, 0.5], [1.1, -0.05, -0.05], [0.0, 1.0, 0.0]])).tolist() == [True, True, False]
    np.testing.assert_allclose(kinds.mend(np.array([[-1.0, 3.0, 1.0], [-1.0, 0.0, 0.0]])), [[0, 0.75, 0.25], [1 / 3, 1 / 3, 1 / 3]])


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_quantiles_are_sorted_by_comparing_neighbours(count):
    fan = mv.Quantiles(np.arange(1, count + 1) / (count + 1))
    for order in itertools.permutations(range(count)):
        columns = [np.array([float(value)]) for value in order]
        places: list[int] = []

        def keep(place, value, places=places):
            places.append(place)
            return value

        made = fan.constrained(mv.properties.ops.NUMPY, columns, keep)
        assert [float(column[0]) for column in made] == list(range(count))
        assert len(places) == len(set(places)), "every value kept has a name of its own"
    gaps = np.array([[3.0 - k for k in range(count)]])
    taus = fan.taus
    wanted = sum(tau * max(2.5 - g, 0) + (1 - tau) * max(g - 2.5, 0) for tau, g in zip(taus, gaps[0], strict=True))
    assert fan.losses(gaps, np.array([2.5])) == pytest.approx([wanted])


@pytest.mark.parametrize("pair", [mv.MeanVariance(), mv.MeanStd(), mv.QuantileIQR(0.3, 0.8), mv.QuantileCVaR(0.75)], ids=repr)
def test_both_coordinates_are_the_same_formulas_for_arrays_and_in_an_engine(pair):
    import narwhals as nw
    import polars as pl

    from multivalid.properties.ops import NUMPY, expressions

    rng = np.random.default_rng(1)
    given = {"g": rng.uniform(0, 2, 30), "s": rng.uniform(0.5, 2, 30), "y": rng.uniform(0, 3, 30)}
    frame = nw.from_native(pl.DataFrame(given))
    for k, coordinate in enumerate(pair.coordinates):
        for verb in ("residual", "scoring"):
            formula = getattr(coordinate, verb)
            here = formula(NUMPY, [given["g"], given["s"]], given["y"])
            there = frame.select(v=formula(expressions(), [nw.col("g"), nw.col("s")], nw.col("y")))["v"].to_numpy()
            np.testing.assert_allclose(there, here, rtol=1e-12, atol=1e-12)
        by_hand = (
            pair.first.identify(given["g"], given["y"]) if k == 0 else pair.identify_second(given["g"], given["s"], given["y"])
        )
        np.testing.assert_allclose(coordinate.residual(NUMPY, [given["g"], given["s"]], given["y"]), by_hand)
