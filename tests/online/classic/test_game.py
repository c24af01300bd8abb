"""The rule for one round, and the exact game."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multivalid.errors import InputError, NotFittedError
from multivalid.online.classic.game import CrossingRule, solve_game
from multivalid.online.convex_minimax import ConvexMinimax
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


def amf_value(losses: np.ndarray) -> float:
    """The adversary mixes two replies and shows the mixture; the learner then keeps the largest objective small. By trying mixtures."""
    from scipy.optimize import linprog

    objectives, actions, _ = losses.shape
    best = -np.inf
    for q in np.linspace(0, 1, 41):
        seen = losses @ np.array([q, 1 - q])  # (objectives, actions)
        made = linprog(
            [*np.zeros(actions), 1.0], A_ub=np.column_stack([seen, -np.ones(objectives)]), b_ub=np.zeros(objectives),
            A_eq=[[*np.ones(actions), 0.0]], b_eq=[1.0], bounds=[*[(0, None)] * actions, (None, None)],
        )  # fmt: skip
        best = max(best, made.fun)
    return float(best)


def test_regret_against_the_round_values_bounds_amf_regret() -> None:
    rng = np.random.default_rng(8)
    game, first = Minimax(3, 1.0, 20), 0.0
    for _ in range(20):
        losses = rng.uniform(-1, 1, (3, 3, 2))
        mixture = game.play(losses)
        value = game._round.value if game._round else 0.0
        amf = amf_value(losses)
        assert value <= amf + 1e-7 + 2 / 40  # mixtures are tried in steps of 1/40, and losses move by at most 2
        first += amf
        game.observe(np.eye(2)[int(np.argmax([(game.total + losses[:, :, b] @ mixture).max() for b in range(2)]))])
    assert game.total.max() - first <= game.certificate().regret + 20 * 2 / 40


def saddle(seed: int) -> tuple[object, float]:
    """Losses convex in the action and concave in the reply, and how steep they are."""
    a, b, c = np.random.default_rng(seed).uniform(-1, 1, (3, 4))

    def losses(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        x, y = x[None, :, None], y[None, None, :]
        return (x - a[:, None, None]) ** 2 / 8 - (y - b[:, None, None]) ** 2 / 8 + c[:, None, None] * x * y / 8

    return losses, 0.625  # |2(x − a)|/8 + |c·y|/8 at most, for everything in [−1, 1]


@pytest.mark.parametrize("points", [3, 17])
def test_convex_games_keep_their_promise_with_the_grid_in_it(points: int) -> None:
    game = ConvexMinimax(4, 1.0, 120, actions=(-1, 1), replies=(-1, 1), lipschitz=(0.625, 0.625), points=points)
    fine, rng = np.linspace(-1, 1, 401), np.random.default_rng(3)
    for t in range(120):
        losses, _ = saddle(t)
        weights = game.game.weights
        action = game.play(losses)  # type: ignore[arg-type]
        value = game._round[2] if game._round else 0.0
        table = np.tensordot(weights, losses(fine, fine), axes=1)  # type: ignore[operator]
        worst = np.tensordot(weights, losses(np.array([action]), fine), axes=1).max()  # type: ignore[operator]
        assert worst <= value + game.reply_error + 1e-7, "no reply hurts more than the promise"
        assert value <= table.max(axis=1).min() + game.action_error + 1e-6, "the grid's value is near the game's"
        total = [(game.game.total + losses(np.array([action]), np.array([b]))[:, 0, 0]).max() for b in (-1.0, 0.3, 1.0)]  # type: ignore[operator]
        game.observe((-1.0, 0.3, 1.0)[int(np.argmax(total))] if t % 3 else float(rng.uniform(-1, 1)))
        assert game.certificate().holds
    assert game.amf_allowed == pytest.approx(game.certificate().allowed + 120 * game.action_error)
    assert game.certificate().allowed == pytest.approx(game.game.certificate().allowed + 120 * 0.625 / (points - 1))


def test_convex_games_refuse() -> None:
    game = ConvexMinimax(1, 1.0, actions=(0, 1), replies=(0, 1), lipschitz=(1, 1))
    with pytest.raises(NotFittedError):
        game.observe(0.5)
    for wrong in (lambda x, y: np.zeros((2, x.size, y.size)), lambda x, y: np.full((1, x.size, y.size), 2.0)):
        with pytest.raises(InputError, match="losses must"):
            game.play(wrong)
    game.play(lambda x, y: np.zeros((1, x.size, y.size)))
    with pytest.raises(InputError, match="reply must lie"):
        game.observe(1.5)
    with pytest.raises(InputError, match="low < high"):
        ConvexMinimax(1, 1.0, actions=(1, 0), replies=(0, 1), lipschitz=(1, 1))
