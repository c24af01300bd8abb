"""The library's functionals against exact rational arithmetic, on random laws with ties at the levels."""

from fractions import Fraction

import numpy as np
import pytest

from multivalid.properties import (
    CentralMoment,
    CVaR,
    DualPower,
    EndpointMix,
    Expectile,
    ExpectileVariantile,
    GiniDeviation,
    InterquartileRange,
    Law,
    MinVar,
    Quantile,
    QuantileCVaR,
    QuantileMix,
    RangeVaR,
    Variance,
    Variantile,
)
from tests.reference import scope as reference

F = Fraction
HALF, THREE_QUARTERS, QUARTER = F(1, 2), F(3, 4), F(1, 4)


def clip(u):
    return min(max(u, F(0)), F(1))


def step(u, at, middle):
    return F(u > at) if u != at else middle


CASES = [
    (Variance(), lambda law: reference.central_moment(law, 2)),
    (CentralMoment(3), lambda law: reference.central_moment(law, 3)),
    (GiniDeviation(), reference.gini),
    (Quantile(0.75), lambda law: reference.quantile(law, THREE_QUARTERS)),
    (InterquartileRange(), lambda law: reference.quantile(law, THREE_QUARTERS) - reference.quantile(law, QUARTER)),
    (CVaR(0.75), lambda law: reference.cvar(law, THREE_QUARTERS)),
    (CVaR(0.5), lambda law: reference.distortion(law, lambda u: clip(2 * u))),
    (RangeVaR(0.25, 0.75), lambda law: reference.distortion(law, lambda u: clip(2 * u - HALF))),
    (MinVar(2), lambda law: reference.distortion(law, lambda u: u**2)),
    (DualPower(3), lambda law: reference.distortion(law, lambda u: 1 - (1 - u) ** 3)),
    (QuantileMix(0.5, 0.25), lambda law: reference.distortion(law, lambda u: step(u, HALF, THREE_QUARTERS))),
    (EndpointMix(0.25), lambda law: QUARTER * min(law) + THREE_QUARTERS * max(law)),
    (Expectile(0.75), lambda law: reference.expectile(law, THREE_QUARTERS)),
    (Variantile(0.75), lambda law: reference.variantile(law, THREE_QUARTERS)),
]


def random_law(random):
    # Multiples of 1/8 as probabilities: cumulative sums hit the levels 1/4, 1/2 and 3/4 exactly.
    values = random.choice(np.arange(-8, 9), size=int(random.integers(1, 6)), replace=False)
    cuts = np.sort(random.choice(np.arange(1, 8), size=values.size - 1, replace=False))
    eighths = np.diff(np.concatenate([[0], cuts, [8]]))
    return {F(int(value), 4): F(int(part), 8) for value, part in zip(values, eighths, strict=True)}


@pytest.mark.parametrize(("functional", "exact"), CASES, ids=[repr(functional) for functional, _ in CASES])
def test_exact_values(functional, exact):
    random = np.random.default_rng(7)
    for _ in range(200):
        law = random_law(random)
        got = functional.solve([float(v) for v in law], [float(p) for p in law.values()])
        assert got == pytest.approx(float(exact(law)), rel=1e-12, abs=1e-13)


def test_mixtures_agree():
    random = np.random.default_rng(8)
    for _ in range(100):
        one, two = random_law(random), random_law(random)
        exact = reference.mix(one, two, F(1, 4))
        laws = [Law.of([float(v) for v in law], [float(p) for p in law.values()]) for law in (one, two)]
        mixed = laws[0].mix(laws[1], 0.25)
        assert mixed.values == tuple(float(v) for v in sorted(exact))
        assert mixed.weights == pytest.approx([float(exact[v]) for v in sorted(exact)])


def test_pairs_agree():
    random = np.random.default_rng(9)
    for _ in range(100):
        law = random_law(random)
        y, w = [float(v) for v in law], [float(p) for p in law.values()]
        exact = float(reference.quantile(law, THREE_QUARTERS)), float(reference.cvar(law, THREE_QUARTERS))
        assert QuantileCVaR(0.75).solve(y, w) == pytest.approx(exact, rel=1e-12, abs=1e-13)
        exact = float(reference.expectile(law, THREE_QUARTERS)), float(reference.variantile(law, THREE_QUARTERS))
        assert ExpectileVariantile(0.75).solve(y, w) == pytest.approx(exact, rel=1e-12, abs=1e-13)
