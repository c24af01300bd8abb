"""Small formulas of Algorithm 1 whose terms cancel where L = 1 or where one level is the least."""

from __future__ import annotations

import numpy as np
import pytest

import multivalid as mv
from multivalid.batch.rules import nearest_minimum


def test_the_printed_promise_grows_with_the_square_of_the_slope():
    """α = 4L²/m: an expectile at 0.8 has L = 1.6."""
    y = np.linspace(0, 1, 200)
    made = mv.multicalibrate(y, np.full(200, 0.4), groups=[], property="expectile:0.8", mode="paper", m=20)
    assert made.certificate.alpha == pytest.approx(4 * 1.6**2 / 20)


@pytest.mark.parametrize(("level", "nearest"), [(0, 0), (1, 0), (2, 3), (4, 3)])
def test_of_two_levels_that_score_alike_the_nearer_one_is_taken(level, nearest):
    assert nearest_minimum(np.array([0.25, 1.0, 1.0, 0.25, 2.0]), level, 1.0) == nearest


def test_cells_that_stay_off_come_back_from_a_file(tmp_path):
    made = mv.multicalibrate(
        np.full(200, 0.5), np.full(200, 0.1), groups=[], property="quantile:0.5", mode="paper", grid=mv.Grid.paper(20), lipschitz=1
    )
    assert made.certificate.blocked
    made.save(tmp_path / "m.json")
    assert mv.load(tmp_path / "m.json").certificate.blocked == made.certificate.blocked
