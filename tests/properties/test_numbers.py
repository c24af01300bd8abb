"""Numbers worked out by hand or printed in the literature, and text that names properties."""

from __future__ import annotations

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError

Y = np.array([0, 0, 1, 1, 2.5, -1.5])
Z = np.array([-1, 1, 1, 2, 2, -2.0])
W = np.array([1, 2, 1, 1, 3, 0.5])


@pytest.mark.parametrize(
    ("prop", "expected"),
    [
        (mv.Mean(), [-1, 1, 0, 1, -0.5, -0.5]),
        (mv.Quantile(0.9), [-0.9, 0.1, 0.1, 0.1, -0.9, -0.9]),
        (mv.Expectile(0.9), [-1.8, 0.2, 0, 0.2, -0.9, -0.9]),
        (mv.Expectile(0.1), [-0.2, 1.8, 0, 1.8, -0.1, -0.1]),
    ],
)
def test_identification(prop, expected):
    np.testing.assert_allclose(prop.identify(Z, Y), expected, rtol=1e-15, atol=1e-16)


@pytest.mark.parametrize(("tau", "value"), [(0.1, 0.07534246575342465), (0.5, 1.0294117647058825), (0.9, 2.1153846153846154)])
def test_weighted_expectiles(tau, value):
    assert mv.Expectile(tau).solve(Y, W) == pytest.approx(value, rel=1e-15, abs=0)
    assert mv.LpQuantile(2, tau).solve(Y, W) == pytest.approx(value, rel=1e-13, abs=0)


def test_expectile_constants():
    facts = mv.Expectile(0.8).facts()
    assert (facts.lipschitz, facts.anti_lipschitz) == pytest.approx((1.6, 2.5), rel=1e-15)


def test_order_sensitivity_is_one_sided():
    # The median of a law with F(0.2) = 1/2, linear on each side: 0.35 is farther from it than 0.06, yet scores better.
    share = (np.arange(200_000) + 0.5) / 200_000
    labels = np.where(share < 0.5, 0.4 * share, 0.2 + 1.6 * (share - 0.5))
    above, below, best = (mv.Quantile(0.5).score(g, labels).mean() for g in (0.35, 0.06, 0.2))
    assert above - best == pytest.approx(0.00703125, abs=1e-6)
    assert below - best == pytest.approx(0.0245, abs=1e-6)
    assert abs(0.35 - 0.2) > abs(0.06 - 0.2)


def test_raw_units_keep_the_value():
    share = np.random.default_rng(0).random(50)
    for prop in (mv.Mean(), mv.Quantile(0.3), mv.Expectile(0.8), mv.LpQuantile(3, 0.7)):
        assert (prop.solve(10 * share - 3) + 3) / 10 == pytest.approx(prop.solve(share), abs=1e-12)


@pytest.mark.parametrize("prop", [mv.Mean(), mv.Quantile(0.3), mv.Expectile(0.8), mv.Huber(0.2), mv.LpQuantile(3, 0.7)], ids=repr)
def test_large_offset_costs_no_digits(prop):
    labels = np.arange(16) / 16
    shift = 2.0**30
    assert prop.solve(labels + shift) - shift == pytest.approx(prop.solve(labels), abs=4e-7)


def test_quantile_ties():
    prop = mv.Quantile(0.3)
    assert prop.solve(np.arange(1.0, 11.0)) == 3.0
    assert prop.solve([1, 2, 3], [0.1 + 0.2, 0.3, 0.4]) == 1.0  # 0.30000000000000004 of the weight is enough
    assert prop.solve([5, 1, 1, 1]) == 1.0


def test_solve_leaves_out_rows_without_weight():
    assert mv.Quantile(0.5).solve([-100, 1, 2, 100], [0, 1, 2, 0]) == 2.0
    assert mv.Expectile(0.7).solve([-100, 1], [0, 3]) == 1.0


@pytest.mark.parametrize(
    ("text", "prop"),
    [
        ("mean", mv.Mean()), ("median", mv.Quantile(0.5)), (" quantile : 0.9 ", mv.Quantile(0.9)), ("huber:2", mv.Huber(2)),
        ("lp_quantile:1.5:0.9", mv.LpQuantile(1.5, 0.9)), ("entropic:-1", mv.Entropic(-1)), ("moment:2", mv.Moment(2)),
        ("event:-inf:0.5", mv.EventProbability(-np.inf, 0.5)), ("ratio:2:1", mv.Ratio(2, 1)), (mv.Mean(), mv.Mean()),
    ],
)  # fmt: skip
def test_parse(text, prop):
    assert mv.parse(text) == prop


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("quantil:0.9", "did you mean 'quantile'"),
        ("zzz?", "did you mean"),
        ("quantile", "takes 1 parameter after colons, got 0"),
        ("quantile:ninety", "ninety cannot be read as numbers"),
        ("quantile:90", r"tau must be strictly between 0 and 1, got 90.0; for 90 % write 0.9"),
        (0.9, "property must be a property or its name, got 0.9"),
    ],
)
def test_parse_errors(text, message):
    with pytest.raises(InputError, match=message):
        mv.parse(text)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: mv.Quantile(0), "tau must be strictly between 0 and 1, got 0"),
        (lambda: mv.Quantile(1.0), "tau .* got 1.0"),
        (lambda: mv.Expectile("0.9"), "tau must be a number, got '0.9'"),
        (lambda: mv.Expectile(np.nan), "tau must be finite, got nan"),
        (lambda: mv.LpQuantile(1, 0.5), r"p must be above 1, got 1.0; p = 1 is Quantile"),
        (lambda: mv.Huber(0), "k must be positive, got 0"),
        (lambda: mv.Entropic(0), r"theta must not be 0.*use Mean\(\)"),
        (lambda: mv.Moment(-1), "g must be a function of the labels or a whole number"),
        (lambda: mv.Moment(2, range=(3, 1)), r"range must be \(low, high\) with low < high, got \(3, 1\)"),
        (lambda: mv.Moment(2, range=7), r"range must be a pair \(low, high\), got 7"),
        (lambda: mv.EventProbability(2, 1), "lo must not exceed hi, got lo=2.0, hi=1.0"),
        (lambda: mv.EventProbability(np.array([1, 2]), 3), "lo must be a number"),
        (lambda: mv.Ratio(2.5, 1), "numerator must be a function"),
        (lambda: mv.Ratio(2, 1).facts(-2, -1), "nowhere positive for labels in"),
        (lambda: mv.Shortfall(3), "loss must be a function"),
        (lambda: mv.register("mean", mv.Mean()), "built-in"),
        (lambda: mv.register("a:b", mv.Mean()), "without a colon"),
        (lambda: mv.register("other", "mean"), "only a property or a pair"),
        (lambda: mv.register(" other", mv.Mean()), "nor blanks around it"),
    ],
)
def test_parameters(build, message):
    with pytest.raises(InputError, match=message):
        build()


def test_labels_outside_the_domain():
    with pytest.raises(InputError, match=r"y_true must lie in \[-300, 300\] for Entropic\(theta=1.0\): 1 values .* row 2"):
        mv.Entropic(1).check_labels(np.array([0.0, 1, 301]))
    with pytest.raises(InputError, match=r"labels must keep the denominator of Ratio\(2, 1\) positive: 2 labels .* row 1"):
        mv.Ratio(2, 1).solve([1.0, 0.0, -1.0])
