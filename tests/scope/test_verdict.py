"""Verdicts: every name of the catalogue is decided, by structure, with what it rests on."""

import json
import pickle

import numpy as np
import pytest

from multivalid.errors import InputError, ScopeError
from multivalid.properties import (
    BayesPair,
    CentralMoment,
    CVaR,
    DistortionRisk,
    DualPower,
    ExponentialSpectral,
    Functional,
    InterquartileRange,
    Mean,
    MeanMAD,
    MeanMoment,
    MeanStd,
    MeanVariance,
    MeanVarianceUtility,
    MinVar,
    Property,
    ProportionalHazard,
    Quantile,
    QuantileCVaR,
    QuantileIQR,
    QuantileSpectral,
    RangeVaR,
    Spectral,
    Variance,
    Variantile,
    Wang,
    parse_any,
)
from multivalid.properties.distortion import Distortion
from multivalid.properties.pairs import ExpectileVariantile, Pair
from multivalid.scope import require, scope
from multivalid.scope.verdict import CLAIMS

ALONE = [
    "mean",
    "median",
    "quantile:0.9",
    "expectile:0.8",
    "huber:0.3",
    "lp_quantile:1.5:0.9",
    "entropic:1",
    "moment:2",
    "event:0:0.5",
    "ratio:2:1",
]
JOINTLY = {
    "variance": MeanVariance(),
    "std": MeanStd(),
    "central_moment:3": MeanMoment(3),
    "central_moment:4": MeanMoment(4),
    "mad": MeanMAD(),
    "cv": MeanStd(),
    "dispersion_index": MeanVariance(),
    "mean_variance_utility:0.5": MeanVariance(),
    "mean_variance_utility:-2": MeanVariance(),
    "iqr": QuantileIQR(),
    "iqr:0.05:0.2": QuantileIQR(0.05, 0.2),
    "variantile:0.8": ExpectileVariantile(0.8),
    "cvar:0.95": QuantileCVaR(0.95),
    "expected_shortfall:0.2": QuantileCVaR(0.2),
}
IMPOSSIBLE = [
    "skewness", "gini", "entropy", "range_var:0.25:0.75", "wang:0.5", "wang:-0.5", "proportional_hazard:2", "dual_power:2",
    "minvar:2", "exponential_spectral:5",
]  # fmt: skip
CONVEX_BUT_IMPOSSIBLE = ["mode", "quantile_mix:0.5:0.5", "endpoint_mix:0.3", "endpoint_mix:1"]


@pytest.mark.parametrize("text", ALONE)
def test_alone(text):
    verdict = scope(text)
    assert verdict.status == "alone"
    assert verdict.equivalent == parse_any(text)
    assert (verdict.partner, verdict.certificate, verdict.search) == (None, None, None)
    assert verdict.claims["convex_level_sets"].holds
    assert verdict.hypotheses
    assert require(text) == parse_any(text)


@pytest.mark.parametrize("text", JOINTLY)
def test_jointly(text):
    verdict = scope(text)
    assert verdict.status == "jointly"
    assert verdict.partner == JOINTLY[text]
    assert verdict.certificate.verify()
    assert verdict.search is None
    assert verdict.claims["elicitable"].holds is verdict.claims["identifiable"].holds is False
    with pytest.raises(ScopeError, match=r"(?s)What\s+works"):
        require(text)


@pytest.mark.parametrize("text", IMPOSSIBLE)
def test_impossible(text):
    verdict = scope(text)
    assert (verdict.status, verdict.partner) == ("impossible", None)
    assert verdict.certificate.verify()
    with pytest.raises(ScopeError, match="Counterexample"):
        require(text)


@pytest.mark.parametrize("text", CONVEX_BUT_IMPOSSIBLE)
def test_convex_level_sets_are_not_enough(text):
    verdict = scope(text)
    assert (verdict.status, verdict.certificate) == ("impossible", None)
    assert verdict.claims["convex_level_sets"].holds is True
    assert verdict.claims["identifiable"].holds is False
    assert verdict.claims["continuous"].holds is False
    assert verdict.claims["elicitable"].holds is not True
    assert "continuous" in " ".join(verdict.hypotheses)


