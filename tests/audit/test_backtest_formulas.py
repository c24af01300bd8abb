"""The tests of a backtest written out: dependence by double sums over rows, tails from their laws, and what the table makes of them."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import multivalid as mv
from multivalid.audit import backtest as module
from multivalid.audit.risk_tests import (
    Dependence,
    Outcomes,
    by_name,
    christoffersen,
    frequency_tails,
    kupiec,
    severity,
)
from multivalid.audit.severity_law import severity_tails
from multivalid.cells.clusters import FEWEST
from multivalid.cells.pearson import lower_tail, upper_tail
from multivalid.errors import InputError

RNG = np.random.default_rng
ALONE = Dependence()


def together(terms, dependence):
    """Variance of the sum by a double sum over rows."""
    total = 0.0
    for i, one in enumerate(terms):
        for j, other in enumerate(terms):
            if dependence.cluster is not None:
                share = float(dependence.cluster[i] == dependence.cluster[j])
            else:
                lags = min(dependence.lags, len(terms) - 1)
                share = max(0.0, 1 - abs(i - j) / (lags + 1))
            total += share * one * other
    return total


DEPENDENCES = [ALONE, Dependence(lags=1), Dependence(lags=4), Dependence(lags=99), Dependence(np.arange(40) % 13)]


@pytest.mark.parametrize("dependence", DEPENDENCES)
@pytest.mark.parametrize("trend", [0.0, 1.0])
def test_dependence_stretches_a_variance(dependence, trend):
    terms = RNG(3).normal(size=40) + trend
    assert dependence.stretch(terms) == pytest.approx(max(1.0, together(terms, dependence) / (terms @ terms)))
    assert dependence.stretch(np.zeros(40)) == 1.0


def test_clusters_are_as_good_as_so_many_of_equal_weight():
    weights = RNG(0).random(40)
    sizes = [weights[np.arange(40) % 13 == k].sum() for k in range(13)]
    assert DEPENDENCES[-1].freedom(weights) == pytest.approx(sum(sizes) ** 2 / sum(s**2 for s in sizes) - 1)
    assert Dependence(np.zeros(4, dtype=int)).freedom(np.ones(4)) == 0.0
    assert ALONE.freedom(weights) == math.inf
    inside = weights > 0.5
    np.testing.assert_array_equal(DEPENDENCES[-1].of(inside).cluster, (np.arange(40) % 13)[inside])
    assert Dependence(lags=4).of(inside).lags == 4


def outcomes(seed=0, rows=40, tau=0.9, weighted=True, tied=2, share=0.2):
    rng = RNG(seed)
    place = rng.permutation(rows)
    exceeded = place < round(share * rows)
    weights = rng.choice([0.4, 1.0], rows) if weighted else np.ones(rows)
    return Outcomes(exceeded, (place >= rows - tied), weights, tau)


def test_weights_in_the_tail():
    for share, tied in ((0.2, 2), (0.05, 2), (0.05, 0), (0.05, 9)):
        rows = outcomes(share=share, tied=tied)
        beyond, equal = rows.weights[rows.exceeded].sum(), rows.weights[rows.tied].sum()
        expected = 0.1 * rows.weights.sum()
        assert (rows.expected, rows.beyond, rows.equal) == (pytest.approx(expected), pytest.approx(beyond), pytest.approx(equal))
        assert rows.tail == pytest.approx(beyond if beyond >= expected else min(expected, beyond + equal))


@pytest.mark.parametrize("count", [0, 1, 4, 12, 39])
@pytest.mark.parametrize("tied", [0, 3])
def test_counts_have_the_binomial_law_and_ties_count_among_the_few(count, tied):
    if count + tied > 40:
        return
    place = np.arange(40)
    rows = Outcomes(place < count, (place >= count) & (place < count + tied), np.full(40, 0.7), 0.9)
    law = stats.binom(40, 0.1)
    low, high = frequency_tails(rows, ALONE)
    few = count + tied if count + tied <= 40 else 40
    assert low == pytest.approx(law.cdf(few - 1) + law.pmf(few) / 2)
    assert high == pytest.approx(law.sf(count) + law.pmf(count) / 2)


def test_weighted_counts_have_three_moments():
    rows = outcomes(tied=3)
    w, tau = rows.weights, 0.9
    variance = 0.09 * (w**2).sum()
    skewness = 0.09 * 0.8 * (w**3).sum() / variance**1.5
    few, many = w @ (rows.exceeded | rows.tied) - 0.1 * w.sum(), w @ rows.exceeded - 0.1 * w.sum()
    assert frequency_tails(rows, ALONE) == pytest.approx(
        (float(lower_tail(few / variance**0.5, skewness)), float(upper_tail(many / variance**0.5, skewness)))
    )
    assert tau == rows.tau


@pytest.mark.parametrize("dependence", DEPENDENCES[1:])
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_dependent_counts_have_students_law(dependence, share):
    rows = outcomes(1, share=share)
    w = rows.weights
    found = []
    for hit, side in ((rows.exceeded | rows.tied, 1), (rows.exceeded, -1)):
        terms = w * (hit - 0.1)
        variance = max(0.09 * (w @ w), max(together(terms, dependence), terms @ terms))
        law = stats.norm if dependence.cluster is None else stats.t(dependence.freedom(w))
        found.append(law.cdf(side * terms.sum() / variance**0.5))
    assert dependence.freedom(w) >= FEWEST - 1
    assert frequency_tails(rows, dependence) == pytest.approx(tuple(found), rel=1e-6)


@pytest.mark.parametrize("dependence", DEPENDENCES)
@pytest.mark.parametrize(("share", "tied"), [(0.3, 2), (0.075, 6), (0.075, 1)])
def test_the_severity_of_exceedances_written_out(dependence, share, tied):
    rows = outcomes(4, share=share, tied=tied)
    excess = np.where(rows.exceeded, RNG(5).exponential(1.3, 40), 0.0)
    w, x = rows.weights[rows.exceeded], excess[rows.exceeded]
    effective, own = w.sum() ** 2 / (w @ w), w @ x / w.sum()
    found = severity(excess, rows, dependence)
    assert found.mean == pytest.approx(w @ x / rows.tail)
    ties = own**2 * min((w @ w) * (1 - w.sum() / rows.weights.sum()), rows.equal**2 / 4)
    variance = (((w * (x - own)) ** 2).sum() * effective / (effective - 1) + ties) / rows.tail**2
    if rows.tail > rows.beyond:
        terms, inside = rows.weights * (excess - 0.1), dependence
    else:
        terms, inside = w * (x - 1), dependence.of(rows.exceeded)
    variance *= max(1.0, together(terms, inside) / (terms @ terms))
    assert found.spread == pytest.approx(variance**0.5)
    assert found.tails == pytest.approx(severity_tails((found.mean - 1) / found.spread, effective))
    assert (rows.tail > rows.beyond) == (share < 0.1)


def test_when_nothing_can_be_said_of_severity():
    place = np.arange(40)
    rows = Outcomes(place < 3, place > 99, np.ones(40), 0.9)
    excess = np.where(place < 3, 1.5, 0.0)
    assert np.isnan(severity(excess, rows, ALONE).tails).all(), "no spread"
    assert severity(excess, rows, ALONE).mean == pytest.approx(1.5)
    infinite = severity(np.where(place < 3, np.inf, 0.0), rows, ALONE)
    assert (infinite.tails, infinite.spread) == ((1.0, 0.0), math.inf)
    one_day = Dependence(np.where(place < 3, 0, place))
    assert np.isnan(severity(excess * (1 + place), rows, one_day).tails).all(), "one cluster has all of them"
    heavy = Outcomes(place < 2, place > 99, np.where(place == 0, 1e6, 1.0), 0.9)
    assert np.isnan(severity(np.where(place < 2, place + 0.5, 0.0), heavy, ALONE).tails).all(), "one row has all the weight"
    assert np.isnan(severity(0.0 * excess, Outcomes(place < 0, place > 99, np.ones(40), 0.9), ALONE).mean)


@pytest.mark.parametrize(("exceedances", "rows", "tau"), [(0, 30, 0.9), (30, 30, 0.9), (7, 30, 0.9), (1, 400, 0.99), (3, 30, 0.9)])
def test_kupiecs_ratio_by_the_law(exceedances, rows, tau):
    best = stats.binom(rows, exceedances / rows).logpmf(exceedances)
    statistic = 2 * (best - stats.binom(rows, 1 - tau).logpmf(exceedances))
    assert kupiec(exceedances, rows, tau) == (
        pytest.approx(statistic, abs=1e-9),
        pytest.approx(stats.chi2.sf(max(statistic, 0), 1)),
    )
    assert np.isnan(kupiec(0, 0, tau)).all()


@pytest.mark.parametrize("seed", range(6))
def test_christoffersens_ratio_day_by_day(seed):
    days = RNG(seed).random(30) < (0.1, 0.5, 0.9, 0.0, 1.0, 0.3)[seed]
    steps = list(itertools.pairwise(days))
    rate = {was: np.mean([now for before, now in steps if before == was] or [0.0]) for was in (False, True)}
    free = sum(math.log(rate[was] if now else 1 - rate[was]) for was, now in steps)
    bound = sum(math.log(0.1 if now else 0.9) for _, now in steps)
    statistic, p = christoffersen(days, 0.9)
    assert statistic == pytest.approx(2 * (free - bound), abs=1e-9)
    assert p == pytest.approx(stats.chi2.sf(max(statistic, 0.0), 2))


def test_tests_by_name_count_rows_and_fill_the_tail_with_ties():
    place = np.arange(50)
    rows = Outcomes(place % 7 == 0, place == 1, 1.0 + place, 0.9)
    assert by_name(rows) == (kupiec(8, 50, 0.9), christoffersen(rows.exceeded, 0.9))
    filled = by_name(Outcomes(place < 2, place > 45, 1.0 + place, 0.9))
    assert filled[0] == pytest.approx(kupiec(5, 50, 0.9), abs=1e-6)
    assert np.isnan(filled[1]).all()
    assert by_name(Outcomes(place < 2, place == 45, 1.0 + place, 0.9))[0] == kupiec(3, 50, 0.9)


@pytest.mark.parametrize(
    ("first", "second", "hommel", "holm"),
    [(0.01, 0.3, 0.02, 0.02), (0.3, 0.2, 0.3, 0.4), (0.7, 0.6, 0.7, 1.0), (math.nan, 0.2, 0.2, 0.2), (0.2, math.nan, 0.2, 0.2)],
)
def test_two_p_values_become_one(first, second, hommel, holm):
    assert module.join(first, second, "hommel") == pytest.approx(hommel)
    assert module.join(first, second, "holm") == pytest.approx(holm)
    assert math.isnan(module.join(math.nan, math.nan, "holm"))


@pytest.mark.parametrize("lags", [0, 1, 5, 200])
def test_means_and_walds_statistic_by_double_sums(lags):
    rng = RNG(1)
    v, w = rng.normal(size=(2, 60)).cumsum(axis=1) * [[0.01], [3.0]] + [[0.02], [1.0]], rng.choice([0.5, 1.0, 2.0], 60)
    share = w * 60 / w.sum()

    def long_run(terms):
        """Mean over rows of the products of rows that are neighbours."""
        most = min(lags, 59)
        kernel = np.maximum(0.0, 1 - np.abs(np.subtract.outer(np.arange(60), np.arange(60))) / (most + 1))
        return terms @ kernel @ terms.T / 60

    mean = np.average(v, axis=1, weights=w)
    found = module._means(v, w, lags)
    spread = np.sqrt(np.maximum(np.diag(long_run(share * (v - mean[:, None]))), 0) / 60)
    assert (found["var_mean"], found["es_mean"]) == pytest.approx(tuple(mean))
    assert (found["var_se"], found["es_se"]) == pytest.approx(tuple(spread))
    assert found["wald"] == pytest.approx(60 * mean @ np.linalg.solve(long_run(share * v), mean), rel=1e-6)
    assert module._means(0 * v, w, lags)["wald"] == 0.0
    assert np.isnan(list(module._means(v, 0 * w, lags).values())).all()
    twice = module._means(np.stack([v[0], 2 * v[0]]), w, lags)
    assert twice["wald"] == pytest.approx(60 * mean[0] ** 2 / long_run(share * v)[0, 0], rel=1e-6), "one direction counts once"


def losses(rows=400, seed=2):
    rng = RNG(seed)
    return pd.DataFrame({
        "y": rng.standard_t(4, rows), "var": 1.4 + 0.2 * rng.random(rows), "es": 2.2 + 0.3 * rng.random(rows),
        "w": rng.choice([2.0, 5.0], rows), "desk": rng.choice(["a", "b"], rows), "day": np.arange(rows) // 4,
    })  # fmt: skip


@pytest.mark.parametrize(("given", "dependence"), [({}, ALONE), ({"lags": 2}, Dependence(lags=2)), ({"cluster": "day"}, "day")])
@pytest.mark.parametrize("weight", [None, "w"])
def test_the_table_is_made_of_these_tests(given, dependence, weight):
    data = losses()
    found = mv.backtest("y", "var", "es", tau=0.9, data=data, groups=["desk == 'a'"], sample_weight=weight, **given).table
    p, one_sided, detectable = [], [], []
    for g, inside in enumerate((np.ones(400, dtype=bool), (data["desk"] == "a").to_numpy())):
        y, var, es, w = (data[name].to_numpy()[inside] for name in ("y", "var", "es", "w"))
        w = np.ones(y.size) if weight is None else w
        allowed = Dependence(data["day"].to_numpy()[inside]) if dependence == "day" else dependence
        rows = Outcomes(y > var, y == var, w / w.max(), 0.9)
        excess = np.where(y > var, (y - var) / (es - var), 0.0)
        often, large = frequency_tails(rows, allowed), severity(excess, rows, allowed)
        var_p, es_p = min(1.0, 2 * min(often)), min(1.0, 2 * min(large.tails))
        assert found["rows"][g] == y.size
        wanted = {
            "exceedances": w[y > var].sum(), "expected": 0.1 * w.sum(), "var_p": var_p, "es_p": es_p, "severity": large.mean,
            "p_value": min(2 * min(var_p, es_p), max(var_p, es_p)),
            "one_sided": min(2 * min(often[1], large.tails[1]), max(often[1], large.tails[1])),
        }  # fmt: skip
        for name, value in wanted.items():
            assert found[name][g] == pytest.approx(value), name
        p.append(wanted["p_value"])
        one_sided.append(wanted["one_sided"])
        away = (stats.norm.ppf(1 - 0.05 / 4) + stats.norm.ppf(0.8)) * large.spread * (w @ (es - var)) / (w @ es)
        detectable.append(away / (1 + away))
    assert found["p_adjusted"] == pytest.approx(holm_of_two(p))
    assert found["one_sided_adjusted"] == pytest.approx(holm_of_two(one_sided))
    assert found["detectable_es"] == pytest.approx(detectable)


def holm_of_two(p):
    """The smaller twice, the larger at least that."""
    least = min(1.0, 2 * min(p))
    return [least if one == min(p) else max(least, one) for one in p]


@pytest.mark.parametrize(
    ("rows", "beyond", "tau", "refused"),
    [(20, 11, 0.8, True), (19, 11, 0.8, False), (20, 10, 0.8, False), (20, 11, 0.79, False), (200, 101, 0.99, True)],
)
def test_most_outcomes_beyond_var_are_a_mistake_of_signs(rows, beyond, tau, refused):
    y = np.where(np.arange(rows) < beyond, 2.0, 0.0)
    if refused:
        with pytest.raises(InputError, match=f"but {100 * beyond / rows:.0f} % do"):
            mv.backtest(y, np.full(rows, 1.0), np.full(rows, 3.0), tau=tau, groups=[])
    else:
        mv.backtest(y, np.full(rows, 1.0), np.full(rows, 3.0), tau=tau, groups=[])
