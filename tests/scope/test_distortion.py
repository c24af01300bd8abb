"""The classifier of distortions: the four families with convex level sets, and certificates for everything else."""

import numpy as np
import pytest

from multivalid.errors import InputError, PropertyError
from multivalid.properties import (
    CVaR,
    DistortionRisk,
    DualPower,
    EndpointMix,
    Quantile,
    QuantileMix,
    QuantileSpectral,
    RangeVaR,
    Variance,
)
from multivalid.scope import classify, scope
from multivalid.scope.convex_without_v import partner_of


def knots(xs, ys):
    return lambda u: np.interp(u, xs, ys)


OTHERS = {
    "square": lambda u: u**2,
    "root": np.sqrt,
    "cube": lambda u: u**3,
    "near the mean": lambda u: u + 1e-3 * u * (1 - u),
    "cvar 0.9": lambda u: np.minimum(u / 0.1, 1),
    "cvar 0.999": lambda u: np.minimum(u / 0.001, 1),
    "lower tail": lambda u: np.maximum((u - 0.9) / 0.1, 0),
    "rvar": lambda u: np.clip((u - 0.25) / 0.5, 0, 1),
    "narrow rvar": lambda u: np.clip((u - 0.49999) / 0.00002, 0, 1),
    "s-shape": lambda u: u**2 * (3 - 2 * u),
    "inverse s": lambda u: u**0.6 / (u**0.6 + (1 - u) ** 0.6) ** (1 / 0.6),
    "prelec": lambda u: np.where(u > 0, np.exp(-((-np.log(np.maximum(u, 1e-300))) ** 0.65)), 0.0),
    "sine": lambda u: np.sin(np.pi * u / 2),
    "two steps": lambda u: 0.5 * (u > 0.3) + 0.5 * (u > 0.6),
    "three steps": lambda u: ((u > 0.2) * 1.0 + (u > 0.5) + (u > 0.8)) / 3,
    "step and mean": lambda u: 0.5 * u + 0.5 * (u > 0.5),
    "step and endpoint": lambda u: np.where(u <= 0, 0.0, np.where(u >= 1, 1.0, 0.4 + 0.2 * (u > 0.5))),
    "jump at zero": lambda u: np.where(u > 0, 0.2 + 0.8 * u, 0.0),
    "jump at one": lambda u: np.where(u < 1, 0.9 * u, 1.0),
    "flat middle": lambda u: np.interp(u, [0, 0.3, 0.7, 1], [0, 0.5, 0.5, 1]),
    "beta": lambda u: 1 - (1 - u**2) ** 3,
    "exponential": lambda u: np.expm1(3 * u) / np.expm1(3),
    "half mean half cvar": lambda u: 0.5 * u + 0.5 * np.minimum(2 * u, 1),
}


def test_the_mean():
    assert classify(DistortionRisk(lambda u: u)).kind == "mean"
    verdict = scope(DistortionRisk(lambda u: u))
    assert verdict.status == "alone"
    assert repr(verdict.equivalent) == "Mean()"


