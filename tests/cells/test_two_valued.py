"""Coins with known chances: tails against the exact law, limits against rows, ties, weights, certainty."""

from __future__ import annotations

import numpy as np
import pytest

from multivalid.cells import pearson, tilt
from multivalid.cells.adjust import holm
from multivalid.cells.chances import two_points, whole_points
from multivalid.cells.coin_law import CoinLaw
from multivalid.cells.merge import add_up, count, join_levels
from multivalid.cells.two_valued import CoinTest
from tests.cells.tabulation import tabulate
from tests.reference import chance_naive


def test_pearson_tails_and_quantiles():
    z, skewness = np.meshgrid(np.linspace(-4, 6, 21), [-3.0, -0.7, -1e-8, 0.0, 1e-3, 0.4, 2.5])
    exact = np.vectorize(chance_naive.pearson_upper)(z, skewness)
    np.testing.assert_allclose(pearson.upper_tail(z, skewness), exact, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(pearson.upper_tail(z, skewness) + pearson.lower_tail(z, skewness), 1.0, atol=1e-12)
    p = np.array([0.001, 0.05, 0.5, 0.975])
    for g in (-2.0, 0.0, 0.3, 1.5):
        np.testing.assert_allclose(pearson.lower_tail(pearson.quantile(p, g), g), p, rtol=1e-9)


@pytest.mark.parametrize(("rows", "low", "high"), [(10, 0.85, 0.95), (40, 0.01, 0.3), (200, 0.0, 0.05), (300, 0.001, 0.999)])
def test_gap_agrees_with_the_exact_law(rows, low, high):
    rng = np.random.default_rng(rows)
    f = rng.uniform(low, high, rows)
    expected = f.sum()
    for events in range(max(0, int(expected - 12)), min(rows, int(expected + 12)) + 1):
        y = np.zeros(rows)
        y[rng.choice(rows, events, replace=False)] = 1
        p = CoinTest(tabulate(y, f)[1]).gap()[0]
        exact = chance_naive.mid_p(f, events)
        assert abs(p - exact) < 0.005


@pytest.mark.parametrize(
    ("rows", "chance"), [(10, 0.1), (10, 0.9), (1000, 1e-6), (1000, 1e-4), (40, 0.5), (5000, 1e-12), (300, 0.999)]
)
@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_coins_that_are_alike_have_their_exact_law(rows, chance, weight):
    for events in sorted({0, 1, 2, 3, int(rows * chance), rows - 1, rows} & set(range(rows + 1))):
        y = (np.arange(rows) < events).astype(float)
        others = np.concatenate([y, [0.0, 1.0]])  # two rows of another weight outside the group: relative weights are not 1
        weights = np.append(np.full(rows, weight), [1.0, 1.0])
        sums = tabulate(others, np.append(np.full(rows, chance), [0.5, 0.5]), [np.arange(rows + 2) < rows], weights)[1]
        inside = {name: column[:, 1:] for name, column in sums.items()}
        exact = chance_naive.binomial_mid_p(rows, chance, events)
        np.testing.assert_allclose(CoinTest(inside).gap()[0], exact, rtol=1e-6, atol=1e-15)


def test_no_event_where_a_thousandth_is_expected_is_no_surprise():
    rng = np.random.default_rng(0)
    for weights in (None, rng.exponential(size=1000)):
        found = CoinTest(tabulate(np.zeros(1000), rng.uniform(0, 2e-6, 1000), weights=weights)[1])
        assert found.gap()[0] > 0.99
        assert not found.few()[0]


def test_small_p_values_of_unequal_chances_are_not_too_small():
    rng = np.random.default_rng(2)
    for _ in range(40):
        f = np.clip(rng.beta(*rng.uniform(0.1, 2, 2), rng.integers(5, 60)), 1e-6, 1 - 1e-6)
        law = chance_naive.coin_law(f)
        wrong = 0.0
        for events in range(f.size + 1):
            y = (np.arange(f.size) < events).astype(float)
            wrong += law[events] * (CoinTest(tabulate(y, f)[1]).gap()[0] <= 0.01)
        assert wrong <= 0.02


def test_the_law_of_unequal_coins_is_exact():
    rng = np.random.default_rng(3)
    for low, spread, rows in ((-7, 4, 30), (-3, 1, 300), (0, 3, 60), (2, 0.5, 7), (-1, 1, 1)):
        p = 1 / (1 + np.exp(-rng.normal(low, spread, rows)))
        exact = chance_naive.coin_law(p)
        fewer = np.cumsum(exact) - exact / 2
        more = np.cumsum(exact[::-1])[::-1] - exact / 2
        each = np.repeat(p[:, None], rows + 1, axis=1)
        found = CoinLaw(each, np.ones_like(each)).tails(np.arange(rows + 1.0))
        for ours, true in zip(found, (fewer, more), strict=True):
            small = (true > 1e-250) & (true < 0.5)
            np.testing.assert_allclose(ours[small], true[small], rtol=2e-8)
            np.testing.assert_allclose(ours, true, atol=1e-10)


def test_what_cannot_happen_has_no_probability():
    law = CoinLaw(np.array([[0.0], [0.5], [1.0]]), np.array([[10.0], [1.0], [3.0]]))
    np.testing.assert_allclose([law.tails(np.array([k]))[1][0] for k in (2.0, 3.0, 4.0, 5.0)], [1, 0.75, 0.25, 0], atol=1e-12)


def test_levels_stand_for_their_rows():
    """Sums by level, in memory or from an engine, know the law as well as all chances do."""
    rng = np.random.default_rng(5)
    for make in (lambda n: rng.beta(0.1, 0.3, n), lambda n: 1 / (1 + np.exp(-rng.normal(-6, 2, n)))):
        f = make(3000)
        groups = [np.isin(np.arange(3000), rng.choice(3000, size, replace=False)) for size in (3, 8, 20, 60)]
        y = (rng.random(3000) < f).astype(float)
        for shown in (y, np.zeros(3000), np.ones(3000)):
            found = CoinTest(tabulate(shown, f, groups)[1]).gap()[1:]
            for p, inside in zip(found, groups, strict=True):
                assert abs(p - chance_naive.mid_p(f[inside], int(shown[inside].sum()))) < 0.01


def test_one_likely_event_among_many_unlikely_ones():
    """A law with the same three moments finds two events (mid-p 0.07) three times as surprising, and none ten times."""
    f = np.append(np.full(47, 0.0148), [0.7512, 0.7601])
    for events in range(7):
        y = (np.arange(49) < events).astype(float)
        exact = chance_naive.mid_p(f, events)
        assert CoinTest(tabulate(y, f)[1]).gap()[0] == pytest.approx(exact, rel=1e-6)


def test_whole_points_keep_mean_and_variance():
    rng = np.random.default_rng(6)
    for _ in range(50):
        p = rng.beta(*rng.uniform(0.1, 2, 2), rng.integers(1, 12))
        q = p * (1 - p)
        chance, rows = whole_points(*(np.array([[s]]) for s in (p.size * 1.0, p.sum(), q.sum(), (q * (1 - 2 * p)).sum())))
        assert rows.sum() == p.size
        assert (rows == np.rint(rows)).all()
        assert ((chance >= 0) & (chance <= 1)).all()
        assert (rows * chance).sum() == pytest.approx(p.sum(), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_limits_agree_with_every_row_tilted(weighted):
    rng = np.random.default_rng(4)
    f = 1 / (1 + np.exp(-rng.normal(-3, 1.5, 3000)))
    y = (rng.random(3000) < f**1.1).astype(float)
    weights = rng.uniform(0.5, 2, 3000) if weighted else None
    group = rng.random(3000) < 0.2
    low, high = tilt.limits(tabulate(y, f, [group], weights)[1], 0.005)
    for g, inside in enumerate((np.ones(3000, dtype=bool), group)):
        w = np.ones(inside.sum()) if weights is None else weights[inside] / weights.mean()
        exact = chance_naive.tilt_interval(w, 1 - f[inside], 1 - y[inside], 0.005)
        # Two chances per level stand for all of them: the ends move by less than a hundredth of the width.
        np.testing.assert_allclose([low[g], high[g]], exact, atol=0.01 * (exact[1] - exact[0]))


def test_limits_reach_the_end_where_no_event_was_seen():
    f = np.full(50, 0.02)
    low, high = tilt.limits(tabulate(np.zeros(50), f)[1], 0.025)
    assert high[0] == pytest.approx(0.02)  # the rate may be 0
    assert -0.08 < low[0] < -0.02  # or as high as about 6 %


def test_two_points_keep_moments_of_tiny_chances():
    p = np.array([1e-12, 3e-12, 5e-11])
    q = p * (1 - p)
    chance, weight = two_points(*(np.array([[s]]) for s in (3.0, p.sum(), q.sum(), (q * (1 - 2 * p)).sum())))
    assert (weight * chance).sum() == pytest.approx(p.sum(), rel=1e-9)
    assert ((chance >= 0) & (chance <= 1)).all()


def test_quantile_with_ties_takes_the_nearer_side():
    y = np.repeat([0.0, 1.0], [500, 500])  # the median may be anything from 0 to 1
    f = np.zeros(1000)
    found = CoinTest(tabulate(y, f, tau=0.3)[1])  # Pr[y < f] = 0 ≤ .3 ≤ Pr[y ≤ f] = .5
    assert found.gap()[0] == 1.0
    low, high = tilt.limits(tabulate(y, f, tau=0.3)[1], 0.025)
    assert low[0] <= 0 <= high[0]
    assert CoinTest(tabulate(y, f, tau=0.9)[1]).gap()[0] < 1e-6  # half covered at most


def test_certain_predictions_are_right_or_wrong():
    y, f = np.array([0.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0])
    assert CoinTest(tabulate(y, f)[1]).gap()[0] == 1.0
    assert CoinTest(tabulate(1 - y, f)[1]).gap()[0] == 0.0
    beyond = CoinTest(tabulate(np.tile(y, 20), np.full(60, 1.2))[1])
    assert beyond.gap()[0] == 0.0


def test_weights_are_relative_and_heavy_rows_hide_the_rest():
    rng = np.random.default_rng(1)
    f = rng.uniform(0.1, 0.9, 400)
    y = (rng.random(400) < f).astype(float)
    w = rng.exponential(size=400)
    once, thousand = (CoinTest(tabulate(y, f, weights=w * k)[1]) for k in (1.0, 1e150))
    np.testing.assert_allclose(once.gap(), thousand.gap(), rtol=1e-12)
    w[0] = 1e9
    assert CoinTest(tabulate(y, f, weights=w)[1]).few()[0]
    assert not once.few()[0]


def test_levels_join_in_order_until_enough():
    v = np.array([[1.0, 9.0, 0.0], [2.0, 1.0, 0.0], [1.0, 9.0, 0.0], [4.0, 0.0, 0.0]])
    parts = join_levels(lambda total: total >= 3, v)
    np.testing.assert_array_equal(parts.T, [[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0]])
    np.testing.assert_array_equal(add_up(parts, v), [[3, 9, 0], [5, 10, 0]])
    np.testing.assert_array_equal(count(parts), [2, 2, 1])


def test_holm_with_groups_that_cannot_be_told():
    p = np.array([0.03, np.nan, 0.001, 0.2, 0.001])
    np.testing.assert_array_equal(holm(p), chance_naive.holm(p, 4))
    np.testing.assert_array_equal(holm(p, np.ones(5, dtype=bool)), chance_naive.holm(p, 5))
    assert np.isnan(holm(np.array([np.nan]))).all()


@pytest.mark.parametrize("chance", [1e-3, 1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("events", [False, True])
def test_the_outcome_that_almost_surely_comes_is_no_surprise(chance: float, events: bool) -> None:
    """A hundredth of an event was expected, and none came: predictions could not be better."""
    import multivalid as mv

    n, sure = 2000, 60
    y, p = np.arange(n) % 2.0, np.full(n, 0.5)
    y[:sure], p[:sure] = float(events), 1 - chance if events else chance
    found = mv.audit(y, p, groups=[np.arange(n) < sure, np.arange(n) < 1])
    assert found.off == []
    assert found.table["p_value"][1] > 0.5


def test_a_group_of_one_row_that_was_foreseen() -> None:
    import multivalid as mv

    rng = np.random.default_rng(0)
    p = rng.random(800)
    p[7] = 0.99999
    y = (rng.random(800) < p).astype(float)
    y[7] = 1.0
    assert mv.audit(y, p, groups=[np.arange(800) == 7]).off == []
