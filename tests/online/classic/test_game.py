"""The rule for one round, and the exact game."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multivalid.errors import InputError, NotFittedError
from multivalid.online.classic.game import CrossingRule, solve_game
from multivalid.online.minimax import Minimax

numbers = st.floats(-1e3, 1e3, allow_nan=False)


@given(st.lists(numbers, min_size=2, max_size=12), st.floats(-1, 2), st.booleans(), st.integers(0, 10**6))
def test_a_crossing_costs_only_the_rise_between_neighbours(c: list[float], guess: float, free: bool, seed: int) -> None:
    m = len(c)
    points = np.sort(np.random.default_rng(seed).random(m))
    low, high, share = CrossingRule(points).choose(np.array(c), guess, free=free)
    assert 0.0 <= share <= 1.0
    v = np.sort(np.random.default_rng(seed + 1).uniform(-1, 1, m))  # V of one label: any nondecreasing sequence
    loss = share * c[low] * v[low] + (1 - share) * c[high] * v[high]
    if low != high:
        assert high == low + 1
        kappa = share * abs(c[low])
        assert kappa <= max(map(abs, c)) / 2 + 1e-9
        assert loss <= kappa * (v[high] - v[low]) + 1e-9 * (1 + kappa)
    else:  # an end of the grid owed in the direction it can still serve, or nothing owed at all
        assert c[low] == 0 or (low == 0 and c[0] > 0) or (low == m - 1 and c[-1] <= 0)


def test_extreme_scales_give_the_same_mixture() -> None:
    rule = CrossingRule(np.array([0.0, 0.5, 1.0]))
    plain = rule.choose(np.array([-2.0, 6.0, 6.0]), 0.0)
    scaled = rule.choose(np.array([-1.0, 1.0, 1.0]), 0.0, log_scale=np.log([2.0, 6.0, 6.0]) + 5000.0)
    assert scaled.share == pytest.approx(plain.share, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_exact_game_is_optimal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    losses = rng.uniform(-1, 1, (2, 4)) * 10.0 ** rng.integers(-200, 3)
    mixture, value = solve_game(losses)
    lines = np.linspace(0, 1, 2001)
    best = min(float((p * losses[0] + (1 - p) * losses[1]).max()) for p in lines)
    size = np.abs(losses).max()
    assert value <= best + 1e-9 * size
    assert value == pytest.approx(float((mixture @ losses).max()), abs=1e-9 * size)


def test_caps_limit_the_adversary() -> None:
    losses = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.5]])
    _, free = solve_game(losses)
    mixture, capped = solve_game(losses, np.array([0.25, 1.0, 1.0]))
    assert free == pytest.approx(1.0)
    assert capped == pytest.approx(0.25)
    assert mixture[0] == pytest.approx(1.0)


@pytest.mark.parametrize("horizon", [300, None])
@pytest.mark.parametrize("seed", range(3))
def test_minimax_regret_certificate(seed: int, horizon: int | None) -> None:
    rng = np.random.default_rng(seed)
    game = Minimax(10, 1.0, horizon)
    for _ in range(300):
        losses = rng.uniform(-1, 1, (10, 3, 3))
        mixture = game.play(losses)
        # The adversary replies with what hurts the worst objective most.
        total = [(game.total + losses[:, :, b] @ mixture).max() for b in range(3)]
        game.observe(np.eye(3)[int(np.argmax(total))])
        assert game.certificate().holds
    certificate = game.certificate()
    assert certificate.regret <= certificate.allowed
    assert certificate.worst == pytest.approx(game.total.max())


def test_minimax_refuses() -> None:
    game = Minimax(2, 1.0)
    with pytest.raises(NotFittedError):
        game.observe([1.0])
    for bad in (np.zeros((3, 2, 2)), np.full((2, 2, 2), 1.5), np.full((2, 2, 2), np.nan)):
        with pytest.raises(InputError):
            game.play(bad)
    game.play(np.zeros((2, 2, 2)))
    for reply in ([0.5, 0.6], [2.0, -1.0], [1.0]):
        with pytest.raises(InputError):
            game.observe(reply)
    with pytest.raises(InputError):
        game.play(np.zeros((2, 2, 2)), caps=[0.3, 0.3])


def test_every_pure_pair_is_dominated_by_the_mixture() -> None:
    rng = np.random.default_rng(4)
    losses = rng.uniform(-1, 1, (5, 6))
    _, value = solve_game(losses)
    for a, b in itertools.combinations(range(5), 2):
        assert value <= (0.5 * losses[a] + 0.5 * losses[b]).max() + 1e-9
