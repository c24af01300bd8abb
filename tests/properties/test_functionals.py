"""Functionals without an identification: exact values, ties, weights, and names that read back."""

import copy
import pickle

import numpy as np
import pytest

from multivalid.errors import InputError, ScopeError
from multivalid.properties import (
    CentralMoment,
    CoefficientOfVariation,
    CVaR,
    DispersionIndex,
    DualPower,
    EndpointMix,
    Entropy,
    ExpectedShortfall,
    ExponentialSpectral,
    GiniDeviation,
    InterquartileRange,
    MeanAbsoluteDeviation,
    MeanVarianceUtility,
    MinVar,
    Mode,
    ProportionalHazard,
    QuantileMix,
    RangeVaR,
    Skewness,
    Spectral,
    Std,
    Variance,
    Variantile,
    Wang,
    parse,
    parse_any,
    register,
)

FUNCTIONALS = [
    Variance(), Std(), CentralMoment(3), Skewness(), MeanAbsoluteDeviation(), CoefficientOfVariation(), DispersionIndex(),
    MeanVarianceUtility(0.5), InterquartileRange(), InterquartileRange(0.1, 0.6), GiniDeviation(), Variantile(0.8), Mode(),
    Entropy(), CVaR(0.9), RangeVaR(0.2, 0.7), Wang(0.5), ProportionalHazard(2.0), DualPower(2.0), MinVar(3.0),
    ExponentialSpectral(5.0), QuantileMix(0.5, 0.3), EndpointMix(0.3), Spectral((0.0, 0.5), (0.5, 0.5)),
]  # fmt: skip
every = pytest.mark.parametrize("functional", FUNCTIONALS, ids=repr)
Y = np.random.default_rng(0).gamma(2.0, size=60).round(1)
W = np.random.default_rng(1).integers(1, 4, 60)


@every
def test_weight_is_repetition_and_order_does_not_matter(functional):
    expected = functional.solve(np.repeat(Y, W))
    order = np.random.default_rng(2).permutation(Y.size)
    assert functional.solve(Y, W) == pytest.approx(expected, rel=1e-12)
    assert functional.solve(Y[order], 7.5 * W[order]) == pytest.approx(expected, rel=1e-12)
    assert functional.solve(np.append(Y, 1e6), np.append(W, 0)) == pytest.approx(expected, rel=1e-12)


@every
def test_functionals_travel(functional):
    assert pickle.loads(pickle.dumps(functional)) == functional  # noqa: S301
    assert copy.deepcopy(functional) == functional
    assert eval(repr(functional), dict(globals())) == functional  # noqa: S307
    if functional.spec is not None:
        assert parse_any(functional.spec) == functional
        with pytest.raises(ScopeError, match="cannot be calibrated alone"):
            parse(functional.spec)


@every
@pytest.mark.parametrize("labels", [[], [np.nan], ["a"], [[1.0, 2.0]]])
def test_bad_labels_are_refused(functional, labels):
    with pytest.raises(InputError):
        functional.solve(labels)


def test_against_plain_formulas():
    y = np.repeat(Y, W)
    assert Variance().solve(y) == pytest.approx(y.var())
    assert Std().solve(y) == pytest.approx(y.std())
    assert CentralMoment(3).solve(y) == pytest.approx(((y - y.mean()) ** 3).mean())
    assert Skewness().solve(y) == pytest.approx(((y - y.mean()) ** 3).mean() / y.std() ** 3)
    assert MeanAbsoluteDeviation().solve(y) == pytest.approx(np.abs(y - y.mean()).mean())
    assert CoefficientOfVariation().solve(y) == pytest.approx(y.std() / y.mean())
    assert GiniDeviation().solve(y) == pytest.approx(np.abs(y[:, None] - y).mean())
    ordered, n = np.sort(y), y.size
    assert CVaR(1 - 12 / n).solve(y) == pytest.approx(ordered[-12:].mean())
    assert RangeVaR(10 / n, 50 / n).solve(y) == pytest.approx(ordered[10:50].mean())
    assert DualPower(2).solve(y) == pytest.approx(np.maximum(y[:, None], y).mean())
    assert MinVar(2).solve(y) == pytest.approx(np.minimum(y[:, None], y).mean())
    assert EndpointMix(0.3).solve(y) == pytest.approx(0.3 * y.min() + 0.7 * y.max())
    assert QuantileMix(0.5, 0.3).solve([1, 2, 4, 9]) == pytest.approx(0.3 * 2 + 0.7 * 4)
    values, counts = np.unique(y, return_counts=True)
    assert Mode().solve(y) == values[np.argmax(counts)]
    assert Entropy().solve(y) == pytest.approx(-np.sum(counts / n * np.log(counts / n)))
    assert Variantile(0.5).solve(y) == pytest.approx(y.var() / 2)
    assert MeanVarianceUtility(2).solve(y) == pytest.approx(y.mean() - 2 * y.var())
    assert DispersionIndex().solve(y) == pytest.approx(y.var() / y.mean())


def test_wang_is_the_same_for_few_and_for_many_probabilities():
    u = np.linspace(0, 1, 6001)
    many = Wang(0.7).distort(u)
    few = np.concatenate([Wang(0.7).distort(part) for part in np.array_split(u, 5)])
    assert np.abs(many - few).max() < 1e-14
    assert (many[0], many[-1]) == (few[0], few[-1]) == (0, 1)


def test_expected_shortfall_is_cvar():
    assert ExpectedShortfall is CVaR
    assert parse_any("expected_shortfall:0.9") == CVaR(0.9)
    assert parse_any("iqr") == InterquartileRange()


@pytest.mark.parametrize(
    "build",
    [
        lambda: CVaR(0), lambda: CVaR(1), lambda: RangeVaR(0.7, 0.2), lambda: Wang(0), lambda: DualPower(1), lambda: MinVar(-1),
        lambda: ProportionalHazard(1), lambda: ExponentialSpectral(0), lambda: CentralMoment(1), lambda: CentralMoment(2.5),
        lambda: MeanVarianceUtility(0), lambda: InterquartileRange(0.9, 0.1), lambda: Variantile(1.2), lambda: QuantileMix(0.5, 2),
        lambda: EndpointMix(-1), lambda: Spectral((0.5,), (1.0,)), lambda: Spectral((0.5, 0.5), (0.5, 0.5)),
        lambda: Spectral((0.1, 0.5), (0.5, 0.6)), lambda: Spectral((0.1, 1.0), (0.5, 0.5)), lambda: Wang("a"), lambda: CVaR(True),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(build):
    with pytest.raises(InputError):
        build()


@pytest.mark.parametrize(
    ("functional", "labels"), [(Skewness(), [2, 2]), (CoefficientOfVariation(), [-1, 1]), (DispersionIndex(), [0])]
)
def test_undefined_values_are_refused(functional, labels):
    with pytest.raises(InputError, match="not defined"):
        functional.solve(labels)


def test_names_of_functionals_and_pairs_cannot_be_taken():
    for name in ("variance", "mean_variance", "bayes"):
        with pytest.raises(InputError, match="built-in"):
            register(name, parse("mean"))
    with pytest.raises(InputError, match="pair"):
        parse("mean_variance")
    with pytest.raises(InputError, match="takes 1 parameter after colons"):
        parse_any("cvar")
    with pytest.raises(InputError, match="did you mean 'cvar'"):
        parse_any("cvarr:0.9")
    with pytest.raises(InputError, match="not known"):
        parse_any("bayes")
