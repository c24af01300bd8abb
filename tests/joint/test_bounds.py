"""Constants of the theorems, by hand."""

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.joint.bounds import second_error_bound, update_bound


def test_cvar_constants_by_hand():
    found = mv.cvar_constants(0.5, 100, least_density=0.01, most_density=4.0)
    assert found.alpha_first == pytest.approx(4 * 16 / 100)
    assert found.alpha_stage == pytest.approx(4 * 4 / 100)
    assert found.alpha_second == pytest.approx(8 * (16 + 1) / (100 * 0.25))
    assert found.anti_lipschitz == 100.0
    assert found.alpha_second_printed == pytest.approx(2 * ((1 / 0.01) ** 2 * 0.64 + 0.16))
    # The printed theorem takes M₁ for L_a, and an admissible output has an error of .148, above its .0801.
    assert pytest.approx(0.0801, abs=1e-4) == 8 / 100 * ((0.01 * 4) ** 2 + 1)
    assert found.alpha_second > 0.148


@pytest.mark.parametrize(
    "arguments",
    [
        {"tau": 1.0, "m": 10, "least_density": 1.0, "most_density": 2.0},
        {"tau": 0.5, "m": 0, "least_density": 1.0, "most_density": 2.0},
        {"tau": 0.5, "m": 10, "least_density": 0.0, "most_density": 2.0},
        {"tau": 0.5, "m": 10, "least_density": 3.0, "most_density": 2.0},
    ],
)
def test_cvar_constants_refuse(arguments):
    with pytest.raises(InputError):
        mv.cvar_constants(**arguments)


def test_legal_output_that_breaks_the_printed_constant():
    # τ = ½, m = 100: the density is .01 up to just below ½, so γ⁰ = .5 misses the quantile by far although V⁰ is small.
    found = mv.cvar_constants(0.5, 100, least_density=0.01, most_density=4.0)
    assert found.alpha_second_printed > found.alpha_second


def test_bound_names_its_argument():
    bayes = second_error_bound(mv.QuantileCVaR(0.9).facts(0, 2), 0.01, 0.02)
    assert bayes.value == pytest.approx(2 * ((2 / 0.1) ** 2 * 0.01 + 0.02))
    assert "Bayes" in bayes.reason
    known = second_error_bound(mv.MeanMoment(4).facts(), 0.01, 0.02)
    assert known.value == pytest.approx(2 * (16 * 0.01 + 0.02))
    assert "L_a" in known.reason
    unknown = second_error_bound(mv.QuantileIQR().facts(), 0.01, 0.02)
    assert unknown.value is None
    assert "L_c and L_a" in unknown.reason
    sharper = second_error_bound(mv.QuantileCVaR(0.9).facts(0, 2), 0.01, 0.02, anti=0.5)
    assert sharper.value == pytest.approx(2 * ((9 * 0.5) ** 2 * 0.01 + 0.02))


def test_bayes_excess_inequality_on_random_laws():
    random = np.random.default_rng(0)
    for pair in (mv.QuantileCVaR(0.8), mv.MeanVariance(), mv.ExpectileVariantile(0.3), mv.BayesPair(mv.Huber(0.3))):
        facts = pair.facts()
        for _ in range(200):
            y, guess = random.random(random.integers(1, 8)), random.random()
            excess = pair.solve_second(guess, y) - pair.solve(y)[1]
            v = abs(pair.first.identify(guess, y).mean())
            assert -1e-12 <= excess <= facts.bayes_scale * facts.first.range.length * v + 1e-12


def test_update_bound():
    assert update_bound(0, 5) == 5
    assert update_bound(2, 5) == 17
