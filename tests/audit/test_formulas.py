"""Small formulas of audits of pairs and of backtests, each against a second writing."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy.stats import chi2, norm

import multivalid as mv
from multivalid.audit.pair_cells import PairCells
from multivalid.audit.risk_tests import Dependence, Outcomes, christoffersen, frequency_tails, severity
from multivalid.audit.severity_law import NORMAL, PROBABILITY, severity_tails
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


def test_two_exceedances_are_enough_for_their_severity():
    exceeded = np.arange(50) < 2
    excess = np.where(exceeded, np.array([0.5, 2.5] + 48 * [0.0]), 0.0)
    rows = Outcomes(exceeded, np.zeros(50, dtype=bool), np.ones(50), 0.96)
    found = severity(excess, rows, Dependence())
    assert found.mean == pytest.approx(1.5)
    assert np.isfinite(found.tails).all()
    alone = severity(
        np.where(np.arange(50) < 1, 0.5, 0.0), Outcomes(np.arange(50) < 1, rows.tied, rows.weights, 0.96), Dependence()
    )
    assert np.isnan(alone.tails).all()


@pytest.mark.parametrize("tied", [0, 1, 2, 9])
def test_the_spread_of_severity_by_hand(tied):
    """Weighted ratios about their mean, and the number of exceedances as far as ties make up for it."""
    rng = np.random.default_rng(11)
    weight, excess = rng.integers(1, 4, 120).astype(float), np.zeros(120)
    excess[:7] = rng.exponential(1.4, 7)
    equal = (np.arange(120) >= 7) & (np.arange(120) < 7 + tied)
    rows = Outcomes(np.arange(120) < 7, equal, weight, 0.9)
    w, ratio, ties = weight[:7], excess[:7], weight[7 : 7 + tied].sum()
    tail = min(max(w.sum(), 0.1 * weight.sum()), w.sum() + ties)
    own, effective = np.average(ratio, weights=w), w.sum() ** 2 / (w @ w)
    counted = own**2 * min((w @ w) * (1 - w.sum() / weight.sum()), ties**2 / 4)
    variance = (((w * (ratio - own)) ** 2).sum() * effective / (effective - 1) + counted) / tail**2
    found = severity(excess, rows, Dependence())
    assert found.mean == pytest.approx(w @ ratio / tail)
    assert found.spread == pytest.approx(variance**0.5)


def test_beyond_the_table_a_tail_falls_as_steeply_as_in_its_last_part():
    last, before = NORMAL[-1][0], NORMAL[-1][1]
    steep = log(PROBABILITY[0] / PROBABILITY[1]) / (last - before)
    for far in (0.0, 0.5, 3.0):
        assert severity_tails(last + far, 1e9)[1] == pytest.approx(PROBABILITY[0] * np.exp(steep * far))


def test_on_the_other_side_of_the_table_a_tail_rises_to_one_without_a_jump():
    last = float(NORMAL[-1][-1])
    for far in (1e-9, 0.5, 3.0):
        assert severity_tails(last - far, 1e9)[1] == pytest.approx(1 - (1 - PROBABILITY[-1]) * np.exp(-far))


def test_the_shortfall_that_would_be_detected_by_hand():
    """At 5 % two-sided over two groups, found four times in five; an X of mean 1 + d comes from an ES short of d·(ES − VaR)."""
    rng = np.random.default_rng(5)
    y, var = rng.standard_t(5, 4000), 2.0
    group = np.arange(4000) % 3 == 0
    found = mv.backtest(y, np.full(4000, var), np.full(4000, 2.9), tau=0.95, groups=[group]).table
    for g, inside in enumerate((np.ones(4000, dtype=bool), group)):
        ratio = (y[inside & (y > var)] - var) / 0.9
        # The standard error of the mean of X, in units of ES: X times (ES − VaR)/ES.
        away = (norm.ppf(1 - 0.05 / 4) + norm.ppf(0.8)) * ratio.std(ddof=1) / np.sqrt(ratio.size) * 0.9 / 2.9
        assert found["detectable_es"][g] == pytest.approx(away / (1 + away), rel=0.05)


def pair_rows(seed=0, rows=1200):
    """A mean and a variance on 3 × 2 levels, weighted, with two groups."""
    rng = np.random.default_rng(seed)
    said = np.stack([rng.choice([0.2, 0.5, 0.9], rows), rng.choice([0.04, 0.09], rows)], axis=1)
    y = said[:, 0] + rng.normal(size=rows) * np.sqrt(said[:, 1]) * 1.2 + 0.05 * (rng.random(rows) < 0.3)
    return y, said, rng.choice([0.5, 2.0], rows), [rng.random(rows) < 0.4, rng.random(rows) < 0.1]


def test_the_bound_of_a_pair_takes_every_level_of_the_other_prediction_by_itself():
    y, said, weight, groups = pair_rows()
    found = mv.audit(y, said, groups=groups, property="mean_variance", sample_weight=weight)
    for k in range(2):
        largest = []
        for level in np.unique(said[:, 1 - k]):
            inside = said[:, 1 - k] == level
            # The same rows as groups of one coordinate's audit: everyone, then each group at each level of the other.
            largest += [group & inside for group in (np.ones(y.size, dtype=bool), *groups)]
        v = (said[:, 0] - y, said[:, 1] - (y - said[:, 0]) ** 2)[k]
        cells = [[v[mask & (said[:, k] == one)] for one in np.unique(said[:, k])] for mask in largest]
        weights = [[weight[mask & (said[:, k] == one)] for one in np.unique(said[:, k])] for mask in largest]
        seen = [
            sum((w @ x) ** 2 / w.sum() for x, w in zip(row, mine, strict=True) if w.size) / weight.sum()
            for row, mine in zip(cells, weights, strict=True)
        ]
        bound = found.holdout_bound[k]
        assert max(seen) < bound < max(seen) * 4 + 0.02
        assert bound == pytest.approx(found_bound(y, said, weight, groups, k), rel=1e-9)


def found_bound(y, said, weight, groups, k):
    """By the sums of one coordinate, cut row by row."""
    from multivalid.cells.chance import evidence
    from multivalid.levels import SIGNIFICANCE

    found = mv.audit(y, said, groups=groups, property="mean_variance", sample_weight=weight)
    sums, shape = found._read.sums[k], (3, 2)
    made = {}
    for name, table in sums.chance.items():
        cube = table.reshape(*shape, -1)  # places are (first, second)
        columns = [cube[:, :, 0].sum(axis=1 - k)]
        for other in range(shape[1 - k]):
            columns += [cube[:, other, g] if k == 0 else cube[other, :, g] for g in range(cube.shape[2])]
        made[name] = np.stack(columns, axis=1)
    parts = evidence(sums.law, made, scale=sums.scale)
    return float(np.max(parts.errors.upper(SIGNIFICANCE)[1:])) * parts.scale**2


def test_cells_of_a_pair_by_plain_loops():
    y, said, weight, groups = pair_rows(3)
    found = mv.audit(y, said, groups=groups, property="mean_variance", sample_weight=weight).cells
    every = [np.ones(y.size, dtype=bool), *groups]
    for i, first in enumerate(np.unique(said[:, 0])):
        for j, second in enumerate(np.unique(said[:, 1])):
            for g, group in enumerate(every):
                inside = (said[:, 0] == first) & (said[:, 1] == second) & group
                w, label = weight[inside], y[inside]
                mean = np.average(label, weights=w)
                at = (i, j, g)
                assert (found.rows[at], found.mass[at]) == (inside.sum(), pytest.approx(w.sum() / weight.sum()))
                assert (found.first[at], found.first_gap[at]) == (pytest.approx(first - mean), pytest.approx(first - mean))
                assert found.seen[at] == pytest.approx(second - np.average((label - first) ** 2, weights=w))
                variance = np.average((label - mean) ** 2, weights=w)
                assert (found.second[at], found.second_gap[at]) == (
                    pytest.approx(second - variance),
                    pytest.approx(second - variance),
                )
                share = w / w.sum()
                for noise, v in ((found.first_noise, first - label), (found.seen_noise, second - (label - first) ** 2)):
                    # The mean product of two different rows has no noise in it.
                    apart = ((share @ v) ** 2 - share**2 @ v**2) / (1 - share @ share)
                    assert noise[at] == pytest.approx((share @ v) ** 2 - apart)
    assert found.first_errors() == pytest.approx((found.mass * found.first**2).sum(axis=0).max(axis=0))
    assert found.second_errors() == pytest.approx((found.mass * found.second**2).sum(axis=1).max(axis=0))
    assert (found.first_variance == np.maximum(found.first_noise, 0)).all()
    assert (found.seen_variance == np.maximum(found.seen_noise, 0)).all()


def test_columns_that_are_off_come_worst_first_over_all_columns():
    rng = np.random.default_rng(4)
    y = rng.normal(size=4000)
    members = [rng.random(4000) < 0.3 for _ in range(3)]
    said = np.stack([np.full(4000, -0.9), np.full(4000, 0.4)], axis=1)
    y = y + 0.6 * members[0] - 0.9 * members[1]
    found = mv.audit(y, said, groups=members, property=mv.Quantiles([0.2, 0.7]))
    told = [(one.table["rms"][i], key) for one, key, i in found._worst_first()]
    assert len(told) > 4
    assert [rms for rms, _ in told] == sorted((rms for rms, _ in told), reverse=True)
    off = {(key, one.table["name"][i]) for one, key in zip(found.coordinates, found.property.keys, strict=True)
           for i in range(4) if one.table["p_adjusted"][i] <= 0.05}  # fmt: skip
    assert {(key, one.table["name"][i]) for one, key, i in found._worst_first()} == off
    assert found.verdict.count(",") == 3 if len(told) > 3 else found.verdict


def test_standard_errors_and_deviates_of_cells():
    y, said, weight, groups = pair_rows(5)
    found = mv.audit(y, said[:, 0], groups=groups, sample_weight=weight)
    (one,) = found.coordinates
    rows, filled = one.evidence, one.sums.weight > 0
    spread = np.sqrt(np.maximum(rows.cell_variance(), 0)) * rows.scale / rows.sums["weight"]
    assert found.cells["standard_error"] == pytest.approx(spread[filled])
    assert found.cells["z"] == pytest.approx((rows.cell_z() / np.sqrt(rows.stretch))[filled])
    wide = np.abs(found.cells["identification"] / found.cells["standard_error"] / found.cells["z"])
    assert 0.5 < np.median(wide) < 2
