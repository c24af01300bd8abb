"""Directions, columns of trees, losses and choices for several coordinates, each against plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import multivalid as mv
from multivalid.evaluators import DenseMembers
from multivalid.groups.membership import Membership
from multivalid.practical.data import Matching, Outcomes
from multivalid.practical.link import LogOdds, OwnUnits
from multivalid.several import boost, classes_fit, shares_fit
from multivalid.several.classes_fit import ALONE, STAGES, Step, Tried, confirmed
from multivalid.several.losses import OneWhole, OwnScales, lean_of_shares
from multivalid.several.mixture import Mixture
from multivalid.several.shares import Directions, Shares
from multivalid.several.shares_fit import ClassRows, Passes
from multivalid.several.tree_columns import Block, Number, columns_of

from .worlds import kinds, softmax

RNG = np.random.default_rng


def class_rows(rows=1500, seed=0):
    """Rows in a fit's own terms, and the probabilities given."""
    label, base, weight, groups, _ = kinds(rows, seed)
    codes = np.searchsorted(np.unique(label), label)
    return ClassRows(codes, weight / weight.mean(), np.log(base), Membership.from_dense(groups)), base


def test_directions_are_principal_components_of_log_ratios():
    rng = RNG(1)
    logs, weights = np.log(softmax(rng.normal(size=(900, 4)) * [2.0, 1.0, 0.5, 0.3])), rng.choice([0.5, 2.0], 900)
    made = Directions.of(logs, weights)
    ratios = logs - logs.mean(axis=1, keepdims=True)
    mean = np.average(ratios, axis=0, weights=weights)
    about = ratios - mean
    w = weights / weights.sum()
    spread = (about * w[:, None]).T @ about / (1 - w @ w)
    z = made.weights @ logs.T - made.center[:, None]
    assert made.count == 3
    np.testing.assert_allclose(z, made.weights @ ratios.T - (made.weights @ mean)[:, None], atol=1e-9)
    np.testing.assert_allclose(made.weights.sum(axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(made.weights @ spread @ made.weights.T, np.eye(3), atol=1e-8)
    values = np.sort(np.linalg.eigvalsh(spread))[::-1][:3]
    for one, value in zip(made.weights, values, strict=True):
        np.testing.assert_allclose(spread @ one, value * one, atol=1e-8)
    np.testing.assert_allclose(made.knots, [np.quantile(line, [0.2, 0.4, 0.6, 0.8]) for line in z])
    np.testing.assert_allclose((made.own_center, made.own_scale), (logs.mean(axis=0), logs.std(axis=0)))
    own = (logs - logs.mean(axis=0)) / logs.std(axis=0)
    np.testing.assert_allclose(made.own_knots, [np.quantile(line, [0.2, 0.4, 0.6, 0.8]) for line in own.T])


def test_probabilities_that_never_vary_have_no_direction():
    logs = np.log(np.tile([0.2, 0.3, 0.5], (50, 1)))
    made = Directions.of(logs, np.ones(50))
    assert (made.count, made.knots.shape) == (0, (0, 4))
    assert made.own_scale.tolist() == [1.0, 1.0, 1.0]
    two = Directions.of(np.log(softmax(RNG(0).normal(size=(50, 2)))), np.ones(50))
    assert two.count == 1, "two classes differ along one direction"


def test_coefficients_and_what_holds_them_back():
    rows, _ = class_rows()
    model = Shares.new(Directions.of(rows.logs, rows.weights), 4).with_slopes(2).with_crossings(np.array([[0, 1], [2, 3]]))
    # Intercept, three slopes, twelve hinges; own slope and four hinges; four groups' shifts and two slopes each; two crossings.
    assert model.penalty.tolist() == [0.0] + [0.01] * 3 + [0.1] * 12 + [0.01] + [0.1] * 4 + [1.0] * (12 + 2)
    assert model.bent.tolist() == [False] + [True] * 20 + [False] * 14
    table = RNG(0).normal(size=(4, 35))
    np.testing.assert_array_equal(model.holding(table).table, table)
    np.testing.assert_array_equal(model.holding(table).groups[:, 0], table[:, 21:25])
    np.testing.assert_array_equal(model.holding(table).crossings, table[:, 33:])
    under = Mixture(0.3).under_trees(model.holding(table))
    np.testing.assert_allclose(under.table, 0.7 * table)


@pytest.mark.parametrize(("groups", "most", "slopes"), [(4, 1200, 3), (4, 12, 2), (4, 11, 1), (4, 7, 0), (0, 1200, 3)])
def test_groups_have_slopes_where_there_is_room(groups, most, slopes, monkeypatch):
    monkeypatch.setattr(shares_fit, "MOST_SLOPES", most)
    rows, _ = class_rows()
    assert shares_fit.slopes_of(Shares.new(Directions.of(rows.logs, rows.weights), groups)) == slopes


@pytest.mark.parametrize("width", [2, 6, 7])
def test_trees_look_at_columns_and_gaps_cut_at_quantiles(width):
    rng = RNG(width)
    given = np.sort(rng.gamma(2, 1, (700, width)).round(3), axis=1)
    given[:, 1] = 3.0  # a column that never varies has nothing to be cut at
    masks = np.stack([rng.random(700) < 0.2, np.arange(700) % 3 == 0, np.arange(700) % 3 == 1, np.zeros(700, bool)], axis=1)
    members = Membership.from_dense(masks)
    made = columns_of(given, members)
    pairs = itertools.combinations(range(width), 2) if width <= 6 else itertools.pairwise(range(width))
    wanted = [(k, None) for k in range(width) if k != 1] + [(high, low) for low, high in pairs]
    numbers = [one for one in made if isinstance(one, Number)]
    assert [(one.column, one.less) for one in numbers] == wanted
    for one in numbers:
        values = given[:, one.column] - (0.0 if one.less is None else given[:, one.less])
        edges = sorted({np.quantile(values, k / 100) for k in range(1, 100)} - {values.min()})
        assert one.edges == tuple(edges)
        np.testing.assert_array_equal(one.codes(list(given.T), None), [sum(v >= e for e in edges) for v in values])
        assert one.size == len(edges) + 2
    blocks = [one for one in made if isinstance(one, Block)]
    assert [one.groups for one in blocks] == [(1,), (2, 3)], "neighbours that share no row; none without rows"
    codes = blocks[1].codes(list(given.T), DenseMembers(members, 0, 700))
    np.testing.assert_array_equal(codes, np.where(masks[:, 1], 1, np.where(masks[:, 2], 2, 0)))
    assert blocks[1].size == 4


def test_no_more_groups_share_a_column_than_it_has_codes(monkeypatch):
    from multivalid.several import tree_columns

    monkeypatch.setattr(tree_columns, "MOST_BLOCK", 3)
    masks = np.arange(60)[:, None] % 8 == np.arange(8)
    made = columns_of(RNG(0).random((60, 1)), Membership.from_dense(masks))
    assert [one.groups for one in made if isinstance(one, Block)] == [(1, 2, 3), (4, 5, 6), (7, 8)]


@pytest.mark.parametrize("stretch", [1.0, 700.0])
def test_losses_of_one_whole_row_by_row(stretch):
    rng = RNG(2)
    eta, weights, codes = stretch * rng.normal(size=(3, 60)), rng.choice([0.5, 1.5], 60), rng.integers(0, 3, 60)
    losses = OneWhole(mv.Classes(range(3)), Outcomes(codes.astype(float), weights))
    share = softmax(eta.T).T
    for k in range(3):
        np.testing.assert_allclose(losses.residuals(eta)[k], weights * (share[k] - (codes == k)), atol=1e-12)
        np.testing.assert_allclose(losses.slopes(eta)[k], weights * share[k] * (1 - share[k]), atol=1e-12)
    if stretch == 1.0:
        np.testing.assert_allclose(losses.losses(eta), -weights * np.log(share[codes, np.arange(60)]))
    some = losses.take(np.array([3, 5, 5]))
    np.testing.assert_allclose(some.residuals(eta[:, [3, 5, 5]])[0], losses.residuals(eta)[0][[3, 5, 5]])


def test_leans_of_classes_are_those_of_one_draw():
    rng = RNG(3)
    before, after, codes, weights = (
        softmax(rng.normal(size=(9, 3))),
        softmax(rng.normal(size=(9, 3))),
        rng.integers(0, 3, 9),
        rng.random(9),
    )
    lean, variance = lean_of_shares(before.T, after.T, codes, weights)
    for i in range(9):
        move = [np.log(after[i, k] / before[i, k]) for k in range(3)]
        mean = sum(p * m for p, m in zip(before[i], move, strict=True))
        assert lean[i] == pytest.approx(weights[i] * (move[codes[i]] - mean))
        assert variance[i] == pytest.approx(
            weights[i] ** 2 * sum(p * (m - mean) ** 2 for p, m in zip(before[i], move, strict=True))
        )


def test_leans_of_quantiles_row_by_row():
    rng = RNG(4)
    taus, target = (0.1, 0.6, 0.9), mv.Quantiles((0.1, 0.6, 0.9))
    weights, labels = rng.choice([0.5, 1.5], 40), rng.normal(size=40)
    scales = [Matching(one.predicted, OwnUnits(0.2, 2.0)) for one in target.coordinates]
    losses = OwnScales(target, scales, Outcomes(labels, weights))
    first, then = (np.sort(rng.normal(size=(3, 40)), axis=0) for _ in range(2))
    lean, variance = losses.leans(first, then)
    before, after = 0.2 + 2 * first, 0.2 + 2 * then
    for i in range(40):
        v = [(labels[i] <= before[k, i]) - tau for k, tau in enumerate(taus)]
        move = after[:, i] - before[:, i]
        assert lean[i] == pytest.approx(weights[i] * -sum(v[k] * move[k] for k in range(3)))
        spread = sum(min(a, b) * (1 - max(a, b)) * move[j] * move[k] for j, a in enumerate(taus) for k, b in enumerate(taus))
        assert variance[i] == pytest.approx(weights[i] ** 2 * spread)
    pinball = [
        sum((t - (y < q)) * (y - q) for t, q in zip(taus, column, strict=True)) for y, column in zip(labels, before.T, strict=True)
    ]
    found = losses.losses(first) / weights
    np.testing.assert_allclose(found - found[0], np.array(pinball) - pinball[0], atol=1e-9)


def test_a_link_of_log_odds_hands_out_its_ends():
    target = mv.Quantiles((0.2, 0.8))
    scales = [Matching(one.predicted, LogOdds(-0.01, 1.02, stretched=True)) for one in target.coordinates]
    losses = OwnScales(target, scales, Outcomes(np.array([0.0, 1.0]), np.ones(2)))
    np.testing.assert_allclose(losses._final(np.array([[-9.0, -9.0], [9.0, 0.0]])), [[0.0, 1.0], [0.0, 0.5]])


# ---- what rows held out choose -------------------------------------------------------------------------------------------
def _tried(gain, rows=300):
    return Tried(gain + RNG(0).normal(0, 1e-3, rows), np.ones(rows), np.full(rows, 0.01), np.ones(rows))


def test_the_last_stage_that_gains_is_kept():
    def step(*gains):
        return Step(4.0, [], [_tried(gain) for gain in gains])

    kept, report = confirmed({ALONE: step(0.1, 0.4), STAGES[1]: step(0.2, 0.6)})
    assert kept == STAGES[1]
    assert [line.split(":")[0] for line in report] == list(STAGES[:2])
    assert "gain 0.25 " in report[0], "of both folds"
    assert confirmed({ALONE: step(0.3), STAGES[1]: step(0.25)})[0] == ALONE
    assert confirmed({ALONE: step(-0.1)})[0] is None


@pytest.mark.parametrize(
    ("gains", "least", "kept", "fits"),
    [([0.1, 0.3, 0.2, 0.9], 0.0, 1, 3), ([0.3, 0.2], 0.0, 0, 2), ([0.1, 0.9], 60.0, 0, 1), ([0.1] * 7 + [0.2], 0.0, 0, 2)],
)
def test_ridges_weaken_as_long_as_rows_held_out_gain(gains, least, kept, fits, monkeypatch):
    rows, base = class_rows(300)
    start, seen = Shares.new(Directions.of(rows.logs, rows.weights), 4), []
    monkeypatch.setattr(classes_fit.shares_fit, "fit", lambda passes, model, ridge, *_: seen.append(ridge) or model)
    monkeypatch.setattr(Tried, "of", lambda *_: _tried(gains[len(seen) - 1]))
    fold = classes_fit.Fold(rows, rows, base.T)
    made = classes_fit._weakened(STAGES[1], [fold], [Passes(rows, start)], [start], 0, least)
    assert made.ridge == classes_fit.RIDGES[kept]
    assert seen == list(classes_fit.RIDGES[:fits])


@pytest.mark.parametrize(("rows", "parts"), [(19_999, 5), (20_000, 1)])
def test_a_fifth_is_held_out(rows, parts):
    made = list(classes_fit._splits(np.arange(rows)))
    assert len(made) == parts
    for out, rest in made:
        assert sorted([*out.tolist(), *rest.tolist()]) == list(range(rows))
        assert out.size in (rows // 5, -(-rows // 5))
    assert made[-1][0][0] == 0, "the first one last"


def test_what_a_stage_does_on_rows_it_was_not_fitted_on():
    rows, base = class_rows(700)
    model = Shares.new(Directions.of(rows.logs, rows.weights), 4)
    model = model.holding(model.table + 0.1 * RNG(0).normal(size=model.table.shape))
    found, none = (Tried.of(Passes(rows, model), base.T, one) for one in (model, model.holding(0 * model.table)))
    after = Passes(rows, model).shares(model)
    label = rows.codes, np.arange(700)
    np.testing.assert_allclose(found.gains, rows.weights * np.log(after[label] / base.T[label]), atol=1e-6)
    np.testing.assert_allclose(none.gains, 0, atol=1e-5)
    np.testing.assert_allclose(found.leans, lean_of_shares(base.T, after, rows.codes, rows.weights)[0])
    np.testing.assert_allclose(found.losses, -rows.weights * np.log(base.T[label]))
    np.testing.assert_allclose(found.noise, lean_of_shares(base.T, after, rows.codes, rows.weights)[1])


@pytest.mark.parametrize(
    ("means", "seen", "rounds"),
    [
        ([1.0] * 9, 4, 0),
        ([1.0, 0.9, *[1.0] * 9], 7, 1),
        ([1.0, 1.1, 1.2, 1.1, 0.9, *[0.95] * 9], 10, 4),
        ([9.0 - k for k in range(9)], 8, 8),
    ],
)
def test_trees_stop_when_rows_held_out_gain_no_more(means, seen, rounds, monkeypatch):
    monkeypatch.setattr(boost, "add_trees", lambda trees, codes, row: np.add(row, 1.0, out=row))

    class Told:
        def losses(self, eta):
            return np.full(eta.shape[1], means[int(eta[0, 0])])

    judge = boost._Judge(np.zeros((2, 5)), Told(), np.zeros((5, 1), dtype=np.uint8))
    while judge.seen + 1 < len(means) and judge.go_on([0.0, 0.0]):
        pass
    assert (judge.seen, judge.rounds) == (seen, rounds)
    assert judge.there[0, 0] == rounds


def test_numbers_of_all_columns_together():
    from multivalid.batch.certificate import Certificate
    from multivalid.several.certificate import SeveralCertificate

    def part(status, **numbers):
        return Certificate(status=status, mode="theorem", potential=np.zeros(2), **numbers)

    parts = (
        part("converged", alpha=0.3, error=0.1, updates=4, update_bound=9, least_drop=0.02, drop_bound=0.01, lipschitz=2.0, steepest=1.0,
             holdout_error=0.2),
        part("blocked", alpha=0.2, error=0.4, updates=7, update_bound=5, least_drop=float("nan"), drop_bound=0.04, lipschitz=1.0,
             steepest=3.0, holdout_error=0.1),
    )  # fmt: skip
    made = SeveralCertificate.of(mode="theorem", keys=("a", "b"), parts=parts, potential=np.array([2.0, 1.0]))
    assert (made.alpha, made.error, made.updates, made.update_bound) == (0.3, 0.4, 11, 14)
    assert (made.least_drop, made.drop_bound, made.lipschitz, made.steepest) == (0.02, 0.01, 2.0, 3.0)
    assert (made.holdout_error, made.status) == (0.2, "blocked")
    some = SeveralCertificate.of(mode="theorem", keys=("a",), parts=parts[1:], potential=np.array([2.0, 1.0]))
    assert np.isnan(some.least_drop)


def test_half_of_the_rows_choose_the_mixture_of_the_other_half():
    from multivalid.several.mixture import crossed

    rng = RNG(3)
    codes, weights = rng.integers(0, 3, 400), rng.choice([0.5, 2.0], 400)
    truth = np.eye(3)[:, codes] * 1.5
    model, trees = 0.8 * truth + rng.normal(size=(3, 400)), 0.5 * truth + rng.normal(size=(3, 400))
    found = crossed(model, trees, codes, weights, np.arange(400))

    def loss(share, rows):
        eta = model[:, rows] + share * (trees - model)[:, rows]
        return weights[rows] @ (np.log(np.exp(eta).sum(axis=0)) - eta[codes[rows], np.arange(eta.shape[1])])

    grid = np.linspace(0, 1, 1001)
    for half, other in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        share = grid[np.argmin([loss(one, other) for one in grid])]
        np.testing.assert_allclose(found[:, half], (model + share * (trees - model))[:, half], atol=5e-3)
        assert 0.1 < share < 0.99