@pytest.mark.parametrize("tau", [0.05, 0.1, 0.25, 1 / 3, 0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("strict", [True, False])
def test_quantiles(tau, strict):
    found = classify(DistortionRisk((lambda u: u > 1 - tau) if strict else (lambda u: u >= 1 - tau)))
    assert found.kind == "quantile"
    assert found.tau == pytest.approx(tau, abs=1e-11)
    assert scope(DistortionRisk(lambda u: u > 1 - tau)).equivalent == Quantile(found.tau)


@pytest.mark.parametrize("tau", [0.1, 1 / 3, 0.5, 0.9])
@pytest.mark.parametrize("c", [0.1, 0.5, 0.75])
def test_q1(tau, c):
    for risk in (QuantileMix(tau, c), DistortionRisk(lambda u: np.where(u > 1 - tau, 1.0, np.where(u == 1 - tau, 1 - c, 0.0)))):
        found = classify(risk)
        assert found.kind == "q1"
        assert (found.tau, found.c) == pytest.approx((tau, c), abs=1e-11)
        verdict = scope(risk)
        assert (verdict.status, verdict.certificate) == ("impossible", None)
        assert verdict.claims["convex_level_sets"].holds is True
        assert verdict.claims["elicitable"].holds is False
        assert verdict.claims["continuous"].holds is False


@pytest.mark.parametrize("c", [0.0, 1.0])
def test_ends_of_q1_are_quantiles(c):
    assert classify(QuantileMix(0.8, c)).kind == "quantile"
    assert scope(QuantileMix(0.8, c)).equivalent == Quantile(0.8)


@pytest.mark.parametrize("c", [0.0, 0.25, 0.5, 1.0])
def test_q2(c):
    for risk in (EndpointMix(c), DistortionRisk(lambda u: np.where(u <= 0, 0.0, np.where(u >= 1, 1.0, 1 - c)))):
        found = classify(risk)
        assert (found.kind, found.c) == ("q2", c)
        verdict = scope(risk)
        assert (verdict.status, verdict.certificate) == ("impossible", None)
        assert verdict.claims["convex_level_sets"].holds is True
        assert verdict.claims["elicitable"].holds is False


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_refuted_on_three_points(name):
    risk = DistortionRisk(OTHERS[name], name)
    found = classify(risk)
    assert found.kind == "none"
    assert found.certificate.verify()
    assert len(found.certificate.mixture.values) <= 3
    assert scope(risk).status in ("impossible", "jointly")


def test_200_random_piecewise_linear_distortions_are_refuted():
    random = np.random.default_rng(5)
    for _ in range(200):
        size = random.integers(1, 6)
        xs = np.concatenate([[0], np.sort(random.random(size)), [1]])
        ys = np.concatenate([[0], np.sort(random.random(size)), [1]])
        found = classify(DistortionRisk(knots(xs, ys)))
        assert found.kind == "none", (xs, ys)
        assert found.certificate.verify()
        assert len(found.certificate.mixture.values) <= 3


def test_partner_of_two_straight_lines():
    assert scope(DistortionRisk(OTHERS["cvar 0.9"])).partner.tau == pytest.approx(0.9)
    assert partner_of(DistortionRisk(OTHERS["half mean half cvar"])) == QuantileSpectral(0.5, 0.5)
    for name in ("square", "rvar", "root", "two steps", "lower tail"):
        assert partner_of(DistortionRisk(OTHERS[name])) is None


@pytest.mark.parametrize("risk", [CVaR(0.8), RangeVaR(0.1, 0.7), DualPower(3), QuantileMix(0.6, 0.4), EndpointMix(0.2)])
def test_value_is_the_integral_of_the_distorted_survival_function(risk):
    random = np.random.default_rng(0)
    values, weights = np.sort(random.normal(size=7)), random.dirichlet(np.ones(7))
    mesh = np.linspace(-6, 6, 400_001)
    survival = 1 - np.append(0, np.cumsum(weights))[np.searchsorted(values, mesh, side="right")]
    survival = np.where(mesh >= values[-1], 0.0, survival)
    h = risk.distort(np.clip(survival, 0, 1))
    integral = np.mean(np.where(mesh > 0, h, h - 1)) * 12
    assert risk.solve(values, weights) == pytest.approx(integral, abs=1e-4)


def test_spectrum_and_distortion_agree():
    tail = DistortionRisk.from_spectrum(lambda u: np.exp(5 * (u - 1)))
    from multivalid.properties import ExponentialSpectral

    y = [0.1, 0.4, 2.0, -1.0]
    assert tail.solve(y) == pytest.approx(ExponentialSpectral(5).solve(y), abs=1e-13)


def test_bad_distortions_are_refused():
    with pytest.raises(PropertyError, match=r"h\(0\) = 0"):
        DistortionRisk(lambda u: 0.5 + u / 2)
    with pytest.raises(PropertyError, match="decrease"):
        DistortionRisk(lambda u: np.where(u < 0.5, u, 2 * u - 1))
    with pytest.raises(PropertyError, match="finite"):
        DistortionRisk(lambda u: u * np.inf)
    with pytest.raises(InputError, match="h must be a function"):
        DistortionRisk(3)
    with pytest.raises(InputError, match="distortion risk"):
        classify(Variance())
