"""Small formulas of audits of pairs and of backtests, each against a second writing."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy.stats import chi2

from multivalid.audit.pair_cells import PairCells
from multivalid.audit.risk_tests import Dependence, Outcomes, christoffersen, frequency_tails
from multivalid.cells.clusters import FEWEST


def test_debiased_errors_of_a_pair_use_every_cell_of_two_rows():
    rng = np.random.default_rng(6)
    shape = (3, 2, 2)  # levels of the first, of the second, groups
    rows = rng.integers(0, 4, shape).astype(float)
    mass, first, seen = rng.random(shape), rng.normal(size=shape), rng.normal(size=shape)
    first_noise, seen_noise = rng.random(shape) / 9, rng.random(shape) / 7
    zero = np.zeros(shape)
    found = PairCells(rows, mass, first, seen, zero, zero, zero, first_noise, seen_noise).debiased()
    assert (rows == 2).any(), "the case must be there"
    for g in range(2):

        def part(i, j, v, noise, g=g):
            return mass[i, j, g] * (v[i, j, g] ** 2 - noise[i, j, g]) if rows[i, j, g] >= 2 else 0.0

        over_first = [sum(part(i, j, first, first_noise) for i in range(3)) for j in range(2)]
        over_second = [sum(part(i, j, seen, seen_noise) for j in range(2)) for i in range(3)]
        assert found[0][g] == pytest.approx(max(over_first))
        assert found[1][g] == pytest.approx(max(over_second))


@pytest.mark.parametrize(("clusters", "known"), [(FEWEST - 1, False), (FEWEST, True)])
def test_so_many_clusters_it_takes_to_tell_how_often(clusters, known):
    number = np.repeat(np.arange(int(clusters)), 20)
    rows = Outcomes(number % 3 == 0, np.zeros(number.size, dtype=bool), np.ones(number.size), 0.9)
    tails = frequency_tails(rows, Dependence(number))
    assert np.isfinite(tails).tolist() == [known, known]


def test_two_days_are_enough_for_the_order_of_exceedances():
    """A quiet day and then a loud one: both models by hand."""
    tau = 0.9
    statistic, p = christoffersen(np.array([False, True]), tau)
    by_hand = 2 * (log(1.0) - log(1 - tau))  # the second day has chance 1 after a quiet day, or 1 − τ
    assert statistic == pytest.approx(by_hand)
    assert p == pytest.approx(chi2.sf(by_hand, 2))
    assert np.isnan(christoffersen(np.array([True]), tau)).all()
