"""The falsifier: it finds nothing where there is nothing, is reproducible, and keeps its time limit."""

import subprocess
import sys
import time

import numpy as np
import pytest

from multivalid.errors import InputError
from multivalid.properties import CVaR, Expectile, Mode, QuantileMix, Variance
from multivalid.scope import falsify, scope


def mean(values, weights):
    return weights @ values


def lower_quantile(values, weights):
    return values[min(np.searchsorted(np.cumsum(weights), 0.9), values.size - 1)]


def size_weighted_mean(values, weights):
    return (weights @ values**2) / (weights @ values) if values.any() else float("nan")


@pytest.mark.parametrize("function", [mean, lower_quantile, size_weighted_mean])
def test_nothing_is_found_where_level_sets_are_convex(function):
    search = falsify(function, trials=10_000, seconds=None)
    assert search.certificate is None
    assert search.trials == 10_000


def test_nothing_is_found_for_the_expectile():
    search = falsify(Expectile(0.8), trials=3_000, seconds=None)
    assert (search.certificate, search.trials) == (None, 3_000)


@pytest.mark.parametrize("functional", [Mode(), QuantileMix(0.5, 0.5), QuantileMix(0.9, 0.3)])
def test_nothing_is_found_for_convex_level_sets_without_elicitability(functional):
    assert falsify(functional, trials=500, seconds=None).certificate is None


def test_same_seed_same_certificate():
    one, two = (falsify(CVaR(0.7), seed=3, seconds=None) for _ in range(2))
    assert one.certificate == two.certificate
    assert one.trials == two.trials
    assert falsify(CVaR(0.7), seed=4, seconds=None).certificate != one.certificate
    assert "seed 3" in one.summary()


@pytest.mark.parametrize("labels", [(-3.0, 7.0), (0.0, 1e6), (1000.0, 1001.0), (-1e-3, 1e-3)])
def test_labels_in_other_units(labels):
    search = falsify(Variance(), labels=labels, trials=50)
    assert search.certificate is not None
    assert all(labels[0] <= value <= labels[1] for value in search.certificate.mixture.values)
    assert falsify(mean, labels=labels, trials=300).certificate is None


def raises(values, weights):
    raise RuntimeError("out of order")


def exits(values, weights):
    raise SystemExit(3)


HOSTILE = {
    "raises": (raises, "out of order"),
    "exits": (exits, "SystemExit"),
    "nan": (lambda values, weights: float("nan"), "nan"),
    "infinite": (lambda values, weights: float("inf"), "inf"),
    "string": (lambda values, weights: "0.5", "not a number"),
    "none": (lambda values, weights: None, "not a number"),
    "complex": (lambda values, weights: 1j, "not a number"),
    "array": (lambda values, weights: values, "not a number"),
    "no arguments": (lambda: 1.0, "TypeError"),
    "sleeps": (lambda values, weights: time.sleep(3600), "did not return"),
    "random": (lambda values, weights: np.random.default_rng().random(), "different answers"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_functions_stay_undecided_with_the_reason(name):
    function, reason = HOSTILE[name]
    start = time.perf_counter()
    verdict = scope(function, seconds=0.3)
    assert verdict.status == "undecided"
    assert reason in verdict.reason
    assert verdict.certificate is None
    assert time.perf_counter() - start < 5


def test_division_by_zero_is_a_law_without_answer_and_no_warning():
    verdict = scope(lambda values, weights: weights @ (1 / values), trials=100)
    assert verdict.status == "undecided"
    assert 0 < verdict.search.failures < verdict.search.calls / 2


def test_a_function_that_spoils_its_arguments_harms_only_itself():
    def spoils(values, weights):
        values[:] = 0
        weights[:] = 0
        return 0.0

    assert scope(spoils).status == "undecided"


def test_a_sleeping_function_does_not_keep_the_interpreter_from_exiting():
    code = "import time; from multivalid.scope import scope; print(scope(lambda v, w: time.sleep(3600), seconds=0.2).status)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "undecided"


def test_bad_arguments_are_named():
    with pytest.raises(InputError, match="labels"):
        falsify(mean, labels=(1, 1))
    with pytest.raises(InputError, match="trials"):
        falsify(mean, trials=0)
    with pytest.raises(InputError, match="seed"):
        falsify(mean, seed=-1)
    with pytest.raises(InputError, match=r"Quantile\(0.9\)"):
        scope(3)
    with pytest.raises(InputError, match="function of"):
        scope(Variance)
