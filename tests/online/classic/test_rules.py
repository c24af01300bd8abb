"""Crossings, games, experts and settings of the earlier algorithms against brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import multivalid as mv
from multivalid.online.classic.experts import MODERATE, Experts
from multivalid.online.classic.game import CrossingRule, solve_game
from multivalid.online.classic.guide import Guide
from multivalid.online.classic.setup import make_classic_setup
from multivalid.online.classic.transcript import Transcript
from multivalid.online.members import BooleanRows

POINTS = np.array([0.1, 0.2, 0.5, 0.9])


# ---- which levels are mixed -------------------------------------------------------------------------------------------
def crossing_by_hand(c, guess, free):
    """All places where c goes from at most zero to above it, a level below the grid and one above it imagined."""
    signs = [False, *(value > 0 for value in c), True]
    middles = [POINTS[0], *(POINTS[:-1] + POINTS[1:]) / 2, POINTS[-1]]
    places = [j for j in range(len(signs) - 1) if not signs[j] and signs[j + 1]]
    at = min(places, key=lambda j: abs(middles[j] - guess))
    zeros = [j for j in range(len(c)) if c[j] == 0]
    if free and zeros:
        level = min(zeros, key=lambda j: abs(POINTS[j] - guess))
        if abs(POINTS[level] - guess) < abs(middles[at] - guess):
            return level, level, 1.0
    if at in (0, len(c)):
        end = max(at - 1, 0)
        return end, end, 1.0
    return at - 1, at, c[at] / (c[at] - c[at - 1])


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("guess", [0.0, 0.17, 0.33, 0.62, 1.0])
def test_the_crossing_nearest_a_guess(free, guess):
    rule = CrossingRule(POINTS)
    for c in itertools.product([-2.0, -0.5, 0.0, 1.5], repeat=4):
        found = rule.choose(np.array(c), guess, free=free)
        assert tuple(found) == pytest.approx(crossing_by_hand(c, guess, free))


def test_coefficients_with_a_factor_apart():
    rule, c = CrossingRule(POINTS), np.array([-1.0, -2.0, 3.0, 4.0])
    for apart in (-1.3, 0.0, 2.1):
        scale = np.array([0.0, 0.4, 0.4 + apart, 0.0])
        found = rule.choose(c, 0.3, log_scale=scale)
        below, above = 2 * math.exp(0.4), 3 * math.exp(0.4 + apart)
        assert found == (1, 2, pytest.approx(above / (below + above)))
    far = rule.choose(c, 0.3, log_scale=np.array([0.0, 0.0, 5000.0, 0.0]))
    assert far.share == 1.0


@pytest.mark.parametrize("scale", [1.0, 1e-200])
def test_the_exact_game(scale):
    rng = np.random.default_rng(0)
    for _ in range(5):
        losses = rng.normal(size=(2, 3))
        mixture, value = solve_game(losses * scale)
        grid = np.linspace(0, 1, 5001)
        worst = (grid[:, None] * losses[0] + (1 - grid)[:, None] * losses[1]).max(axis=1)
        assert value / scale == pytest.approx(worst.min(), abs=1e-3)
        assert (mixture @ losses).max() == pytest.approx(value / scale)
        caps = np.array([0.4, 0.4, 0.3])
        mixture, value = solve_game(losses * scale, caps)
        laws = [np.array(law) for law in ((0.4, 0.4, 0.2), (0.4, 0.3, 0.3), (0.3, 0.4, 0.3))]  # the corners of what caps allow
        worst = np.max([grid * (losses[0] @ law) + (1 - grid) * (losses[1] @ law) for law in laws], axis=0)
        assert value / scale == pytest.approx(worst.min(), abs=1e-3)
        assert max(mixture @ losses @ law for law in laws) == pytest.approx(value / scale)
    assert solve_game(np.zeros((4, 2)))[0].tolist() == [0.25] * 4


def test_a_guess_moves_against_v():
    guide = Guide(3, -1.0, 3.0)
    shift, spent = np.array([1.0, 0.0, 0.0]), np.zeros(3)
    rng = np.random.default_rng(1)
    for _ in range(400):
        active = np.append(0, 1 + np.flatnonzero(rng.random(2) < 0.5))
        value = float(rng.uniform(-1, 0.4))
        assert guide.guess(active) == pytest.approx(min(max(shift[active].sum(), -1), 3))
        for g in active:
            spent[g] += value**2
            shift[g] -= 0.1 * 4 * value / math.sqrt(1 + spent[g])
        guide.learn(active, value)
    assert guide.guess(np.array([0])) == 3.0


# ---- what is counted --------------------------------------------------------------------------------------------------
def test_by_how_much_a_round_raises_k2():
    rng = np.random.default_rng(2)
    t = Transcript(3, 2)
    for _ in range(40):
        active = np.append(0, 1 + np.flatnonzero(rng.random(2) < 0.5))
        level, value, weight = int(rng.integers(2)), float(rng.normal()), float(rng.choice([0.0, 0.3, 1.0]))
        before, rise = t.squared(), t.increment(active, level, value, weight)
        t.add(active, level, value, weight)
        np.testing.assert_allclose((t.squared() - before)[active], rise, atol=1e-12)
    cells = t.r**2 / np.where(t.n > 0, t.n, 1)
    np.testing.assert_array_equal(t.worst_level(), [max(range(2), key=lambda j: cells[j, g]) for g in range(3)])
    np.testing.assert_allclose(t.absolute(), [sum(abs(t.r[j, g]) for j in range(2)) for g in range(3)])
    np.testing.assert_allclose(t.largest(), [max(abs(t.r[j, g]) for j in range(2)) for g in range(3)])


C, SLACK, DELTA = 0.8, np.array([0.02, 0.05, 0.01]), 0.1


def expert_terms(n, r, slack, horizon):
    """(rate, prior, weight of the bet up, weight of the bet down) of one cell."""
    count = 16 if horizon is None else max(1, math.ceil(math.log2(math.sqrt(horizon))) + 1)
    for k in range(count):
        prior = 1 / ((k + 1) * (k + 2)) if horizon is None else 1 / count
        rate = 2.0**-k
        drift = (rate * slack + rate**2 / 2) * n
        yield rate, prior, math.exp(rate * r / C - drift), math.exp(-rate * r / C - drift)


@pytest.mark.parametrize("horizon", [None, 40, 1])
def test_the_weights_of_b(horizon):
    t, rng = Transcript(3, 3), np.random.default_rng(3)
    experts = Experts(t, C, SLACK, horizon, DELTA)
    for _ in range(33):
        active = np.append(0, 1 + np.flatnonzero(rng.random(2) < 0.5))
        level, value, w = int(rng.integers(3)), float(rng.uniform(-0.8, 0.5)), float(rng.choice([1.0, 0.3]))
        experts.update(active, level, value, w, *t.add(active, level, value, w))
    active, c, mass, start = np.array([0, 2]), np.zeros(3), 0.0, 0.0
    for j in range(3):
        for g in range(3):
            for rate, prior, up, down in expert_terms(t.n[j, g], t.r[j, g], SLACK[j], horizon):
                mass, start = mass + prior * (up + down), start + 2 * prior
                if g in active:
                    c[j] += prior * math.sinh(rate) * math.exp(-(rate**2) / 2 - rate * SLACK[j]) * (up - down)
    for _ in range(2):
        found, scale = experts.coefficients(active)
        assert scale is None
        np.testing.assert_allclose(found, c, rtol=1e-10)
        assert experts.evidence == pytest.approx(mass / start)
        values = np.array([[-0.7, 0.3], [-0.5, 0.1], [0.2, 0.4]])
        np.testing.assert_allclose(
            experts.losses(active, values), c[:, None] * values - C * (SLACK * np.abs(c))[:, None], rtol=1e-9
        )
        experts.rebuild()
    priors = [(rate, prior) for rate, prior, *_ in expert_terms(0, 0, 0, horizon)]
    whole = sum(prior for _, prior in priors)
    t.n[:, 1:] *= 700.0  # few rounds promise nothing: |R| is at most n there
    bound = np.zeros(3)
    for j in range(3):
        for g in range(3):
            spread = min(rate * t.n[j, g] / 2 + math.log(2 * 9 * whole / (prior * DELTA)) / rate for rate, prior in priors)
            r = C * min(t.n[j, g], SLACK[j] * t.n[j, g] + spread)
            bound[g] += r**2 / t.n[j, g] if t.n[j, g] else 0.0
    np.testing.assert_allclose(experts.bound(0), bound, rtol=1e-10)
    assert np.isinf(experts.bound(1)).all()


def test_weights_beyond_numbers_are_kept_apart():
    """Labels that always lie on one side: the weights of one cell leave what floats can hold, the coefficients' ratio is exact."""
    t = Transcript(2, 2)
    experts = Experts(t, 1.0, np.array([0.01, 0.01]), None, DELTA)
    for _ in range(900):
        experts.update(np.array([0, 1]), 1, 1.0, 1.0, *t.add(np.array([0, 1]), 1, 1.0, 1.0))
    found, scale = experts.coefficients(np.array([0, 1]))
    logs = [rate * 900 - (rate * 0.01 + rate**2 / 2) * 900 for rate in 2.0 ** -np.arange(16)]
    terms = [
        math.exp(one - max(logs)) * (1 / ((k + 1) * (k + 2))) * math.sinh(2.0**-k) * math.exp(-(4.0**-k) / 2 - 0.01 * 2.0**-k)
        for k, one in enumerate(logs)
    ]
    assert scale[1] == pytest.approx(max(logs))
    assert found[1] == pytest.approx(2 * sum(terms), rel=1e-9)
    assert experts.evidence > MODERATE
    assert experts.raised_at is not None
    assert experts.raised_at % 16 == 0


