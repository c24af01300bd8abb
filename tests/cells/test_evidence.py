"""What sums say of chance, written out group by group in plain loops: noise, clusters, coins, limits, and the terms themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import multivalid as mv
from multivalid.cells.clusters import BLOCKS, ClusterTest, cluster_sums, level_blocks
from multivalid.cells.coins import lower_tail, upper_tail
from multivalid.cells.evidence import CoinEvidence, NoiseEvidence
from multivalid.cells.finite import finite_limits
from multivalid.cells.gather import ChanceTerms
from multivalid.cells.limits import coin_limits, noise_limits
from multivalid.cells.merge import add_up, count, join_levels
from multivalid.cells.pearson import lower_tail as bent_low
from multivalid.cells.pearson import quantile
from multivalid.cells.pearson import upper_tail as bent_high
from multivalid.cells.residual import NEIGHBOURS, NoiseTest, larger_skewness, skewed_tails, smooth
from multivalid.cells.terms import Coverage, Residual, Row, TwoValued
from multivalid.cells.two_valued import CoinTest
from multivalid.properties.ops import NUMPY

LEVELS, ROWS = 9, 1500


class World:
    """Rows of a residual, skewed and noisier at the ends, in three groups; the law of terms by level and group."""

    def __init__(self, law, seed=0, noise=1.0):
        rng = np.random.default_rng(seed)
        self.level = np.minimum(rng.geometric(0.25, ROWS) - 1, LEVELS - 1)
        self.weight = rng.choice([0.5, 1.0, 1.7], ROWS)
        self.masks = [np.ones(ROWS, dtype=bool), rng.random(ROWS) < 0.3, (self.level > 1) & (rng.random(ROWS) < 0.5)]
        self.prediction = np.clip((self.level + 1) / (LEVELS + 2) + rng.normal(size=ROWS) * 0.02, 0.01, 0.99)
        if isinstance(law, Residual):
            self.v = noise * (rng.gamma(0.7, 1.0, ROWS) - 0.6) * (0.3 + self.level / 5) * np.where(self.masks[1], 1.6, 1.0)
            row = Row(self.weight, self.v, self.prediction)
        else:
            self.label = (rng.random(ROWS) < self.prediction + 0.05 * self.masks[1]).astype(float)
            self.v = self.prediction - self.label
            row = Row(self.weight, self.v, self.prediction, self.prediction - 1, self.prediction)
        self.rows = law.all_terms(row)
        self.sums = law.complete({
            name: np.array([[np.sum(np.broadcast_to(term, ROWS)[mask & (self.level == k)]) for mask in self.masks] for k in range(LEVELS)])
            for name, term in self.rows.items()
        })  # fmt: skip

    @property
    def x(self):
        return self.weight * self.v


NOISE = World(Residual())


def neighbourly(column):
    """A level with two neighbours on either side, less and less."""
    return [
        sum(
            weight * column[k + step]
            for step, weight in zip((-2, -1, 0, 1, 2), NEIGHBOURS, strict=True)
            if 0 <= k + step < len(column)
        )
        for k in range(len(column))
    ]


def noise_by_loops(world):
    """Variance in every cell and how much noisier each group is than its levels."""
    at = [world.level == k for k in range(LEVELS)]
    x2, w2 = [np.sum(world.x[one] ** 2) for one in at], [np.sum(world.weight[one] ** 2) for one in at]
    spread = np.array(neighbourly(x2)) / np.array(neighbourly(w2))
    cell = np.array([[spread[k] * np.sum(world.weight[at[k] & mask] ** 2) for mask in world.masks] for k in range(LEVELS)])
    return cell, [max(1.0, np.sum(world.x[mask] ** 2) / cell[:, g].sum()) for g, mask in enumerate(world.masks)]


def test_noise_is_that_of_a_level_and_its_neighbours():
    np.testing.assert_allclose(smooth(np.arange(5.0) ** 2), neighbourly(np.arange(5.0) ** 2))
    test = NoiseTest(NOISE.sums)
    cell, noisier = noise_by_loops(NOISE)
    np.testing.assert_allclose(test.level_variance, cell)
    np.testing.assert_allclose(test.noisier, noisier)
    assert 1.0 in noisier, "the case must be there"
    assert max(noisier) > 1.05
    np.testing.assert_allclose(test.variance, cell.sum(axis=0) * noisier)


def tails_by_hand(z, skewness, own):
    """Each tail the largest of the normal one and two skewed ones."""
    laws = [(z, 0.0), (z, skewness), (z + own * skewness / 2, (1 - 3 * own) * skewness)]
    return max(float(bent_low(a, b)) for a, b in laws), max(float(bent_high(a, b)) for a, b in laws)


def test_the_gap_of_a_group_is_tested_with_its_own_skewness_or_everyones():
    test = NoiseTest(NOISE.sums)
    variance, p = test.variance, []
    for g, mask in enumerate(NOISE.masks):
        own = np.sum(NOISE.x[mask] ** 3) / variance[g] ** 1.5
        shared = np.sum(NOISE.x**3) / variance[0] / variance[g] ** 0.5
        skewness = own if abs(own) >= abs(shared) else shared
        assert test.skewness[g] == pytest.approx(skewness)
        low, high = tails_by_hand(NOISE.x[mask].sum() / variance[g] ** 0.5, skewness, min(variance[g] / variance[0], 1.0))
        p.append(min(1.0, 2 * min(low, high)))
    np.testing.assert_allclose(test.gap(), p)
    found = larger_skewness(np.array([2.0, 9.0, 0.1]), np.array([4.0, 1.0, 1.0]))
    np.testing.assert_allclose(found, [2 / 8, 9.0, 0.5])
    low, high = skewed_tails(np.array([1.5]), np.array([-0.8]), 0.4)
    assert (low[0], high[0]) == pytest.approx(tails_by_hand(1.5, -0.8, 0.4))


@pytest.mark.parametrize(
    ("above", "below", "x2", "x4", "few"),
    [
        (5, 5, 10.0, 25.0, False),
        (4, 50, 10.0, 25.0, True),
        (50, 4, 10.0, 25.0, True),
        (50, 50, 10.0, 25.1, True),
        (50, 50, 10.0, 24.9, False),
    ],
)
def test_few_rows_on_a_side_or_one_that_carries_all_cannot_tell(above, below, x2, x4, few):
    sums = {name: np.array([[value]]) for name, value in
            {"above": above, "below": below, "x2": x2, "x4": x4, "rows": 200.0}.items()}  # fmt: skip
    assert NoiseTest(sums).few().tolist() == [few]
    nothing = {name: np.array([[0.0, 0.0]]) for name in ("above", "below", "x2", "x4")} | {"rows": np.array([[10.0, 9.0]])}
    assert NoiseTest(nothing).few().tolist() == [False, True], "V is 0 in every row of ten"


def test_the_shape_of_noise_joins_levels_until_each_is_about_normal():
    test = NoiseTest(NOISE.sums)
    cell, noisier = noise_by_loops(NOISE)
    at = [NOISE.level == k for k in range(LEVELS)]
    kurtosis = np.array(neighbourly([np.sum(NOISE.x[one] ** 4) for one in at])) / np.array(
        neighbourly([np.sum(NOISE.weight[one] ** 2) for one in at])
    )
    for g, mask in enumerate(NOISE.masks):
        w2 = np.array([np.sum(NOISE.weight[one & mask] ** 2) for one in at])
        fourth, parts, here = kurtosis * w2, [], []
        for k in range(LEVELS):
            here.append(k)
            if 0 < 8 * fourth[here].sum() <= cell[here, g].sum() ** 2:
                parts.append(here)
                here = []
        parts[-1] += here
        statistic = excess = 0.0
        for part in parts:
            inside = mask & np.isin(NOISE.level, part)
            variance = cell[part, g].sum()
            statistic += NOISE.x[inside].sum() ** 2 / variance / noisier[g]
            excess += fourth[part].sum() / variance**2 - 3 / inside.sum()
        stretch = max(1.0, 1 + excess / (2 * len(parts)))
        freedom = len(parts) / stretch if len(parts) > 1 else 0.0
        assert [float(one[g]) for one in test.chi_square] == pytest.approx([statistic / stretch, freedom])
        p = stats.chi2.sf(statistic / stretch, freedom) if freedom else math.nan
        assert test.shape()[g] == pytest.approx(p, nan_ok=True)
    assert (test.chi_square[1] > 1).any(), "the case must be there"
    assert (NOISE.sums["rows"][:2, 2] == 0).all(), "levels without a row are no parts"


def test_variance_and_skewness_about_the_mean():
    test = NoiseTest(NOISE.sums)
    at = [NOISE.level == k for k in range(LEVELS)]
    about = []
    for one in at:
        mean = np.average(NOISE.v[one], weights=NOISE.weight[one])
        about.append(np.sum((NOISE.weight[one] * (NOISE.v[one] - mean)) ** 2) * one.sum() / (one.sum() - 1))
    spread = np.array(neighbourly(about)) / np.array(neighbourly([np.sum(NOISE.weight[one] ** 2) for one in at]))
    for g, mask in enumerate(NOISE.masks):
        levels = sum(spread[k] * np.sum(NOISE.weight[at[k] & mask] ** 2) for k in range(LEVELS))
        w, v, n = NOISE.weight[mask], NOISE.v[mask], mask.sum()
        own = np.sum((w * (v - np.average(v, weights=w))) ** 2) * n / (n - 1)
        assert (test.centred_levels.sum(axis=0)[g], test.own_centred[g]) == pytest.approx((levels, own))
        assert test.centred_variance[g] == pytest.approx(max(levels, own))
    equal = World(Residual(), 5)
    equal.weight[:] = 2.0
    rows = Residual().all_terms(Row(equal.weight, equal.v, equal.prediction))
    sums = {name: np.array([[np.sum(term[mask]) for mask in equal.masks]]) for name, term in rows.items()}
    skewness = [np.sum((2 * (equal.v[m] - equal.v[m].mean())) ** 3) / NoiseTest(sums).centred_variance[g] ** 1.5
                for g, m in enumerate(equal.masks)]  # fmt: skip
    np.testing.assert_allclose(NoiseTest(sums).centred_skewness, skewness)


def test_levels_join_in_order_and_what_is_left_goes_back():
    rng = np.random.default_rng(0)
    one, two = rng.random((12, 5)), rng.random((12, 5))
    parts = join_levels(lambda a, b: a + b >= 2.5, one, two)
    for g in range(5):
        number, total, wanted = 0, 0.0, []
        for k in range(12):
            wanted.append(number)
            total += one[k, g] + two[k, g]
            if total >= 2.5:
                number, total = number + 1, 0.0
        wanted = [min(part, max(number - 1, 0)) for part in wanted]
        assert parts[:, g].tolist() == wanted
        assert count(parts)[g] == max(wanted) + 1
        sums = [sum(one[k, g] for k in range(12) if wanted[k] == part) for part in range(count(parts)[g])]
        np.testing.assert_allclose(add_up(parts, one)[: len(sums), g], sums)
        assert not add_up(parts, one)[len(sums) :, g].any()


# ---- clusters ------------------------------------------------------------------------------------------------------------
def clustered(seed=0, clusters=40):
    rng = np.random.default_rng(seed)
    unit = rng.integers(0, clusters, ROWS)
    block = level_blocks(np.bincount(NOISE.level, minlength=LEVELS) * 1.0, 3)[NOISE.level]
    x = NOISE.weight * (NOISE.v + rng.exponential(0.5, clusters)[unit] - 0.5)
    masks = [*NOISE.masks, unit < 2]
    sums = cluster_sums(unit, block, masks, x, NOISE.weight)
    weight, alone = np.array([NOISE.weight[m].sum() for m in masks]), np.array([np.sum(x[m] ** 2) for m in masks])
    return unit, block, x, masks, ClusterTest(sums, weight, alone)


def test_levels_are_cut_where_the_variance_is():
    rng = np.random.default_rng(0)
    for size in (1, 3, 8, 40):
        variance = rng.exponential(1, size)
        middle = [(variance[:k].sum() + variance[k] / 2) / variance.sum() for k in range(size)]
        raw = [min(int(one * BLOCKS), BLOCKS - 1) for one in middle]
        assert level_blocks(variance).tolist() == [sorted(set(raw)).index(one) for one in raw]
    assert level_blocks(np.zeros(3)).tolist() == [0, 0, 0]


def test_sums_over_clusters_by_loops():
    unit, block, x, masks, test = clustered()
    for g, mask in enumerate(masks):
        per = [[x[mask & (unit == c) & (block == b)].sum() for b in range(3)] for c in range(40)]
        u, size = np.array(per), np.array([NOISE.weight[mask & (unit == c)].sum() for c in range(40)])
        assert test.sums.count[g] == (size > 0).sum()
        np.testing.assert_allclose(test.sums.products[g], [[(u[:, a] * u[:, b]).sum() for a in range(3)] for b in range(3)])
        np.testing.assert_allclose(test.sums.totals[g], u.sum(axis=0))
        cubes = [[[(u[:, a] * u[:, b] * u[:, c]).sum() for c in range(3)] for b in range(3)] for a in range(3)]
        np.testing.assert_allclose(test.sums.cubes[g], cubes)
        assert (test.sums.weighted[g], test.sums.squares[g]) == pytest.approx((u.sum(axis=1) @ size, size @ size))
        assert test.effective[g] == pytest.approx(size.sum() ** 2 / (size**2).sum())
        assert test.freedom[g] == pytest.approx(max(test.effective[g] - 1, 1.0))
        about = u.sum(axis=1) - size * (u.sum() / size.sum())
        here = (size > 0).sum()
        assert test.centred()[g] == pytest.approx((about**2).sum() * here / (here - 1))
    assert test.few().tolist() == [False, False, False, True]


def test_the_gap_of_clusters_has_students_law_or_a_wider_one():
    unit, _, x, masks, test = clustered(1)
    u = [[x[mask & (unit == c)].sum() for c in range(40)] for mask in masks]
    alone = test.row_variance
    square = [max(np.sum(np.square(one)), alone[g]) for g, one in enumerate(u)]
    for g, one in enumerate(u):
        z, own = np.sum(one) / square[g] ** 0.5, np.sum(np.power(one, 3)) / square[g] ** 1.5
        shared = np.sum(np.power(u[0], 3)) / square[0] / square[g] ** 0.5
        low, high = tails_by_hand(z, own if abs(own) >= abs(shared) else shared, 1.0)
        law = stats.t(test.freedom[g])
        p = 2 * min(max(low, law.cdf(z)), max(high, law.sf(z)))
        assert test.gap()[g] == pytest.approx(min(p, 1.0))


def test_the_shape_of_clusters_is_hotellings_less_what_skewness_adds():
    unit, block, x, masks, test = clustered(2)
    for g, mask in enumerate(masks):
        u = np.array([[x[mask & (unit == c) & (block == b)].sum() for b in range(3)] for c in range(40)])
        there = int((np.array([NOISE.weight[mask & (unit == c)].sum() for c in range(40)]) > 0).sum())
        if there < 9:
            assert np.isnan(test.shape()[g])
            continue
        u = u[:, np.abs(u).sum(axis=0) > 0]
        used = u.shape[1]
        inverse = np.linalg.inv(u.T @ u)
        third, lean = np.einsum("na,nb,nc->abc", u, u, u), 0.0
        for i, j, k, a, b, c in np.ndindex(*[used] * 6):
            lean += third[i, j, k] * third[a, b, c] * inverse[i, a] * inverse[j, b] * inverse[k, c]
        square = u.sum(axis=0) @ inverse @ u.sum(axis=0) / (1 + 2 * lean / used)
        assert test.shape()[g] == pytest.approx(stats.f(used, there - used).sf(square * (there - used) / (used * (there - 1))))


# ---- what is said of every group ---------------------------------------------------------------------------------------------
def test_intervals_and_what_would_be_detected():
    noise, found = NoiseTest(NOISE.sums), NoiseEvidence(NOISE.sums, 3.0)
    stretch = np.ones(3)
    weight = np.array([NOISE.weight[m].sum() for m in NOISE.masks])
    mean = np.array([NOISE.x[m].sum() for m in NOISE.masks]) / weight
    np.testing.assert_allclose(found.stretch, stretch)
    np.testing.assert_allclose(found.gap, 3 * mean)
    half = stats.norm.ppf(1 - 0.01) * np.sqrt(noise.centred_variance) / weight
    np.testing.assert_allclose(found.interval(0.01), (3 * (mean - half), 3 * (mean + half)))
    reach = stats.norm.ppf(1 - 0.02 / 2) + stats.norm.ppf(0.8)
    np.testing.assert_allclose(found.detectable(0.02), 3 * reach * np.sqrt(noise.variance) / weight)
    gap, shape = noise.gap(), noise.shape()
    np.testing.assert_allclose(found.p_values(), np.where(np.isnan(shape), gap, np.minimum(1.0, 2 * np.minimum(gap, shape))))
    e = np.array([0.3, 0.02, 0.0])
    np.testing.assert_allclose(found.rms(e), 3 * np.sqrt(e / (weight / weight[0])))
    cell, noisier = noise_by_loops(NOISE)
    sums = np.array([[NOISE.x[m & (NOISE.level == k)].sum() for m in NOISE.masks] for k in range(LEVELS)])
    np.testing.assert_allclose(found.cell_z()[cell > 0], sums[cell > 0] / np.sqrt(cell * noisier)[cell > 0])


def test_intervals_of_clusters_are_students_and_wider_where_they_are_skewed():
    unit, block, x, masks, test = clustered()
    sums = cluster_sums(unit, block, masks[:3], x, NOISE.weight)
    found = NoiseEvidence(NOISE.sums | {"v": np.array([[x[m].sum() for m in NOISE.masks]] + [[0.0] * 3] * (LEVELS - 1))}, 3.0, sums)
    weight, spread = test.weight[:3], np.sqrt(test.centred()[:3])
    half = stats.t(test.freedom[:3]).ppf(0.99)
    middle = np.array([x[m].sum() for m in NOISE.masks]) / weight
    alone = found.test.skewness * found.test.variance**1.5  # of independent rows
    lean, squares = np.zeros(3), np.zeros(3)
    for g, mask in enumerate(masks[:3]):
        inside = [mask & (unit == c) for c in np.unique(unit[mask])]
        u, w = (np.array([column[m].sum() for m in inside]) for column in (x, NOISE.weight))
        squares[g] = w @ w
        alike = squares[g] / w.sum() * u.sum() / w.sum()  # what a cluster of the usual weight has on average
        lean[g] = ((u**3).sum() - 3 * alike * (u**2).sum() + 2 * len(u) * alike**3) / spread[g] ** 3
        everyone = lean[0] * np.sqrt(test.effective[0] / test.effective[g])  # so many clusters as skewed as everyone's
        everyone *= max(spread[0] * np.sqrt(squares[g] / squares[0]) / spread[g], 1.0)  # all luck shared, yet less seen
        lean[g] = max(lean[g], everyone, alone[g] / spread[g] ** 3, key=abs)
    out = lean * (2 * stats.norm.ppf(0.01) ** 2 + 1) / 6
    assert (np.abs(out) > 0.05).any()
    low, high = half + np.maximum(-out, 0), half + np.maximum(out, 0)
    np.testing.assert_allclose(found.interval(0.01), (3 * (middle - low * spread / weight), 3 * (middle + high * spread / weight)))
    np.testing.assert_allclose(found.stretch, np.maximum(1.0, spread**2 / found.row_variance))
    assert (found.stretch > 1).any()


def test_limits_of_noise_take_the_noisier_of_group_and_levels():
    test = NoiseTest(NOISE.sums)
    found = noise_limits(test, np.array([1.0, 2.0, 3.0]))
    wider = np.maximum(1.0, test.own_centred / test.centred_levels.sum(axis=0)) * [1.0, 2.0, 3.0]
    np.testing.assert_allclose(found.honest, test.centred_levels * wider)
    np.testing.assert_allclose(found.row_variance(np.ones(3)), found.honest)
    v, weight = NOISE.sums["v"], NOISE.sums["weight"]
    plain = [sum(v[k, g] ** 2 / weight[k, g] for k in range(LEVELS) if weight[k, g] > 0) / NOISE.weight.sum() for g in range(3)]
    np.testing.assert_allclose(found.plain, plain)


def test_limits_of_coins_by_loops():
    world = World(TwoValued(), 3)
    stretch, bias = np.array([1.0, 1.5, 2.0]), np.array([0.0, 0.01, 0.3])
    found = coin_limits(world.sums | {"beyond": 0 * world.sums["u"]}, stretch)
    seen_variance, least = found.row_variance(bias), found.honest
    for k in range(LEVELS):
        for g, mask in enumerate(world.masks):
            inside = mask & (world.level == k)
            if not inside.any():
                continue
            w, p = world.weight[inside], world.prediction[inside]
            rate = 1 - np.average(world.label[inside], weights=w)  # of high values of V
            null = np.average(p * (1 - p), weights=w**2)
            size = np.sum(w**2) * stretch[g]
            wanted = min(max(null, rate * (1 - rate)) + bias[g] ** 0.5, 0.25) * size
            assert seen_variance[k, g] == pytest.approx(wanted)
            coins = w.sum() ** 2 / np.sum(w**2)
            honest = rate * (1 - rate) * coins / (coins - 1) if inside.sum() > 1 else null
            assert least[k, g] == pytest.approx(honest * size)


@pytest.mark.parametrize("delta", [0.05, 0.01])
def test_the_limit_without_approximation_step_by_step(delta):
    rng = np.random.default_rng(4)
    rows = np.array([[400.0, 30.0], [600.0, 1.0], [0.0, 0.0], [90.0, 12.0]])
    v, variance = rng.normal(size=(4, 2)) * np.sqrt(rows) * 3, rng.random((4, 2)) / 4
    found = finite_limits({"rows": rows, "v": v}, variance, 1.0, 1.0, delta)
    share, n = math.log(3 / delta), 1090.0
    for g in range(2):
        filled = [k for k in range(4) if rows[k, g] > 0]
        square = []
        for k in filled:
            m = rows[k, g]
            spread = 0.5
            if m > 1:
                spread = min(
                    0.5, math.sqrt(variance[k, g] * m / (m - 1)) + math.sqrt(2 * (share + math.log(len(filled))) / (m - 1))
                )
            square.append(spread**2)
        mean, jump = math.sqrt(sum(square) / n), 1 / math.sqrt(n * min(rows[k, g] for k in filled))
        norm = mean + math.sqrt(2 * share * (max(square) / n + 2 * jump * mean)) + jump * share / 3
        seen = math.sqrt(sum(v[k, g] ** 2 / rows[k, g] for k in filled) / n)
        assert found[g] == pytest.approx((seen + norm + math.sqrt(2 * share / n)) ** 2)


def test_the_limit_grows_with_the_range_of_v():
    rows, variance = np.array([[50.0], [70.0]]), np.array([[0.3], [0.1]])
    share, n = math.log(60), 120.0
    spread = [
        min(2.0, math.sqrt(s * m / (m - 1)) + 4 * math.sqrt(2 * (share + math.log(2)) / (m - 1))) for s, m in ((0.3, 50), (0.1, 70))
    ]
    mean, jump = math.sqrt(sum(s**2 for s in spread) / n), 4 / math.sqrt(n * 50)
    norm = mean + math.sqrt(2 * share * (max(s**2 for s in spread) / n + 2 * jump * mean)) + jump * share / 3
    found = finite_limits({"rows": rows, "v": 0 * rows}, variance, 4.0, 3.0)
    assert found[0] == pytest.approx((norm + 3 * math.sqrt(2 * share / n)) ** 2)


# ---- laws -----------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("plain", [False, True])
def test_terms_of_two_values_row_by_row(outside, plain):
    p = np.array([0.2, 0.5, 0.93, 1.0, *([1.2, -0.3] if outside else [])])
    w = np.ones(p.size) if plain else np.array([0.5, 2.0, 1.0, 3.0, 0.7, 1.1])[: p.size]
    found = TwoValued(outside=outside).all_terms(Row(w, p - 1, p, p - 1, p, plain=plain))
    for i in range(p.size):
        low, high = min(p[i] - 1, 0.0), max(p[i], 0.0)
        u, chance = w[i] * (p[i] - (p[i] - 1)), -low / (high - low)
        q = chance * (1 - chance)
        wanted = {
            "u": u, "u2": u**2, "u3": u**3, "u4": u**4, "uq": u * q, "ut": u * q * (1 - 2 * chance), "u2q": u**2 * q,
            "u3t": u**3 * q * (1 - 2 * chance), "u4q": u**4 * q, "u4qq": u**4 * q**2, "rows": 1.0, "weight": w[i], "weight2": w[i] ** 2,
            "v": w[i] * (p[i] - 1), "prediction": w[i] * p[i],
        }  # fmt: skip
        beyond = w[i] * (max(p[i] - 1, 0.0) + min(p[i], 0.0))
        wanted["ur"] = w[i] * p[i] - (beyond if outside else 0.0)
        if outside:
            wanted["beyond"] = beyond
        for name, value in wanted.items():
            assert np.broadcast_to(found[name], p.shape)[i] == pytest.approx(value), name


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.8])
def test_coverage_is_two_values_with_one_chance(tau):
    w, v = np.array([0.5, 2.0, 1.0]), np.array([1 - tau, -tau, -tau])
    low, high, tied = np.full(3, -tau), np.full(3, 1 - tau), np.array([True, False, True])
    row = Row(w, v, v, low, high, tied)
    many = {name: term.sum() for name, term in TwoValued(jumps=True).all_terms(row).items()}
    few = {name: term.sum() for name, term in Coverage(chance=tau).all_terms(row).items()}
    found = Coverage(chance=tau).complete(few)
    assert found.pop("beyond") == 0.0
    assert found == {name: pytest.approx(value) for name, value in many.items()}
    assert few["tied"] == pytest.approx(1.5)


def test_terms_of_a_residual_row_by_row():
    w, v = np.array([0.5, 2.0, 1.0]), np.array([-1.5, 0.3, 0.0])
    found = Residual().terms(Row(w, v, v))
    x = w * v
    wanted = {"x2": x**2, "x3": x**3, "x4": x**4, "w2v": w**2 * v, "above": [0, 1, 0], "below": [1, 0, 0]}
    assert set(found) == set(wanted) == set(Residual().names)
    for name, column in wanted.items():
        np.testing.assert_allclose(found[name], column)


@pytest.mark.parametrize("coins", [1, 7, 30])
@pytest.mark.parametrize("chance", [0.03, 0.5, 0.97])
def test_coins_that_are_alike_have_the_binomial_law(coins, chance):
    q = coins * chance * (1 - chance)
    law = stats.binom(coins, chance)
    for seen in range(coins + 1):
        args = [np.array([value]) for value in (float(seen), coins * chance, q, q * (1 - 2 * chance))]
        assert lower_tail(*args)[0] == pytest.approx(law.cdf(seen - 1) + law.pmf(seen) / 2, rel=1e-6, abs=1e-12)
        assert upper_tail(*args)[0] == pytest.approx(law.sf(seen) + law.pmf(seen) / 2, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("skewness", [-1.3, -1e-7, 0.0, 0.4, 2.0])
def test_skewed_tails_are_those_of_pearson(skewness):
    law = stats.pearson3(skewness) if abs(skewness) > 1e-6 else stats.norm
    for z in (-2.5, -0.4, 0.0, 1.1, 3.0):
        assert float(bent_high(z, skewness)) == pytest.approx(law.sf(z), rel=1e-6, abs=1e-14)
        assert float(bent_low(z, skewness)) == pytest.approx(law.cdf(z), rel=1e-6, abs=1e-14)
    for p in (0.01, 0.3, 0.95):
        assert float(quantile(p, skewness)) == pytest.approx(law.ppf(p), rel=1e-6)


def test_the_shape_of_coins_by_loops():
    world = World(TwoValued(), 6)
    world.weight[:] = 1.0
    law = TwoValued()
    rows = law.all_terms(Row(world.weight, world.v, world.prediction, world.prediction - 1, world.prediction))
    sums = law.complete({
        name: np.array([[np.sum(term[m & (world.level == k)]) for m in world.masks] for k in range(LEVELS)]) for name, term in rows.items()
    })  # fmt: skip
    test = CoinTest(sums)
    q = world.prediction * (1 - world.prediction)
    assert not test.unequal.any()
    for g, mask in enumerate(world.masks):
        parts, here = [], []
        for k in range(LEVELS):
            here.append(k)
            if q[mask & np.isin(world.level, here)].sum() >= 5:
                parts.append(here)
                here = []
        parts[-1] += here
        inside = [mask & np.isin(world.level, part) for part in parts]
        statistic = sum(world.v[one].sum() ** 2 / q[one].sum() for one in inside)
        fourth = sum((q[one] - 6 * q[one] ** 2).sum() / q[one].sum() ** 2 for one in inside)
        stretch = max(1.0, (2 * len(parts) + fourth) / (2 * len(parts)))
        assert [float(one[g]) for one in test.chi_square] == pytest.approx([statistic / stretch, len(parts) / stretch])
        assert test.shape()[g] == pytest.approx(stats.chi2.sf(statistic / stretch, len(parts) / stretch))
    found = CoinEvidence(sums | {"beyond": 0 * sums["u"]})
    weight = np.array([mask.sum() for mask in world.masks])
    np.testing.assert_allclose(found.row_variance, [q[mask].sum() for mask in world.masks])
    np.testing.assert_allclose(found.gap, [world.v[mask].mean() for mask in world.masks])
    reach = stats.norm.ppf(1 - 0.01) + stats.norm.ppf(0.8)
    np.testing.assert_allclose(found.detectable(0.02), reach * np.sqrt(found.row_variance) / weight)
    rate = [
        [1 - np.mean(world.label[one]) if (one := m & (world.level == k)).any() else 0.0 for m in world.masks]
        for k in range(LEVELS)
    ]
    np.testing.assert_allclose(found.finite(), finite_limits(sums, np.array(rate) * (1 - np.array(rate)), 1.0, 1.0))
    assert np.isnan(CoinEvidence({**sums, "weight": 2 * sums["weight"], "beyond": 0 * sums["u"]}).finite()).all()


def test_few_heavy_coins_decide():
    for sizes, few in (
        ([1.0, 1.0, 1.0, 1.0], False),
        ([9.0, 1.0, 1.0, 1.0, 1.0], True),
        ([1.0, 1.0], False),
        ([2.0, 1.9], True),
        ([1.0] * 9, False),
    ):
        u = np.array(sizes)
        sums = {"u": u.sum(), "u2": (u**2).sum(), "u3": (u**3).sum(), "u4": (u**4).sum(), "rows": float(u.size)}
        effective = sums["u2"] ** 2 / sums["u4"]
        assert (effective < min(4, u.size) * (1 - 1e-6)) == few
        assert CoinTest({name: np.array([[value]]) for name, value in sums.items()}).few().tolist() == [few]


@pytest.mark.parametrize("prop", [mv.Mean(), mv.Expectile(0.8), mv.Quantile(0.3)], ids=repr)
@pytest.mark.parametrize("ends", [(0.1, 0.9), (-0.5, 0.9), (0.1, 1.5)])
def test_the_two_values_of_v_are_those_at_both_labels(prop, ends):
    (coordinate,) = prop.coordinates
    made = ChanceTerms.of(coordinate, binary=True, mean_weight=2.0, largest=3.0, ends=ends)
    p, w = np.array([0.2, 0.5, 0.9]), np.array([1.0, 2.0, 3.0])
    y = np.array([0.0, 1.0, 1.0])
    v = np.asarray(prop.identify(p, y))
    found = made.terms(NUMPY, [p], y, w, v)
    low, high = (np.asarray(prop.identify(p, np.full(3, label))) for label in (1.0, 0.0))
    if isinstance(prop, mv.Quantile):
        low, high = -0.3, 0.7
        assert found["tied"].tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(found["u"], w / 2 * (high - low))
    np.testing.assert_allclose(found["u2"], (w / 2 * (high - low)) ** 2)
    assert made.scale == 1.0
    if not isinstance(prop, mv.Quantile):
        assert ("beyond" in found) == (ends != (0.1, 0.9)), "predictions that leave the range of the labels"
        np.testing.assert_allclose(found["ur"], w / 2 * high)


@pytest.mark.parametrize(("largest", "scale"), [(3.0, 4.0), (4.0, 8.0), (0.3, 0.5), (0.0, 1.0), (math.inf, 1.0), (math.nan, 1.0)])
def test_other_v_is_taken_in_units_of_a_power_of_two(largest, scale):
    (coordinate,) = mv.Mean().coordinates
    made = ChanceTerms.of(coordinate, binary=False, mean_weight=2.0, largest=largest, ends=(0.1, 0.9))
    assert (made.scale, made.law) == (scale, Residual())
    found = made.terms(NUMPY, [np.ones(2)], np.zeros(2), np.array([1.0, 4.0]), np.array([1.0, -3.0]))
    np.testing.assert_allclose(found["x2"], [(0.5 / scale) ** 2, (6 / scale) ** 2])
    np.testing.assert_allclose(found["w2v"], [0.25 / scale, -12 / scale])


def test_no_cell_is_further_off_than_a_chance_of_one_in_1e300():
    found = mv.audit(np.r_[np.ones(4000), np.zeros(3000)], np.repeat([0.5, 0.25], [4000, 3000]), groups=[])
    assert np.sort(found.cells["z"]) == pytest.approx([stats.norm.ppf(1e-300), -stats.norm.ppf(1e-300)])
