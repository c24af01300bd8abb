"""The joint score: least at the true pair, FZ0 for (VaR, ES), Gaussian likelihood for (mean, variance)."""

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError

BAYES = [
    mv.QuantileCVaR(0.9),
    mv.MeanVariance(),
    mv.ExpectileVariantile(0.7),
    mv.BayesPair(mv.Quantile(0.6)),
    mv.QuantileSpectral(0.8, 0.5),
]


@pytest.mark.parametrize("pair", BAYES, ids=repr)
@pytest.mark.parametrize("scale", [None, 2.0])
def test_least_at_the_true_pair(pair, scale):
    y = np.random.default_rng(0).gamma(2.0, 1.0, 3000)
    truth = pair.solve(y)
    best = mv.joint_score(pair, *truth, y, scale=scale).mean()
    for first in (0.8, 0.95, 1.0, 1.05, 1.2):
        for second in (0.7, 0.95, 1.0, 1.05, 1.4):
            assert mv.joint_score(pair, first * truth[0], second * truth[1], y, scale=scale).mean() >= best - 1e-12


def test_fissler_ziegel_and_gauss():
    y, v, e = np.array([1.0, 3.0]), 2.0, 2.5
    expected = np.maximum(y - v, 0) / (0.1 * e) + v / e + np.log(e) - 1
    np.testing.assert_allclose(mv.joint_score(mv.QuantileCVaR(0.9), v, e, y), expected)
    gauss = np.log(e) + (y - v) ** 2 / e
    np.testing.assert_allclose(mv.joint_score(mv.MeanVariance(), v, e, y), gauss - 1)


def test_refusals():
    with pytest.raises(InputError, match="no Bayes pair"):
        mv.joint_score(mv.QuantileIQR(), 0.0, 1.0, 0.5)
    with pytest.raises(InputError, match="scale="):
        mv.joint_score(mv.QuantileCVaR(0.9), 0.0, -1.0, 0.5)