# ---- settings ---------------------------------------------------------------------------------------------------------
def setting(prop, **more):
    return make_classic_setup(prop, BooleanRows(2), **{"algorithm": "B", "labels": (0.0, 2.0), **more})


def test_slack_of_every_level():
    made = setting(mv.Expectile(0.8), grid=mv.Grid([0.3, 0.5, 1.1, 1.8]))
    beside = np.array([max(0.3, 0.1), 0.3, 0.35, max(0.35, 0.2)])
    np.testing.assert_allclose(made.slack, 1.6 * beside / 3.2)
    assert made.rise == pytest.approx(2 * 1.6 * 0.35)


def test_slopes_where_v_jumps():
    assert setting(mv.Quantile(0.8), m=4).lipschitz == pytest.approx(1 / 2)  # from −0.8 to 0.2 over a range of 2
    assert setting(mv.Quantile(0.8), m=4, jitter=0.25).lipschitz == pytest.approx(4)
    assert setting(mv.Expectile(0.8), m=4).lipschitz == pytest.approx(1.6)
    assert setting(mv.Quantile(0.8), m=4, lipschitz=3).lipschitz == 3
    np.testing.assert_allclose(setting(mv.Quantile(0.8), m=5).grid.points, [0, 0.5, 1, 1.5, 2])
    np.testing.assert_allclose(setting(mv.Mean(), m=5).grid.points, [0.2, 0.6, 1, 1.4, 1.8])


