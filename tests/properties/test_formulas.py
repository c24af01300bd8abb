"""The score that is integrated from V, where V jumps on the way down from the label."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import multivalid as mv

BELOW = np.array([0.3, 0.2, 0.05])  # V jumps so far below the label, by a quarter each, and at the label


def steps(prediction, label):
    jumps = [prediction >= label - distance for distance in (*BELOW, 0.0)]
    return 0.25 * np.sum(jumps, axis=0) - 0.4


@pytest.mark.parametrize("prediction", [0.01, 0.31, 0.42, 0.47, 0.9])
def test_the_integral_of_a_v_with_jumps_is_the_sum_of_its_pieces(prediction):
    prop = mv.Property.from_identification(steps, breakpoints=lambda labels: labels[:, None] - BELOW[[1, 0, 2]])
    label = 0.5
    corners = np.unique([prediction, label, *(label - BELOW).clip(min(prediction, label), max(prediction, label))])
    pieces = sum(float(steps((a + b) / 2, label)) * (b - a) for a, b in itertools.pairwise(corners))
    by_hand = pieces if prediction > label else -pieces
    found = float(prop.score(np.array([prediction]), np.array([label]))[0] - prop.score(np.array([label]), np.array([label]))[0])
    assert found == pytest.approx(by_hand, abs=1e-12)
