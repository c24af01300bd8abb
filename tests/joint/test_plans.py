"""Levels, thresholds and bounds of Algorithm 3, on numbers of which none is 1 and no two are the same."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.joint import default_levels as levels_module
from multivalid.joint import statement
from multivalid.joint.bounds import cvar_constants, second_error_bound
from multivalid.joint.plan import _as_far_as, make_plan, second_slope
from multivalid.joint.trivial import trivial_errors
from multivalid.properties.base import Interval
from multivalid.sources.rows import open_rows


def rough_plan(alpha, second, m):
    return SimpleNamespace(
        grids=(range(m[0]), range(m[1])), alpha=alpha, second=SimpleNamespace(value=second, reason=""), lipschitz=(1.5, 2.5)
    )


def rows_of(seed=0, count=90, lo=0.0, hi=1.0, groups=2):
    """Ties, weights of which some are 0, and predictions anywhere in the range of the labels."""
    rng = np.random.default_rng(seed)
    y = lo + (hi - lo) * np.round(rng.beta(2, 3, count), 1)
    said = np.column_stack([rng.uniform(lo, hi, count), rng.uniform(0, 0.2, count)])
    masks = [rng.random(count) < share for share in (0.3, 0.6)[:groups]]
    return open_rows(y, said, groups=masks, sample_weight=rng.choice([0.0, 0.5, 2.0], count), width=2), masks


# ---- how many levels --------------------------------------------------------------------------------------------------
# With α = 0.08 on 20 levels and α = 0.02 on 30, α·m² is 32 and 18; a second bound of 0.1 is 0.06 from the first stage, 24/m².
@pytest.mark.parametrize(
    ("alpha", "second", "constant", "tried"),
    [
        ((0.08, 0.02), 0.1, (0.01, 0.02), (60, 64)),  # √(32/0.009) = 59.6; √(2·36/0.018) = 63.2
        ((0.08, 0.02), 0.1, (0.05, 0.012), (67, 82)),  # the second bound asks most of the first: √(2·24/0.0108) = 66.7
        ((0.08, 0.02), 0.1, (0.2, 0.25), (21, 18)),  # one more than there were
        ((0.08, 0.02), None, (0.01, 0.02), (60, 30)),
        ((0.08, 0.02), None, (0.3, 0.02), (21, 30)),
    ],
)
def test_the_levels_that_are_tried_next(alpha, second, constant, tried):
    assert levels_module._try_finer(rough_plan(alpha, second, (20, 30)), constant, 7) == tried


@pytest.mark.parametrize(
    ("alpha", "second", "constant", "wanted"),
    [
        ((0.08, 0.002), 0.1, (1.0, 5e-7), r"m = \(10,000, 7,386\)"),  # √(3.6/(4.5e-7 − 38.4/10⁸))
        ((0.002, 0.08), 0.2, (1.0, 2e-6), r"m = \(6,667, 10,000\)"),  # √(16/(1.8e-6 − 144/10⁸))
    ],
)
def test_where_one_coordinate_has_all_levels_the_other_makes_up_for_it(alpha, second, constant, wanted):
    with pytest.raises(InputError, match=wanted) as refused:
        levels_module._try_finer(rough_plan(alpha, second, (20, 30)), constant, 3)
    cells = 3 * (7386 if "7,386" in wanted else 6667) * 10_000
    assert f"with 3 groups these are {cells:,} cells" in str(refused.value)


def test_as_many_cells_as_there_is_room_for_are_not_too_many(monkeypatch):
    plan = rough_plan((0.08, 0.02), 0.1, (20, 30))
    monkeypatch.setattr(levels_module, "MOST_CELLS", 60 * 64 * 7)
    assert levels_module._try_finer(plan, (0.01, 0.02), 7) == (60, 64)
    monkeypatch.setattr(levels_module, "MOST_CELLS", 60 * 64 * 7 - 1)
    with pytest.raises(InputError, match="26,880 cells"):
        levels_module._try_finer(plan, (0.01, 0.02), 7)


@pytest.mark.parametrize(("constant", "refused"), [((3.1e-7, 1.0), True), ((1.0, 5.9e-7), True), ((1.0, 6.1e-7), False)])
def test_what_ten_thousand_levels_promise(constant, refused):
    """32/10⁸ and (24 + 36)/10⁸."""
    plan = rough_plan((0.08, 0.02), 0.1, (20, 30))
    with pytest.raises(InputError, match="promise 3.2e-07 and 6e-07" if refused else "needs about m ="):
        levels_module._try_finer(plan, constant, 3)


def test_the_last_try_has_as_many_levels_as_there_is_room_for():
    """Labels that are ties: L grows with the levels, and so does the error of every plan."""
    tried = []

    def draft(levels):
        tried.append(levels)
        return rough_plan((1.0, 1.0), None, levels)

    with pytest.raises(InputError, match="can promise nothing here"):
        levels_module._promising(rough_plan((1.0, 1.0), None, (20, 30)), draft, (0.5, 1.0), 40)
    first = [20]
    for _ in range(8):
        first.append(int(np.ceil(first[-1] / np.sqrt(0.45))))
    last = first.pop()
    assert tried[:-1] == [(one, 30) for one in first[1:]]
    times = (levels_module.MOST_CELLS / (last * 30 * 40)) ** 0.5
    assert tried[-1] == (min(int(last * times), 10_000), int(30 * times))


@pytest.mark.parametrize("made", [0, 3, 8])
def test_the_first_plan_that_promises_less_than_a_constant_has_is_taken(made):
    plans = [rough_plan((0.6, 0.2), 0.3, (20, 30)) for _ in range(8)]
    plans.insert(made, right := rough_plan((0.5, 0.2), 0.25, (21, 31)))
    drafts = iter(plans[1:])
    assert levels_module._promising(plans[0], lambda levels: next(drafts), (0.5, 0.25), 2) is right


FACTS = {name: SimpleNamespace(first=SimpleNamespace(range=Interval(-1.0, 3.0)), second_range=Interval(*ends))
         for name, ends in {"up": (-1.0, 9.0), "down": (-11.0, 3.0), "apart": (-1.5, 3.5), "same": (-1.0, 3.0)}.items()}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "levels", "wanted"),
    [
        ("up", 20, 50),
        ("up", 21, 53),
        ("down", 20, 70),
        ("apart", 20, None),
        ("same", 20, None),
        ("up", 4000, 10_000),
        ("up", 4001, None),
    ],
)
def test_levels_of_the_second_with_the_gap_of_the_first(name, levels, wanted):
    assert levels_module._like_first(levels, FACTS[name]) == wanted


@pytest.mark.parametrize(("name", "levels", "lo", "hi"), [("up", 50, -1.0, 9.0), ("down", 70, -11.0, 3.0)])
def test_both_grids_share_their_gap(name, levels, lo, hi):
    first, second = levels_module.default_grids(FACTS[name], (20, levels))
    np.testing.assert_allclose(first.points, -1 + 0.2 * (np.arange(20) + 0.5), atol=1e-12)
    np.testing.assert_allclose(second.points, lo + 0.2 * (np.arange(levels) + 0.5), atol=1e-12)
    assert (second.lo, second.hi) == (lo, hi)
    other = levels_module.default_grids(FACTS[name], (20, levels - 1))[1]
    np.testing.assert_allclose(other.points, lo + (hi - lo) * (np.arange(levels - 1) + 0.5) / (levels - 1), atol=1e-12)


# ---- thresholds and bounds --------------------------------------------------------------------------------------------
def test_the_plan_of_the_theorem():
    rows, _ = rows_of()
    plan = make_plan(rows, mv.MeanVariance(), mode="theorem", grid=None, m=(5, 9), alpha=(None, 0.9), lipschitz=(2.0, 3.0))
    step = 4 * 4 / 25, 4 * 9 / 81
    assert plan.alpha == (pytest.approx(2 * step[0]), 0.9)
    threshold = step[0] / 9, (0.9 - step[1]) / 9  # the longer grid sets both
    for side in (0, 1):
        assert plan.rules[side].threshold == pytest.approx(threshold[side])
        assert plan.drops[side] == pytest.approx(threshold[side] / (4 * (2.0, 3.0)[side]))
    assert plan.rules[0].reach == pytest.approx(2 * 2 / 5)
    facts = mv.MeanVariance().facts()
    assert plan.bounds == (int(facts.first.span / plan.drops[0]), int(facts.second_span / plan.drops[1]))
    assert plan.second.value == pytest.approx(2 * (4 * plan.alpha[0] + 0.9))


@pytest.mark.parametrize(
    ("pair", "conditional"), [(mv.MeanVariance(), 2.0), (mv.QuantileCVaR(0.8), None)], ids=["L_c and L_a known", "a Bayes pair"]
)
def test_the_plan_as_printed(pair, conditional):
    rows, _ = rows_of()
    plan = make_plan(rows, pair, mode="paper", grid=None, m=7, alpha=None, lipschitz=(2.0, 3.0))
    alpha = 4 * 4 / 7, 4 * 9 / 7
    assert plan.alpha == pytest.approx(alpha)
    assert plan.drops == pytest.approx((alpha[0] / (2 * 2 * 7) - 2 / 49, alpha[1] / (2 * 3 * 7) - 3 / 49))
    assert [rule.threshold for rule in plan.rules] == pytest.approx([alpha[0] / 7, alpha[1] / 7])
    facts = pair.facts()
    assert plan.bounds == (int(facts.first.span / plan.drops[0]), int(facts.second_span / plan.drops[1]))
    far = 5 * 1.0 if conditional is None else conditional  # c·D, the labels reaching as far as the grid does
    assert plan.second.value == pytest.approx(2 * (far**2 * alpha[0] + alpha[1]))
    np.testing.assert_allclose(plan.grids[1].points, np.arange(1, 8) / 8)


@pytest.mark.parametrize("shares", [(-0.1, 0.9), (0.1, 1.2)])
def test_as_printed_labels_lie_in_the_unit_interval(shares):
    y = np.array([*shares, 0.5])
    rows = open_rows(y, np.full((3, 2), 0.5), groups=[], width=2)
    with pytest.raises(InputError, match="printed for labels in"):
        make_plan(rows, mv.MeanVariance(), mode="paper", grid=None, m=7, alpha=None, lipschitz=None)


@pytest.mark.parametrize(("ends", "length"), [((-3.0, 4.0), 7.0), ((0.2, 0.9), 1.0), ((0.5, 3.0), 3.0), ((-2.0, 0.5), 3.0)])
def test_a_grid_beyond_the_labels_makes_the_target_steeper(ends, length):
    pair = mv.MeanVariance()
    assert _as_far_as(mv.Grid(ends), pair, pair.facts()).conditional_lipschitz == pytest.approx(2 * length)


def test_the_smaller_of_two_bounds_is_promised():
    facts = mv.MeanVariance().facts(1, 3)  # L_c = 4, L_a = 1, c = 2, D = 2
    assert second_error_bound(facts, 0.03, 0.05).value == pytest.approx(2 * (16 * 0.03 + 0.05))
    assert second_error_bound(facts, 0.03, 0.05, anti=0.25).value == pytest.approx(2 * (0.03 + 0.05))
    assert second_error_bound(facts, 0.03, 0.05, anti=9.0, reach=Interval(0.5, 2.0)).value == pytest.approx(2 * (25 * 0.03 + 0.05))
    assert second_error_bound(facts, 0.03, 0.05, anti=9.0, reach=Interval(1.5, 7.0)).value == pytest.approx(2 * (144 * 0.03 + 0.05))


@pytest.mark.parametrize(("tau", "slope"), [(0.8, 4.0), (0.3, 1.0)])
def test_constants_of_value_at_risk_and_shortfall(tau, slope):
    found = cvar_constants(tau, 50, least_density=0.25, most_density=3.0)
    first, stage = 4 * 9 / 50, 4 / ((1 - tau) ** 2 * 50)
    assert (found.alpha_first, found.alpha_stage) == pytest.approx((first, stage))
    assert found.alpha_second == pytest.approx(2 * (first / (1 - tau) ** 2 + stage))
    assert found.alpha_second_printed == pytest.approx(2 * ((slope * 4) ** 2 * first + stage))
    assert (found.lipschitz, found.anti_lipschitz) == (3.0, 4.0)
    assert cvar_constants(tau, 50, least_density=3.0, most_density=3.0).anti_lipschitz == pytest.approx(1 / 3)


@pytest.mark.parametrize("pair", [mv.QuantileIQR(0.3, 0.8), mv.MeanStd()], ids=repr)
def test_the_slope_of_the_second_coordinate_is_that_of_the_population(pair):
    rows, _ = rows_of(3)
    grid = mv.Grid([0.1, 0.15, 0.4, 0.5])
    used = rows.weights > 0
    y, w = rows.labels[used], rows.weights[used] / rows.weights.sum()
    first = pair.solve(y, w)[0]
    v = [sum(w * pair.identify_second(first, point, y)) for point in grid.points]
    steps = [(b - a) / (q - p) for a, b, p, q in zip(v, v[1:], grid.points, grid.points[1:], strict=False)]
    assert second_slope(rows, pair, grid) == pytest.approx(max(steps))
    assert second_slope(rows, pair, mv.Grid([0.3])) == 1.0


# ---- what one pair for everybody reaches, and what is stated ----------------------------------------------------------
def constant_errors(pair, rows, masks):
    used = rows.weights > 0
    y, w = rows.labels, rows.weights
    first, second = pair.solve(y[used], w[used])
    errors = np.zeros((2, 1 + len(masks)))
    for g, mask in enumerate([np.ones(y.size, dtype=bool), *masks]):
        own = mask & used
        share = w[own].sum() / w.sum()
        v = pair.first.identify(first, y[own]), pair.identify_second(pair.solve(y[own], w[own])[0], second, y[own])
        errors[:, g] = [share * np.average(one, weights=w[own]) ** 2 for one in v]
    return errors.max(axis=1)


@pytest.mark.parametrize("pair", [mv.MeanVariance(), mv.QuantileCVaR(0.7), mv.QuantileIQR(0.3, 0.8)], ids=repr)
def test_what_one_pair_for_everybody_reaches(pair):
    rows, masks = rows_of(5, lo=1.0, hi=4.0)
    kept = rows.kept if rows.kept is not None else slice(None)
    assert trivial_errors(rows, pair) == pytest.approx(tuple(constant_errors(pair, rows, [mask[kept] for mask in masks])))
    alone, _ = rows_of(5, lo=1.0, hi=4.0, groups=0)
    first, second = pair.solve(alone.labels, alone.weights)
    squares = pair.first.identify(first, alone.labels) ** 2, pair.identify_second(first, second, alone.labels) ** 2
    assert trivial_errors(alone, pair) == pytest.approx([np.average(one, weights=alone.weights) for one in squares])


def test_where_v_is_nothing_in_every_row_the_worst_end_counts():
    rows = open_rows(np.array([0.0, 1.0]), np.full((2, 2), 0.5), groups=[], width=2)
    assert trivial_errors(rows, mv.MeanVariance()) == pytest.approx((0.25, (1 - 0.25) ** 2))


@pytest.mark.parametrize(("promised", "short"), [((0.2, 0.3), 0.5), ((0.2, None), 0.25), ((1.6, 0.3), 2.0)])
def test_by_how_much_too_little_is_promised(promised, short):
    plan = SimpleNamespace(alpha=(promised[0], 9.0), second=SimpleNamespace(value=promised[1]), grids=(range(10), range(30)))
    assert statement._shortfall(plan, (0.8, 0.6)) == pytest.approx(short)
    needed = statement._needed(plan, (0.8, 0.6))
    assert needed == ("" if short <= 1 else "To promise less than a constant prediction has, about m = (15, 43) levels are needed.")
    assert "No number of levels" in statement._needed(plan, (0.0, 0.6))


def test_numbers_of_a_certificate_of_a_pair():
    rows, _ = rows_of(7, 300)
    pair = mv.MeanVariance()
    made = mv.multicalibrate(
        rows.labels, rows.predictions, groups=[rows.membership.mask(1)], property=pair, mode="theorem", m=(6, 8), lipschitz=(1.0, 1.0),
        sample_weight=rows.weights,
    ).certificate  # fmt: skip
    y, w = rows.labels, rows.weights
    start = mv.Grid.uniform(0, 1, 6).points[mv.Grid.uniform(0, 1, 6).round(rows.predictions[:, 0])]
    assert made.initial == pytest.approx(np.average((start - y) ** 2 / 2, weights=w))
    assert made.optimal == pytest.approx(0.0, abs=1e-15)
    first = int(made.initial / made.drop_bound[0])
    assert made.updates[0] > 0
    facts = pair.facts()
    most = min(first, int(facts.first.span / made.drop_bound[0])), int(facts.second_span / made.drop_bound[1])
    assert made.update_bound == most[0] + (most[0] + 1) * most[1]
    assert made.potential[0] == made.initial
    assert len(made.potential) == made.updates[0] + 1
    assert (np.diff(made.potential) <= -made.drop_bound[0] * (1 - 1e-9)).all()
