"""L-BFGS of our own beside SciPy's, on convex functions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from multivalid.several.descent import minimum


def logistic(seed: int, rows: int = 400, size: int = 12, ridge: float = 1.0):
    """Log loss of a regression with a ridge, with its gradient."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, size)) * np.exp(rng.normal(0, 1, size))
    y = rng.random(rows) < 1 / (1 + np.exp(-x @ rng.normal(size=size)))

    def function(at):
        eta = x @ at
        share = 1 / (1 + np.exp(-np.clip(eta, -500, 500)))
        return float(np.logaddexp(0, eta).sum() - eta[y].sum() + ridge * at @ at / 2), x.T @ (share - y) + ridge * at

    return function, size


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("far", [0.0, 5.0])
def test_the_same_minimum_as_scipy(seed, far):
    """From zero and from far away, where the first whole step is much too long."""
    function, size = logistic(seed)
    start = far * np.random.default_rng(seed).normal(size=size)
    ours = minimum(function, start, steps=1000, tolerance=1e-14)
    theirs = minimize(function, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "ftol": 1e-15, "gtol": 1e-9})
    assert function(ours)[0] == pytest.approx(theirs.fun, rel=1e-9)
    np.testing.assert_allclose(ours, theirs.x, atol=1e-3)


def test_a_start_at_the_minimum_stays():
    """No step is made where the gradient is zero, and none is worse than the start."""
    at = np.array([1.0, -2.0])
    assert np.array_equal(minimum(lambda x: (float((x - at) @ (x - at)), 2 * (x - at)), at, steps=10, tolerance=0.0), at)
    function, size = logistic(0)
    assert function(minimum(function, np.zeros(size), steps=1, tolerance=0.0))[0] < function(np.zeros(size))[0]
