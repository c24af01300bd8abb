"""Plans, tables, curves and certificates of Algorithm 1, written out once more with loops."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import multivalid as mv
from multivalid.atoms.response import response
from multivalid.batch import bounds, plan, recalibrate
from multivalid.batch.algorithm import Trace, _Slopes, slopes
from multivalid.batch.batched import Cells, LabelTable, Move, affordable, in_order
from multivalid.batch.bundles import Bundles
from multivalid.batch.control import Control
from multivalid.batch.default_levels import enough_levels, trivial_error
from multivalid.batch.level_formula import moved
from multivalid.batch.moves import Patch
from multivalid.batch.patches import predict, replay
from multivalid.batch.plan import Wish, label_range, levels_below, reach, settle, slope, theorem_rule
from multivalid.batch.rules import PrintedRule, TheoremRule, nearest_minimum
from multivalid.errors import InputError
from multivalid.evaluators import in_memory
from multivalid.groups.membership import Membership
from multivalid.properties.base import Interval
from multivalid.sources.rows import open_rows

GRID = mv.Grid([0.1, 0.2, 0.5, 0.9], lo=0.0, hi=1.0)


def rows_of(seed=0, count=200):
    rng = np.random.default_rng(seed)
    masks = [rng.random(count) < share for share in (0.3, 0.6)]
    y, p = np.round(rng.beta(2, 3, count), 1), rng.random(count)
    return open_rows(y, p, groups=masks, sample_weight=rng.choice([0.5, 2.0, 3.0], count)), [np.ones(count, dtype=bool), *masks]


# ---- plans ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("labels", "weights", "ends"),
    [
        ([0.2, 0.9], None, (0, 1)),
        ([0.0, 1.0], None, (0, 1)),
        ([-0.1, 0.9], None, (-0.1, 0.9)),
        ([0.2, 1.1], None, (0.2, 1.1)),
        ([0.2, 7.0], [1, 0], (0, 1)),
        ([3.0, 3.0], None, (2.5, 3.5)),
        ([-3e9, -3e9], None, (-3e9 - 3000, -3e9 + 3000)),
    ],
)
def test_the_range_of_labels(labels, weights, ends):
    found = label_range(mv.Mean(), np.array(labels), None if weights is None else np.array(weights))
    assert found == pytest.approx(ends)


def test_the_range_of_labels_ends_with_their_domain():
    lo, hi = label_range(mv.Entropic(100.0), np.array([-3.0, -3.0]))
    assert (lo, hi) == (-3.0, -2.5)
    assert label_range(mv.GeometricMean(), np.array([0.5, 0.7]))[0] == mv.GeometricMean().label_domain.lo


@pytest.mark.parametrize(("alpha", "cells"), [(None, 4), (None, 7), (2.0, 4), (2.0, 7)])
def test_the_rule_of_the_theorem(alpha, cells):
    rule, asked, drop = theorem_rule(GRID, 1.5, alpha, cells)
    step = 4 * 2.25 * 0.4**2
    assert asked == pytest.approx(2 * step if alpha is None else alpha)
    assert rule.threshold == pytest.approx((asked - step) / cells)
    assert rule.reach == pytest.approx(2 * 1.5 * 0.4)
    assert rule.least_drop == drop == pytest.approx(rule.threshold / (4 * 1.5))
    made = settle("theorem", GRID, 1.5, alpha)
    assert (made.alpha, made.drop_bound) == pytest.approx((asked, (asked - step) / 4 / 6))


def test_an_alpha_that_levels_alone_cost_is_out_of_reach():
    step = 4 * 2.25 * 0.4**2
    for alpha in (step, 0.5):
        enough = int(np.ceil(4 * np.sqrt(2 * step / alpha)))
        with pytest.raises(InputError, match=f"gap 0.4 and L=1.5: levels alone cost 4L²g² = 1.44; .* at least m = {enough} levels"):
            theorem_rule(GRID, 1.5, alpha, 4)
    grid = mv.Grid.uniform(0, 2, 10)  # 8L²g² = 8·(2/m)² for m levels
    with pytest.raises(InputError, match="at least m = 40 levels"):
        theorem_rule(grid, 1.0, 8 * (2 / 40) ** 2, 10)


def test_the_distance_to_the_ends_counts_as_a_gap():
    assert (reach(GRID), reach(mv.Grid([0.6, 0.7], lo=0.0, hi=1.0))) == pytest.approx((0.4, 0.6))


@pytest.mark.parametrize(("alpha", "lo", "hi"), [(None, 0.0, 1.0), (3.0, 0.0, 1.0), (None, -1.0, 3.0)])
def test_the_plan_as_printed(alpha, lo, hi):
    made = settle("paper", mv.Grid(GRID.points, lo=lo, hi=hi), 1.5, alpha)
    span = hi - lo
    asked = 4 * 2.25 * span**2 / 4 if alpha is None else alpha
    assert made.alpha == made.rule.alpha == pytest.approx(asked)
    assert made.drop_bound == pytest.approx(asked / (2 * 1.5 * 4) - 1.5 * max(span / 4, 0.4, hi - 0.9) ** 2)


@pytest.mark.parametrize(("error", "levels"), [(8 * 9 * 4 / 49, 7), (8 * 9 * 4 / 49.1, 8), (8 * 9 * 4 / 48.9, 7), (1e9, 1)])
def test_levels_for_an_error(error, levels):
    assert levels_below(error, 3.0, 2.0) == levels
    assert plan._levels_for(error, 3.0, 2.0) == levels
    assert plan._levels_for(None, 3.0, 2.0) == plan._levels_for(error, None, 2.0) == 20


@pytest.mark.parametrize(
    ("v", "steepest"),
    [
        ([-0.9, -0.8, 0.1, 0.2], 3.0),
        ([-0.9, -0.2, 0.1, 0.2], 7.0),
        ([0.6, 0.61, 0.62, 0.7], 1.5),
        ([-0.9, -0.89, -0.88, -0.8], 2.0),
        ([0.0, 0.0, 0.0, 0.0], 0.7 * 1e-12 / 0.4),
    ],
)
def test_the_slope_of_the_population(v, steepest):
    assert slope(np.array(v), GRID, SimpleNamespace(bound=0.7)) == pytest.approx(steepest)
    assert slope(np.array([0.3]), mv.Grid([0.3], lo=0, hi=1), SimpleNamespace(bound=0.7)) == pytest.approx(1.4)


@pytest.mark.parametrize("prop", [mv.Quantile(0.8), mv.LpQuantile(1.5, 0.3)], ids=repr)
def test_the_slope_of_the_population_of_rows(prop):
    rows, _ = rows_of(1)
    v = np.array([np.average(prop.identify(point, rows.labels), weights=rows.weights) for point in GRID.points])
    wanted = max(*(np.diff(v) / np.diff(GRID.points)), v[0] / 0.4, -v[-1] / 0.4)
    assert plan.population_slope(rows, prop, GRID, prop.facts()) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("lo", "hi", "refused"), [(0, 1, False), (2e-9, 1, True), (0, 1 - 2e-9, True), (0.5e-9, 1 - 0.5e-9, False)]
)
def test_levels_must_reach_as_far_as_what_they_predict(lo, hi, refused):
    grid = mv.Grid([0.5], lo=lo, hi=hi)
    if refused:
        with pytest.raises(InputError, match="can be anywhere in"):
            plan.check_covers(grid, Interval(0, 1), "grid", "it")
    else:
        plan.check_covers(grid, Interval(0, 1), "grid", "it")


def test_whose_choice_the_number_of_levels_is():
    assert Wish("theorem").open
    assert not any(
        wish.open for wish in (Wish("paper"), Wish("theorem", m=3), Wish("theorem", alpha=0.1), Wish("theorem", grid=GRID))
    )


# ---- as many levels as promise something ------------------------------------------------------------------------------
def drafts(alpha_of, tried):
    def draft(m):
        tried.append(m)
        levels = m or 20
        return SimpleNamespace(grid=mv.Grid.uniform(1, 3, levels), alpha=alpha_of(levels), lipschitz=1.5)

    return draft


def test_levels_follow_from_what_a_constant_reaches():
    tried = []
    made = enough_levels(drafts(lambda m: 8 * (1.5 * 2 / m) ** 2, tried), lambda plan: 0.05, groups=True)
    assert tried == [None, int(np.ceil(3 * np.sqrt(8 / 0.045)))]
    assert made.alpha <= 0.05
    tried.clear()
    enough_levels(drafts(lambda m: 0.04 if m > 41 else 1.0, tried), lambda plan: 0.05, groups=True)
    assert tried == [None, 40, 41, 42], "one more each time"


def test_where_labels_are_ties_the_last_try_is_the_finest_grid():
    tried = []
    with pytest.raises(
        InputError, match=r"an error of at most 0.05 in every group, and 10,000 levels with L = 1.5 promise 7.2e-07"
    ):
        enough_levels(drafts(lambda m: 1.0, tried), lambda plan: 0.05, groups=True)
    assert tried == [None, 40, 41, 42, 43, 44, 45, 10_000]
    usual = enough_levels(drafts(lambda m: 1.0, tried), lambda plan: 0.05, groups=False)
    assert len(usual.grid) == 20
    tried.clear()
    with pytest.raises(InputError):
        enough_levels(drafts(lambda m: 1.0, tried), lambda plan: 0.0, groups=True)
    assert tried == [None]


@pytest.mark.parametrize("prop", [mv.Mean(), mv.Quantile(0.7)], ids=repr)
def test_what_one_prediction_for_everybody_reaches(prop):
    rows, masks = rows_of(2)
    answer = response(prop, GRID, rows.labels)
    bins, moments = answer.encode(rows.labels)
    by_bin = np.zeros((answer.bins, len(masks), answer.width))
    for g, mask in enumerate(masks):
        for row in np.flatnonzero(mask):
            by_bin[bins[row], g] += rows.weights[row] * moments[row]
    total = rows.weights.sum()
    errors = np.zeros((len(masks), len(GRID)))
    for g, mask in enumerate(masks):
        for j, point in enumerate(GRID.points):
            v = np.average(prop.identify(point, rows.labels[mask]), weights=rows.weights[mask])
            errors[g, j] = v**2 * rows.weights[mask].sum() / total
    assert trivial_error(by_bin, answer, total) == pytest.approx(errors.max(axis=0).min())
    assert trivial_error(by_bin[:, :1], answer, total) == pytest.approx(errors[0].max())


# ---- tables and curves ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("prop", [mv.Mean(), mv.Quantile(0.7), mv.LpQuantile(1.5, 0.3)], ids=repr)
def test_the_table_of_a_pass(prop):
    rows, masks = rows_of(3)
    patches = [Patch(1, 0, 2), Patch(0, 3, 1), Patch(2, 2, 3)]
    level = GRID.round(rows.predictions)
    for group, source, target in patches:
        level = np.where((level == source) & masks[group], target, level)
    answer = response(prop, GRID, rows.labels)
    made = LabelTable(answer, GRID, patches)(rows)
    cells = Cells(made, answer, GRID, float(rows.weights @ answer.score_constant(rows.labels)))
    y, w, total = rows.labels, rows.weights, rows.weights.sum()
    assert cells.potential() == pytest.approx(np.average(prop.score(GRID.points[level], y), weights=w))
    for j in range(4):
        for g, mask in enumerate(masks):
            inside = mask & (level == j)
            assert cells.mass[j, g] == pytest.approx(w[inside].sum() / total)
            assert cells.identification[j, g] == pytest.approx(
                w[inside] @ prop.identify(GRID.points[j], y[inside]) / total, abs=1e-12
            )
            if inside.any():
                cell = cells.cell(j, g)
                assert cell.weight == pytest.approx(w[inside].sum() / total)
                v = [np.average(prop.identify(point, y[inside]), weights=w[inside]) for point in GRID.points]
                s = [np.average(prop.score(point, y[inside]), weights=w[inside]) for point in GRID.points]
                np.testing.assert_allclose(cell.identify, v, atol=1e-12)
                np.testing.assert_allclose(np.diff(cell.score), np.diff(s), atol=1e-12)
    assert slopes(cells.steepness, np.array([-0.4, -0.3, 0.3, 0.5])) == pytest.approx((2.0, 0.6))


def test_the_steepest_of_many_cells():
    rng, steepness = np.random.default_rng(0), 1 / np.diff(GRID.points)
    for peak in (0, 63, 64, 99):
        seen, curves = _Slopes(steepness), rng.normal(0, 0.1, (100, 4))
        curves[peak, 1] += 5
        for curve in curves:
            seen.add(curve)
        assert seen.steepest() == pytest.approx(max((np.diff(curve) * steepness).max() for curve in curves))


def test_drops_of_a_run():
    assert Trace(potential=[1.0, 0.7, 0.65]).drops == pytest.approx([0.3, 0.05])


@pytest.mark.parametrize(
    ("most", "made", "wanted", "room"), [(None, 9, 5, 5), (10, 7, 5, 3), (10, 7, 2, 2), (10, 10, 1, 0), (10, 12, 3, 0)]
)
def test_room_for_updates(most, made, wanted, room):
    assert Control(most).room(made, wanted) == room


def test_a_table_that_just_fits(monkeypatch):
    answer = response(mv.Quantile(0.7), GRID, np.zeros(1))
    numbers = 4 * answer.bins * 3 * answer.width
    monkeypatch.setattr("multivalid.batch.batched.MOST_NUMBERS", numbers)
    affordable(GRID, answer, 3)
    monkeypatch.setattr("multivalid.batch.batched.MOST_NUMBERS", numbers - 1)
    with pytest.raises(InputError, match=f"2 moments = {numbers} numbers"):
        affordable(GRID, answer, 3)


def test_moves_of_a_round_leave_a_level_before_others_arrive():
    rng = np.random.default_rng(5)
    for _ in range(200):
        sources = rng.permutation(6)[: rng.integers(1, 7)]
        targets = [int(rng.choice([t for t in range(6) if t != s])) for s in sources]
        moves = [Move(Patch(0, int(s), t), float(u), 1.0) for s, t, u in zip(sources, targets, rng.permutation(6), strict=False)]
        made = in_order(moves)
        arrived = set()
        for move in made:
            assert move.patch.source not in arrived
            arrived.add(move.patch.target)
        best = max(moves, key=lambda move: move.urgency)
        assert best in made
        for dropped in [move for move in moves if move not in made]:
            level, path = dropped.patch.target, [dropped]
            while level != dropped.patch.source:
                path.append(next(move for move in made if move.patch.source == level))
                level = path[-1].patch.target
            assert min(path, key=lambda move: move.urgency) is dropped, "of a circle the least urgent"


@pytest.mark.parametrize(("atoms", "none"), [(6, False), (5, True)])
def test_atoms_are_bundled_where_many_meet(atoms, none):
    combination = np.arange(atoms) % 6 if atoms > 5 else np.append(np.arange(4), 5)
    table = type("Table", (), {"combination": combination, "__len__": lambda self: atoms})()
    assert (Bundles.of(table, np.arange(atoms) % 4, 4) is None) == none


def test_moves_as_a_formula_and_as_masks():
    rng = np.random.default_rng(6)
    patches = [Patch(int(g), int(s), int(t)) for g, s, t in zip(*rng.integers(0, [[3], [9], [9]], (3, 60)), strict=True)]
    dense = rng.random((500, 2)) < 0.5
    level = rng.integers(0, 9, 500)
    members = Membership.from_dense(dense)
    wanted = level.copy()
    for group, source, target in patches:
        inside = np.ones(500, dtype=bool) if group == 0 else dense[:, group - 1]
        wanted = np.where((wanted == source) & inside, target, wanted)
    np.testing.assert_array_equal(replay(patches, level, 9, members), wanted)
    found = in_memory(lambda by, columns, own: [moved(by, patches, columns[0], 9, own)], level[:, None].astype(float), members)
    np.testing.assert_array_equal(found[:, 0], wanted)


@pytest.mark.parametrize("levels", [2, 9, 16, 17, 256, 257])
def test_predictions_of_many_blocks(levels, monkeypatch):
    monkeypatch.setattr("multivalid.batch.patches.BLOCK", 128)
    monkeypatch.setattr("multivalid.batch.patches.CHUNK", 50)
    rng = np.random.default_rng(levels)
    grid = mv.Grid(np.sort(rng.random(levels)))
    patches = [Patch(int(g), int(s), int(t)) for g, s, t in zip(*rng.integers(0, [[3], [levels], [levels]], (3, 80)), strict=True)]
    dense, said = rng.random((301, 2)) < 0.5, rng.random(301)
    level = np.array([int(np.argmin(np.abs(grid.points - p))) for p in said])
    for group, source, target in patches:
        inside = np.ones(301, dtype=bool) if group == 0 else dense[:, group - 1]
        level = np.where((level == source) & inside, target, level)
    for many in (1, 1 << 14):
        monkeypatch.setattr("multivalid.batch.patches.MANY", many)
        np.testing.assert_array_equal(predict(patches, said, grid, Membership.from_dense(dense)), grid.points[level])


# ---- rules ------------------------------------------------------------------------------------------------------------
def test_when_a_cell_moves_and_where_to():
    rule = TheoremRule(0.03, 0.2, 0.01)
    mass, v = np.array([0.5, 0.5, 0.9, 0.5, 0.0]), np.array([0.3, 0.24, 0.2, 0.2, 0.0])
    found = rule.priority(mass, mass * v)
    assert found == pytest.approx([0.5 * 0.09, -1, -1, -1, -1])
    assert TheoremRule(0.5 * 0.24**2, 0.2, 0.0).priority(mass[1:2], mass[1:2] * 0.25) == pytest.approx([0.5 * 0.0625])

    def cell(*score, weight=0.5):
        return SimpleNamespace(weight=weight, score=np.array(score), identify=np.array([0.3, -0.1, 0.1]))

    assert rule.destination(cell(0.4, 0.38, 0.5), 0) == 1, "a drop of exactly the least"
    assert rule.destination(cell(0.4, 0.3801, 0.5), 0) is None
    assert rule.destination(cell(0.4, 0.37, 0.5, weight=0.3), 0) is None
    printed = PrintedRule(0.02)
    assert printed.destination(cell(0.4, 0.5, 0.3), 0) == 2, "of two levels of least |V| the one that scores better"
    assert printed.destination(cell(0.3, 0.5, 0.4), 0) is None
    assert printed.destination(cell(2e-9, 4e-9, 1e-9), 0) == 2, "a drop is small beside the spread of the scores, or not at all"
    assert printed.destination(cell(1.0, 4e6, 1 - 3e-6), 0) is None, "what rounding could have made is none"
    assert printed.satisfied(mass[:2, None], (mass * v)[:2, None]) == (0.5 * 0.09 + 0.5 * 0.0576 <= 0.02)
    assert PrintedRule(0.5 * 0.09 + 0.5 * 0.0576 + 1e-15).satisfied(mass[:2, None], (mass * v)[:2, None])
    assert nearest_minimum(np.array([1.0, 1 + 0.9e-12, 1.1]), 1, 1.0) == 1
    assert nearest_minimum(np.array([1.0, 1 + 0.9e-12, 1.1]), 1, 0.5) == 0


def test_the_rule_of_one_call(monkeypatch):
    seen = []
    monkeypatch.setattr(recalibrate, "run", lambda state, rule, control: seen.append((rule, control)) or SimpleNamespace())
    members = Membership.from_masks([np.ones(4, dtype=bool)], rows=4)
    recalibrate.recalibrate(
        [0.9] * 4, [0] * 4, members, property=mv.Mean(), grid=GRID, threshold=0.03, lipschitz=1.5, max_updates=7
    )
    assert seen[0][1].max_updates == 7
    rule = seen[0][0]
    assert (rule.threshold, rule.reach, rule.least_drop) == pytest.approx((0.03, 1.2, 0.005))


# ---- what is stated ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("batched", [False, True])
def test_numbers_of_a_certificate(batched):
    rng = np.random.default_rng(8)
    y, p, w = rng.gamma(2, 1, 400).round(1), rng.uniform(0, 6, 400), rng.choice([0.5, 2.0], 400)
    group = rng.random(400) < 0.4
    made = mv.multicalibrate(
        y, p, groups=[group], property="expectile:0.8", mode="theorem", m=12, sample_weight=w, batched=batched
    ).certificate
    prop, grid = mv.Expectile(0.8), mv.Grid.uniform(y.min(), y.max(), 12)
    assert made.initial == pytest.approx(np.average(prop.score(grid.points[grid.round(p)], y), weights=w))
    assert made.optimal == pytest.approx(0, abs=1e-12)
    assert made.update_bound == int(made.initial / made.drop_bound)
    bound = max(2 * 0.8 * np.ptp(y), np.abs(prop.identify(grid.points[:, None], y)).max())
    wanted = bounds.generalisation(
        made.error, rows=w.sum() ** 2 / (w @ w), bound=bound, levels=12, groups=2, updates=made.updates, delta=0.05
    )
    assert made.sample_bound == pytest.approx(wanted)
    assert made.least_drop == pytest.approx(-np.diff(made.potential).max())
    assert made.updates > 1
