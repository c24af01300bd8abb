"""Scores from identifications and back."""

import numpy as np
import pytest

from multivalid.errors import InputError
from multivalid.properties import Expectile, Huber, Mean, Quantile
from multivalid.scope import check_representation, identification_from_score, score_from_identification

RANDOM = np.random.default_rng(0)
A, B, Y = RANDOM.random((3, 500))


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_quantile_gives_pinball_differences(tau):
    score = score_from_identification(lambda g, y: (y <= g) - tau)
    pinball = Quantile(tau).score
    assert np.abs((score(A, Y) - score(B, Y)) - (pinball(A, Y) - pinball(B, Y))).max() <= 1e-12


def test_weighted_mean_gives_the_bregman_score():
    def phi(r):
        return r**2 / 2 + r**3 / 6

    def bregman(g, y):
        return phi(y) - phi(g) - (g + g**2 / 2) * (y - g)

    score = score_from_identification(Mean(), lambda r: 1 + r)
    assert np.abs((score(A, Y) - score(B, Y)) - (bregman(A, Y) - bregman(B, Y))).max() <= 1e-12


def test_breakpoints_and_start():
    prop = Huber(0.2)
    score = score_from_identification(prop, None, 0.5, lambda y: np.stack([y - 0.2, y + 0.2], axis=-1))
    assert np.abs(score(0.5, Y)).max() == 0
    assert np.abs((score(A, Y) - score(B, Y)) - (prop.score(A, Y) - prop.score(B, Y))).max() <= 1e-13


@pytest.mark.parametrize("prop", [Mean(), Expectile(0.8), Quantile(0.7)])
def test_identification_from_score(prop):
    away = np.abs(A - Y) > 1e-3
    assert np.abs(identification_from_score(prop)(A, Y) - prop.identify(A, Y))[away].max() < 1e-8


def test_check_accepts_every_weight_and_refuses_other_scores():
    assert check_representation(Quantile(0.9), Quantile(0.9)).holds
    assert check_representation(Expectile(0.8), Expectile(0.8)).holds
    cubic = check_representation(score_from_identification(Mean(), lambda r: 3 * r**2), Mean())
    assert cubic.holds
    assert cubic.weight == pytest.approx(3 * cubic.points**2, abs=1e-6)
    other = check_representation(Quantile(0.9), Quantile(0.5))
    assert not other.holds
    assert "not a multiple" in other.reason
    flipped = check_representation(lambda g, y: -((g - y) ** 2), Mean())
    assert not flipped.holds
    assert "wrong sign" in flipped.reason
    with pytest.raises(InputError, match="range"):
        check_representation(Mean(), Mean(), range=(1, 0))
