"""What the search for counterexamples tries, and how large an error it takes a function to have."""

from __future__ import annotations

import numpy as np
import pytest

from multivalid.properties import Mean
from multivalid.scope import FiniteWorld
from multivalid.scope.level_sets import STRIDE, Hunt

SUPPORT, WEIGHTS = np.array([0.0, 0.3, 1.0]), np.array([0.2, 0.5, 0.3])


@pytest.mark.parametrize("number", [1, 3, 5])
def test_a_point_mass_is_compared_with_the_two_ends_in_the_shares_that_have_its_value(number):
    """For a mean the three laws {lo, hi}, {value} and any mixture agree, so that each guess is a pair compared."""
    hunt = Hunt(Mean(), 2.0, 6.0, 0)
    assert hunt._guess(number) is None
    assert hunt.pairs == 1


def needed(function):
    return Hunt(function, 0.0, 1.0, 0)._needed(SUPPORT, (WEIGHTS,), (function(SUPPORT, WEIGHTS),))


def test_a_mean_has_no_error():
    assert needed(lambda values, weights: float(values @ weights)) < 1e-12


@pytest.mark.parametrize("half", [False, True])
def test_the_error_of_a_function_is_half_of_what_is_off_the_line(half):
    """A mean that is 0.01 too large after one of the four steps that are tried, a whole or a half one towards the first atom."""

    def rounded(values, weights):
        moved = (weights[0] - WEIGHTS[0]) / (STRIDE * (1 - WEIGHTS[0]))
        return float(values @ weights) + 0.01 * (abs(moved - (0.5 if half else 1.0)) < 0.01)

    assert needed(rounded) == pytest.approx(20 * 0.01 / 2, rel=1e-6)


def test_a_level_with_a_tie_goes_by_its_lowest_prediction():
    world = FiniteWorld.from_table(["a", "b", "c"], [0, 1, 2])
    cells = world.check(Mean(), [0.1, 0.12, 2.0], tie=0.05).cells
    assert [cell.prediction for cell in cells] == [0.1, 2.0]