@pytest.mark.parametrize(
    "text", ["mean_variance", "mean_std", "mean_moment:3", "quantile_cvar:0.95", "quantile_iqr", "bayes:expectile:0.8"]
)
def test_pairs_are_jointly_calibratable_as_they_are(text):
    pair = parse_any(text)
    verdict = scope(pair)
    assert (verdict.status, verdict.partner) == ("jointly", pair)
    assert require(text) == pair
    assert "as a pair" in str(verdict)


@pytest.mark.parametrize(
    "functional",
    [
        MeanVarianceUtility(1e-6), MeanVarianceUtility(-1e4), RangeVaR(0.4999, 0.5001), RangeVaR(1e-6, 2e-6), CVaR(1 - 1e-9),
        CVaR(1e-3), Wang(1e-3), Wang(-6), ProportionalHazard(1.01), DualPower(50), MinVar(1.001), ExponentialSpectral(-20),
        CentralMoment(40), CentralMoment(21), Variantile(0.001), InterquartileRange(0.98, 0.99), Spectral((0, 0.99), (0.99, 0.01)),
    ],
    ids=repr,
)  # fmt: skip
def test_extreme_parameters_still_have_a_certificate(functional):
    assert scope(functional).certificate.verify()


def test_a_distortion_too_close_to_the_mean_is_decided_without_a_certificate():
    verdict = scope(Wang(1e-12))
    assert (verdict.status, verdict.certificate) == ("impossible", None)
    assert verdict.claims["convex_level_sets"].because == "by theorem"


def test_a_users_own_distortion_class_is_classified():
    class Plain(Distortion):
        def distort(self, survival):
            return np.asarray(survival)

    assert scope(Plain()).equivalent == Mean()


def test_spectral_mixtures():
    assert scope(Spectral((0, 0.9), (0.3, 0.7))).partner == QuantileSpectral(0.9, 0.7)
    assert scope(Spectral((0.5, 0.9), (0.3, 0.7))).status == "impossible"


@pytest.mark.parametrize("text", [*ALONE, *JOINTLY, *IMPOSSIBLE, *CONVEX_BUT_IMPOSSIBLE, "quantile_cvar:0.9"])
def test_verdicts_are_plain_and_complete(text):
    verdict = scope(text)
    assert set(verdict.claims) <= set(CLAIMS)
    assert verdict.cite
    assert verdict.reason.endswith(".")
    assert json.loads(json.dumps(verdict.to_dict()))["status"] == verdict.status
    words = str(verdict)
    assert words.startswith(verdict.subject.split("(", maxsplit=1)[0])
    assert max(map(len, words.splitlines())) <= 110
    assert pickle.loads(pickle.dumps(verdict)) == verdict  # noqa: S301


def test_quantiles_are_read_as_intervals():
    assert "interval" in scope("quantile:0.5").hypotheses[0]
    assert scope("quantile:0.5").claims["continuous"].holds is None


def test_a_users_identification_rests_on_the_mesh_it_was_checked_on():
    verdict = scope(Property.from_identification(lambda g, y: g - y, name="mine"))
    assert verdict.status == "alone"
    assert "mesh" in verdict.hypotheses[0]


def test_a_users_functional_is_searched():
    class Spread(Functional):
        def value_of(self, values, weights):
            return float(values[-1] - values[0])

    verdict = scope(Spread())
    assert verdict.status == "impossible"
    assert verdict.search.trials <= 50


def test_an_unknown_function_without_counterexample_stays_undecided():
    verdict = scope(lambda values, weights: weights @ np.exp(values), trials=100)
    assert verdict.status == "undecided"
    assert "100 trials" in verdict.reason
    assert verdict.claims["elicitable"].holds is None


def test_require_reads_names_for_known_properties():
    assert require(DistortionRisk(lambda u: u)) == Mean()
    assert require("quantile_mix:0.9:0") == Quantile(0.9)
    with pytest.raises(InputError, match="did you mean"):
        require("varianze")


def test_functionals_have_no_identification_and_say_so():
    for name in ("identify", "score"):
        assert not hasattr(CVaR(0.9), name)
        with pytest.raises(ScopeError, match=r"scope\(CVaR\(tau=0.9\)\)"):
            getattr(CVaR(0.9), name)
    with pytest.raises(AttributeError, match="no attribute 'foo'"):
        Variance().foo  # noqa: B018
    assert not isinstance(Variance(), (Property, Pair))
    with pytest.raises(InputError, match="prop must be a property"):
        BayesPair(Variance())
