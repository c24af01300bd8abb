"""The coordinates of the fit of classes: inverses of triangles of every size."""

from __future__ import annotations

import numpy as np
import pytest

from multivalid.several.metric import SMALL, Metric, inverse_of_triangle


@pytest.mark.parametrize("size", [1, 2, SMALL, SMALL + 1, 3 * SMALL + 7])
def test_a_triangle_times_its_inverse_changes_nothing(size):
    square = np.random.default_rng(size).normal(size=(size, 2 * size))
    root = np.linalg.cholesky(square @ square.T)
    made = inverse_of_triangle(root)
    np.testing.assert_allclose(made @ root, np.eye(size), atol=1e-10)
    assert np.array_equal(made, np.tril(made))


def test_a_step_against_the_slope_is_that_of_newton():
    rng = np.random.default_rng(1)
    blocks = [square @ square.T for square in rng.normal(size=(3, 60, 90))]
    ridge, gradient = rng.uniform(0.1, 2.0, 60), rng.normal(size=(3, 60))
    metric = Metric(blocks, ridge)
    found = metric.back(metric.slope(gradient))
    expected = [np.linalg.solve(block + np.diag(ridge), row) for block, row in zip(blocks, gradient, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-4)
