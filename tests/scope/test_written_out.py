"""Distortions, small worlds and the search for counterexamples, with every number worked out beside them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.properties import CVaR, DistortionRisk, Law, Mean, Variance
from multivalid.scope import (
    FiniteWorld,
    certify,
    check_representation,
    identification_from_score,
    score_from_identification,
    sensible,
)
from multivalid.scope.certificate import Counterexample, segment
from multivalid.scope.convex_without_v import partner_of
from multivalid.scope.distortion import _candidates, _first_above, _gaps, _probes, _round, bernoulli_certificate, classify
from multivalid.scope.evaluate import as_number, rounding_of
from multivalid.scope.finite import Cell, ExactCheck
from multivalid.scope.known import known
from multivalid.scope.level_sets import LEAST_GAP, LEAST_RATIO, PATIENCE, SHAKE, SHARES, Hunt
from multivalid.scope.roots import crossing
from multivalid.scope.two_point import TwoPoint


# ---- distortions ------------------------------------------------------------------------------------------------------
def test_the_gap_of_a_coin_and_a_sure_label():
    risk = CVaR(0.25)  # h(u) = min(u/0.75, 1)
    found = bernoulli_certificate(risk, 0.375, 0.4)
    c, low, high = 0.5, 0.6 * 0.375, 0.4 + 0.6 * 0.375
    mixed = c * high / 0.75 + (1 - c) * low / 0.75
    assert (found.value, found.mixture_value) == pytest.approx((c, mixed))
    assert _gaps(risk, np.array([0.375, 0.3]), np.array([0.4]))[0, 0] == pytest.approx(abs(mixed - c))
    square = DistortionRisk(lambda u: u**2)
    for p in (0.3, 0.7):
        for share in (0.5, 0.1):
            a = (1 - share) * p
            assert _gaps(square, np.array([p]), np.array([share]))[0, 0] == pytest.approx(
                abs(p**2 * (share + a) ** 2 + (1 - p**2) * a**2 - p**2)
            )


def test_simple_probabilities_are_tried_first_and_then_the_largest_gap():
    square = DistortionRisk(lambda u: u**2)
    tried = list(_candidates(square, (0.2, 0.6)))
    simple = [p for p in (0.5, 0.25, 0.75, 0.3, 0.4, 0.2, 0.1, 0.6, 0.7, 0.8, 0.9, 0.05, 0.95)
              if _gaps(square, np.array([p]), np.array([0.5]))[0, 0] > 0.01]  # fmt: skip
    assert tried[: len(simple)] == [(p, 0.5) for p in simple]
    rest = [_gaps(square, np.array([p]), np.array([share]))[0, 0] for p, share in tried[len(simple) :]]
    assert rest == sorted(rest, reverse=True)
    assert len(rest) == 50
    p = np.concatenate(
        [[0.5, 0.25, 0.75, 0.3, 0.4, 0.2, 0.1, 0.6, 0.7, 0.8, 0.9, 0.05, 0.95], 0.2 + 0.4 * np.linspace(0.01, 0.99, 99)]
    )
    shares = np.array([0.5, 0.25, 0.75, 0.1, 0.9, 0.01, 0.2, 0.04, 0.008])
    assert rest[0] == pytest.approx(_gaps(square, p, shares).max())
    assert rest[-1] == pytest.approx(np.sort(_gaps(square, p, shares).ravel())[-50])


@pytest.mark.parametrize(
    ("h", "kind", "tau", "c"),
    [
        (lambda u: u, "mean", None, None),
        (lambda u: u > 0.3, "quantile", 0.7, None),
        (lambda u: u >= 0.3, "quantile", 0.7, None),
        (lambda u: np.where(u > 0.3, 1.0, np.where(u < 0.3, 0.0, 0.25)), "q1", 0.7, 0.75),
        (lambda u: np.where(u <= 0, 0.0, np.where(u >= 1, 1.0, 0.4)), "q2", None, 0.6),
        (lambda u: (u > 0) * 1.0, "q2", None, None),
        (lambda u: u**2, "none", None, None),
        (lambda u: u + 1e-11 * np.sin(np.pi * u), "undecided", None, None),
    ],
)
def test_distortions_with_convex_level_sets(h, kind, tau, c):
    found = classify(DistortionRisk(h))
    assert found.kind == kind
    assert (found.tau, found.c) == (tau, c) or kind == "q2"
    if c is not None:
        assert found.c == pytest.approx(c, abs=1e-12)


def test_the_first_probability_above_a_level():
    risk = DistortionRisk(lambda u: u**2)
    found = _first_above(risk, 0.49)
    assert found**2 > 0.49 >= np.nextafter(found, 0) ** 2
    assert _first_above(DistortionRisk(lambda u: (u > 0) * 1.0), 0.5) < 1e-15
    u = _probes()
    assert u.min() == 1e-9
    assert u.max() == 1 - 1e-9
    assert np.isin(np.arange(1, 1024) / 1024, u).all()
    assert np.isin(np.arange(1, 1000) / 1000, u).all()
    assert u.size == 1023 + 999 + 100 - np.intersect1d(np.arange(1, 1024) / 1024, np.arange(1, 1000) / 1000).size - 2
    assert (_round(1 - (1 - 1e-6)), _round(0.1 + 0.2), _round(0.123456789012345)) == (1e-6, 0.3, 0.123456789012)


@pytest.mark.parametrize(
    ("h", "pair"),
    [
        (lambda u: np.minimum(u / 0.2, 1), mv.QuantileCVaR(0.8)),
        (lambda u: 0.3 * np.minimum(u / 0.2, 1) + 0.7 * u, mv.QuantileSpectral(0.8, 0.3)),
        (lambda u: u**2, None),
        (lambda u: np.sqrt(u), None),
        (lambda u: np.maximum((u - 0.2) / 0.8, 0), None),
    ],
)
def test_two_straight_lines_are_a_mean_and_a_shortfall(h, pair):
    assert partner_of(DistortionRisk(h)) == pair


# ---- certificates -----------------------------------------------------------------------------------------------------
def test_values_along_a_segment():
    made = certify(Variance(), Law.point(0), Law.point(2), 0.3)
    shares, values = segment(made, 5)
    np.testing.assert_allclose(shares, [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(values, 4 * shares * (1 - shares))
    assert (made.mixture_value, made.gap) == pytest.approx((0.84, 0.84))
    columns = made.columns()
    assert columns["probability"] == pytest.approx([0.3, 0.7])
    assert columns["level_set_value"] == pytest.approx([0.84, 0.84])


@pytest.mark.parametrize(
    ("off", "accepted"), [(0.0, True), (0.4e-9 * 0.25, True), (2e-9 * 0.25, False), (-2e-9 * 0.25, False), (0.1, False)]
)
def test_a_certificate_is_worked_out_again(off, accepted):
    made = Counterexample(Law.point(0), Law.point(1), 0.5, 0.0, 0.25 + off, Variance())
    assert made.verify() == accepted
    assert not Counterexample(Law.point(0), Law.point(1), 0.5, 0.0, 0.24, Variance()).verify(tolerance=1e-9)
    assert Counterexample(Law.point(0), Law.point(1), 0.5, 0.0, 0.252, Variance()).verify(tolerance=0.1)
    assert not Counterexample(Law.point(0), Law.point(1), 0.5, 0.0, 0.253, Variance()).verify(tolerance=0.1), (
        "a hundredth of the gap"
    )


@pytest.mark.parametrize(("noise", "accepted"), [(0.02, True), (0.03, False)])
def test_a_gap_must_be_ten_times_what_a_hair_does(noise, accepted):
    """A mean that is `noise` larger as soon as a law has moved at all."""

    def jumpy(values, weights):
        spread = float(weights @ values**2 - (weights @ values) ** 2)
        still = set(np.round(weights, 15)) <= {0.5, 1.0} and set(values.tolist()) <= {0.0, 1.0}
        return spread + (0.0 if still else noise)

    assert Counterexample(Law.point(0), Law.point(1), 0.5, 0.0, 0.25, jumpy).verify() == accepted


def test_what_a_hair_does():
    law = Law.of([1.0, 2.0, 4.0], [0.2, 0.3, 0.5])
    low, high = (law.mix(Law.point(end), 1 - 1e-13) for end in (1.0, 4.0))
    mean = 0.2 + 0.6 + 2.0
    moved = max(abs(sum(np.multiply(one.values, one.weights)) - mean) for one in (low, high))
    assert rounding_of(Mean(), law) == pytest.approx(moved, rel=0.02)
    assert moved == pytest.approx(1.8e-13, rel=0.02)
    assert rounding_of(Mean(), Law.point(3.0)) == np.spacing(3.0)
    steep = rounding_of(lambda values, weights: 1e6 * (float(values[0]) - 1), law)
    assert steep == pytest.approx(1e6 * np.spacing(0.5), rel=0.02)


@pytest.mark.parametrize("answer", [True, "1", 1j, None, [1.0], float("nan"), np.inf, np.zeros(2)])
def test_what_is_no_number(answer):
    with pytest.raises(ValueError, match="it returned"):
        as_number(answer)
    assert as_number(np.array([[2.5]])) == 2.5


@pytest.mark.parametrize("aversion", [0.01, -3.0, 40.0])
def test_the_counterexample_of_a_utility(aversion):
    made = known(mv.properties.MeanVarianceUtility(aversion)).certificate
    size = 0.5 / abs(aversion)
    assert made.second.values == (0.0, size)
    assert made.first.values[0] == pytest.approx(size * (0.5 - np.sign(aversion) / 8))
    assert made.value == pytest.approx(size / 2 - aversion * size**2 / 4)


@pytest.mark.parametrize(("low", "high", "weight"), [(0.25, 0.75, 0.5), (0.1, 0.4, 0.25), (0.5, 0.9, 0.7)])
def test_the_counterexample_of_a_distance_of_quantiles(low, high, weight):
    made = known(mv.properties.InterquartileRange(low, high)).certificate
    assert (made.weight, made.value, made.mixture_value) == (pytest.approx(weight), 0.0, 1.0)


# ---- small worlds -----------------------------------------------------------------------------------------------------
def test_cells_of_a_small_world():
    world = FiniteWorld.from_table(list("aabbcd"), [0, 1, 1, 3, 2, 9], [1, 3, 1, 1, 2, 0])
    assert world.masses == pytest.approx((0.5, 0.25, 0.25))
    assert world.true_predictor(Mean()) == pytest.approx([0.75, 2.0, 2.0])
    found = world.check(Mean(), [0.5, 0.5, 2.5], {"g": [False, True, True]})
    by_hand = {("everyone", 0.5): (0.75, (0.5 * 0.75 + 0.25 * 2) / 0.75), ("everyone", 2.5): (0.25, 2.0), ("g", 0.5): (0.25, 2.0),
               ("g", 2.5): (0.25, 2.0)}  # fmt: skip
    for cell in found.cells:
        assert (cell.mass, cell.value) == pytest.approx(by_hand[cell.group, cell.prediction])
    gap = by_hand["everyone", 0.5][1] - 0.5
    assert found.errors == pytest.approx({"everyone": 0.75 * gap**2 + 0.25 * 0.25, "g": 0.25 * 1.5**2 + 0.25 * 0.25})
    assert found.error == pytest.approx(max(found.errors.values()))
    assert (found.gap, found.worst.group) == (pytest.approx(1.5), "g")


@pytest.mark.parametrize(
    ("gap", "rounding", "holds"), [(3.9e-9, 0, True), (4.1e-9, 0, False), (1e-6, 1.1e-7, True), (1e-6, 0.9e-7, False)]
)
def test_what_counts_as_no_gap(gap, rounding, holds):
    cells = Cell("everyone", 1.0, 0.5, 1.0 + gap), Cell("everyone", -4.0, 0.5, -4.0)
    assert ExactCheck(cells, 1e-9, rounding).holds == holds


@pytest.mark.parametrize(("apart", "levels"), [(0.9e-9, 1), (1.2e-9, 2)])
def test_predictions_within_a_share_of_their_spread_are_one_level(apart, levels):
    world = FiniteWorld.from_table(["a", "b", "c"], [0, 1, 2])
    found = world.check(Mean(), [7.0, 7.0 + apart * 6, 7.0 + apart * 6])  # everyone's value is 1
    assert len(found.cells) == levels
    found = world.check(Mean(), [0.0, 2 * apart, 2.0])
    assert len(found.cells) == 1 + levels


def test_the_worst_of_the_worlds_that_fail():
    coins = [FiniteWorld.of({"x": (0.5, Law.point(0)), "y": (0.5, Law.point(size))}) for size in (0.5, 2.0, 1.0)]
    found = sensible(Variance(), coins)
    assert (found.holds, found.gap, found.worst, found.checked) == (False, 1.0, 1, 3)
    fine = sensible(Mean(), coins)
    assert (fine.holds, fine.checked) == (True, 3)


@pytest.mark.parametrize("mass", [0.5, 0.2])
def test_the_best_tie(mass):
    made = certify(Variance(), Law.point(0), Law.point(2), mass).two_point()
    value, whole = 0.0, 4 * mass * (1 - mass)
    largest = max(mass, 1 - mass)
    best = made.tied_prediction()
    assert largest * (best - value) ** 2 == pytest.approx((best - whole) ** 2)
    assert made.tied_error() == pytest.approx((best - whole) ** 2)
    assert made.split_error(0.01) == pytest.approx((1 - mass) * 1e-4)
    assert TwoPoint(Variance(), made.world, 3.0, 1.0).gap == 2.0


# ---- scores and their slopes -------------------------------------------------------------------------------------------
def test_scores_with_a_weight_of_their_own():
    score = score_from_identification(
        mv.Quantile(0.8), weight=lambda r: 1 + 2 * r, start=0.5, breakpoints=lambda y: y[..., None] + 0.3
    )
    for g, y in ((2.0, 1.0), (0.1, 0.2), (0.1, 1.0), (0.9, 2.0)):
        whole = g + g**2 - 0.5 - 0.25  # ∫ 1 + 2r
        inside = np.clip(y, min(g, 0.5), max(g, 0.5))
        above = (g + g**2 - inside - inside**2) if g > 0.5 else -((0.5 + 0.25) - max(y, g) - max(y, g) ** 2) * (y < 0.5)
        assert float(score(g, y)) == pytest.approx(above - 0.8 * whole, abs=1e-12)
    assert float(identification_from_score(mv.Mean(), step=0.25)(1.5, 0.2)) == pytest.approx(1.3)


@pytest.mark.parametrize(("power", "wrong", "holds"), [(1, 0.0, True), (2, 0.0, True), (1, 1e-5, False), (1, 1e-7, True)])
def test_weights_are_read_off(power, wrong, holds):
    """S with ∂S/∂γ = γ^(power − 1)·(γ − y), on predictions from 2 to 5."""
    found = check_representation(
        lambda g, y: g ** (power + 1) / (power + 1) - y * g**power / power + wrong * g * y**2, Mean(), range=(2, 5), labels=(2, 3)
    )
    assert found.holds == holds
    np.testing.assert_allclose(found.points, 2 + 3 * (np.arange(65) + 0.2544) / 65)
    if not wrong:
        np.testing.assert_allclose(found.weight, found.points ** (power - 1), rtol=1e-6)
    turned = check_representation(lambda g, y: -((g - y) ** 2), Mean(), range=(2, 5))
    assert not turned.holds
    assert "wrong sign" in turned.reason
    assert turned.weight == pytest.approx(np.full(65, -2.0))


# ---- the search -------------------------------------------------------------------------------------------------------
def hunt(function, lo=0.0, hi=1.0, seed=0):
    made = Hunt(function, lo, hi, seed)
    made.scale = 1.0
    return made


def off_line(gap, disagreement=0.0):
    """The value 1 on pure laws of the two ends, `gap` more on mixtures of them."""

    def function(values, weights):
        mixed = min(4 * float(weights.max() * (1 - weights.max())), 1.0) if weights.size == 2 else 0.0
        return 1.0 + gap * mixed + disagreement * float(values[0] == 1.0)

    return function


ENDS = np.array([0.0, 1.0])


@pytest.mark.parametrize(
    ("gap", "disagreement", "found"),
    [(0.5, 0.0, True), (2e-4, 0.0, True), (0.9e-4, 0.0, False), (0.5, 4e-5 * 1e-6, True), (0.5, 2e-10, False)],
)
def test_what_counts_as_a_gap(gap, disagreement, found):
    made = hunt(off_line(gap, disagreement))
    result = made._compare(ENDS, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert (result is not None) == found
    assert made.pairs == (disagreement < 1e-10)
    if found:
        assert result.weight == SHARES[0] == 0.5
    assert (LEAST_GAP, LEAST_RATIO) == (1e-4, 1e4)


def test_laws_are_shaken_on_their_own_labels():
    asked = []

    def function(values, weights):
        asked.append((values.copy(), weights.copy()))
        return 1.0

    support, weights = np.array([0.0, 0.4, 1.0]), np.array([0.3, 0.0, 0.7])
    assert hunt(function)._steady(support, weights, 1.0, 0.1)
    noises = [np.array([0.5, 0.5]), np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    for (values, seen), noise in zip(asked, noises, strict=True):
        assert values.tolist() == [0.0, 1.0]
        np.testing.assert_allclose(seen, (1 - SHAKE) * weights[[0, 2]] + SHAKE * noise, rtol=1e-15)
    assert hunt(lambda values, weights: 1.0009)._steady(support, weights, 1.0, 0.1)
    assert not hunt(lambda values, weights: 1.0011)._steady(support, weights, 1.0, 0.1)


def test_guesses_in_order():
    """Two point masses, and a point mass against the two ends, in shares of a half, a quarter, three quarters."""
    seen = []
    made = hunt(lambda values, weights: float(values @ weights), 2.0, 6.0)
    made._compare = lambda support, first, second: seen.append((support, first, second))
    for number in range(6):
        made._guess(number)
    assert seen[0][0].tolist() == [2.0, 6.0]
    for number, share in ((1, 0.5), (3, 0.25), (5, 0.75)):
        support, first, second = seen[number]
        np.testing.assert_allclose(support, [2.0, 2 + 4 * share, 6.0])
        assert first.tolist() == [0, 1, 0]
        np.testing.assert_allclose(second, [1 - share, 0, share])
    for number in (2, 4):
        ends = (seen[number][0] - 2) / 4 * 10
        np.testing.assert_allclose(ends, np.round(ends), atol=1e-12)
        assert 0 <= ends[0] < ends[1] <= 10
    odd = hunt(lambda values, weights: 2.0, 2.0, 6.0)
    odd._compare = lambda *_: pytest.fail("a value at an end is no label inside")
    assert odd._guess(1) is None


def test_laws_on_either_side():
    made = hunt(lambda values, weights: float(values @ weights), seed=3)
    support = np.array([0.0, 0.3, 1.0])
    below, above = made._around(support, 0.4)
    assert below @ support < 0.4 < above @ support
    assert made._around(support, 2.0)[1] is None
    for _ in range(50):
        drawn, weights = made._support(), made._weights(4)
        assert 1 <= drawn.size <= 5
        assert drawn.min() >= 0
        assert drawn.max() <= 1
        assert weights.sum() == pytest.approx(1)
        assert (weights >= 0).all()
    sizes = [made._support().size for _ in range(400)]
    assert set(sizes) <= {1, 2, 3, 4, 5}
    assert 5 in sizes
    lattice = np.mean([np.allclose(drawn * 10, np.round(drawn * 10)) for drawn in (made._support() for _ in range(400))])
    assert 0.4 < lattice < 0.6
    assert np.mean([(made._weights(5) > 0).mean() for _ in range(400)]) == pytest.approx(0.7 + 0.3 / 5, abs=0.03)


def test_a_function_is_asked_three_times_and_given_up_when_it_never_answers():
    asked = []
    made = hunt(lambda values, weights: asked.append((values, weights)) or 1.0, 1.0, 4.0)
    assert made._repeatable()
    assert len(asked) == 3
    np.testing.assert_allclose(asked[0][0], [1, 3, 4])
    np.testing.assert_allclose(asked[0][1], [0.3, 0.3, 0.4])
    silent = hunt(lambda values, weights: None)
    silent.run(400, SimpleNamespace(is_set=lambda: False))
    assert PATIENCE <= silent.calls <= PATIENCE + 3
    assert silent.failures == silent.calls
    moody = iter(range(10_000))
    other = hunt(lambda values, weights: next(moody))
    other.run(10, SimpleNamespace(is_set=lambda: False))
    assert other.problem == "it gives different answers for the same law"


@pytest.mark.parametrize("value", [0.001, 0.25, 0.9])
def test_where_a_function_takes_a_value(value):
    asked = []

    def cubic(t):
        asked.append(t)
        return t**3

    assert crossing(cubic, value, 1e-12) == pytest.approx(value ** (1 / 3), rel=1e-9)
    assert len(asked) < 80
    assert asked[2] == pytest.approx(value), "a straight line from end to end"
    assert crossing(lambda t: None if t == 0.5 else t, 0.5, 1e-12) is None


def test_labels_of_a_search_must_rise():
    with pytest.raises(InputError, match="low < high"):
        mv.scope(lambda values, weights: 1.0, labels=(1.0, 1.0))