@pytest.mark.parametrize(("horizon", "lipschitz"), [(None, 1.0), (5000, 2.0), (100_000, 0.5), (10, 0.5), (10**9, 4.0)])
def test_levels_for_a_horizon(horizon, lipschitz):
    made = setting(mv.Mean(), horizon=horizon, lipschitz=lipschitz, delta=0.1)
    need = math.log(2 * 3 * 16 * 10 / 0.1)
    best = None if horizon is None else (lipschitz * 2 * math.sqrt(horizon) / (1.5 * 2 * math.sqrt(need))) ** (2 / 3)
    assert len(made.grid) == (16 if best is None else min(max(round(best), 4), 200))


@pytest.mark.parametrize(("rule", "algorithm"), [("lp", "B"), ("lp-any", "B"), (None, "paper")])
def test_labels_that_decide_the_exact_game(rule, algorithm):
    made = setting(mv.Quantile(0.8), grid=mv.Grid([0.5, 0.8, 2.0]), lipschitz=3.0, algorithm=algorithm, rule=rule)
    cuts = np.array([0, 0.5, 0.8, 2.0])
    middles = (cuts[1:] + cuts[:-1]) / 2
    if rule == "lp":
        np.testing.assert_allclose(made.cells.caps, 3 * np.diff(cuts))
        np.testing.assert_allclose(made.cells.values, np.where(middles[None] <= made.grid.points[:, None], 0.2, -0.8))
    else:
        labels = np.sort(np.concatenate([cuts, np.nextafter(cuts[:-1], 9), middles]))
        assert made.cells.caps is None
        np.testing.assert_allclose(made.cells.values, np.where(labels[None] <= made.grid.points[:, None], 0.2, -0.8))
    assert made.promised == (rule == "lp")
