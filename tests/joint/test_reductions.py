"""The scale of quantiles, what the second coordinate is calibrated as, and what rows held out say: each against plain loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import multivalid as mv
from multivalid.audit.audit import audit_source
from multivalid.joint import passes as passes_module
from multivalid.joint import rank_scale
from multivalid.joint.link_predictor import PairLinkPredictor, with_levels
from multivalid.joint.practical_goal import PairGoal
from multivalid.joint.practical_statement import _beyond, certify
from multivalid.joint.rank_scale import EDGE, ROUNDING, RankScale
from multivalid.joint.reduction import Form, PositiveMean, Reduction, reduction_of
from multivalid.joint.score import comparable_scores
from multivalid.sources.rows import open_rows

LABELS = np.array([2.0, 2.0, 0.0, 5.0, 5.0, 7.0, 11.0, 7.0])
WEIGHTS = np.array([1.0, 0.5, 2.0, 0.0, 3.0, 0.5, 1.0, 0.0])


# ---- the scale of quantiles -------------------------------------------------------------------------------------------
def knots(labels, weights):
    used = sorted({y for y, w in zip(labels, weights, strict=True) if w > 0})
    below = [sum(w for y, w in zip(labels, weights, strict=True) if y < v) / weights.sum() for v in used]
    upto = [sum(w for y, w in zip(labels, weights, strict=True) if y <= v) / weights.sum() for v in used]
    return used, below, upto


def test_shares_below_and_up_to_every_value():
    scale = RankScale.of(LABELS, WEIGHTS)
    used, below, upto = knots(LABELS, WEIGHTS)
    np.testing.assert_allclose([scale.values, scale.below, scale.upto], [used, below, upto], rtol=1e-14)


def test_values_become_shares_and_shares_values():
    scale = RankScale.of(LABELS, WEIGHTS)
    used, below, upto = knots(LABELS, WEIGHTS)
    for value in (-1.0, 0.0, 0.5, 2.0, 3.3, 5.0, 6.9, 7.0, 9.0, 11.0, 40.0):
        at = sum(v <= value for v in used) - 1
        share = 0.0 if at < 0 else upto[at]
        if 0 <= at < len(used) - 1:
            share += (value - used[at]) * (below[at + 1] - upto[at]) / (used[at + 1] - used[at])
        assert scale.forward(np.array([value]))[0] == pytest.approx(min(max(share, EDGE), 1 - EDGE), abs=1e-14)
    for at, value in enumerate(used):
        for part in (0.0, 0.3, 1.0):
            inside = below[at] + part * (upto[at] - below[at])
            assert scale.inverse(np.array([inside]))[0] == (value if part or not at else used[at - 1])
        assert scale.inverse(np.array([upto[at] + ROUNDING / 2]))[0] == value, "up to rounding it is a share of the tie"


def test_between_values_shares_are_even():
    """Knots may leave room between them: the share rises evenly there, and falls back the same way."""
    scale = RankScale(np.array([1.0, 3.0, 8.0]), np.array([0.0, 0.3, 0.8]), np.array([0.1, 0.5, 1.0]))
    for value, share in ((1.0, 0.1), (2.0, 0.2), (3.0, 0.5), (5.0, 0.62), (7.5, 0.77), (0.0, EDGE), (9.0, 1 - EDGE)):
        assert scale.forward(np.array([value]))[0] == pytest.approx(share, abs=1e-12)
    for share, value in ((0.05, 1.0), (0.2, 2.0), (0.25, 2.5), (0.4, 3.0), (0.62, 5.0), (0.77, 7.5), (0.9, 8.0)):
        assert scale.inverse(np.array([share + ROUNDING]))[0] == pytest.approx(value, abs=1e-9)
    spread = scale.spread(np.array([3.0, 3.0, 5.0, 0.5, 8.0]), np.random.default_rng(4))
    random = np.random.default_rng(4).random(5)
    np.testing.assert_allclose(
        spread, [0.3 + 0.2 * random[0], 0.3 + 0.2 * random[1], 0.62, EDGE, 0.8 + 0.2 * random[4]], rtol=1e-12
    )


def test_of_many_values_those_at_even_steps_of_the_share_are_knots(monkeypatch):
    monkeypatch.setattr(rank_scale, "MOST_KNOTS", 10)
    labels = np.arange(37.0)
    scale = RankScale.of(labels, np.ones(37))
    used, below, upto = knots(labels, np.ones(37))
    step = [int(np.floor(u * 10)) for u in upto]
    ends = [i for i in range(37) if i in (0, 36) or step[i] < step[i + 1] or step[i] > step[i - 1]]
    np.testing.assert_allclose([scale.values, scale.below, scale.upto], [[one[i] for i in ends] for one in (used, below, upto)])
    assert len(RankScale.of(labels[:10], np.ones(10)).values) == 10
    assert len(RankScale.of(labels[:11], np.ones(11)).values) == 11  # every value is the end of a step here


# ---- what the second coordinate is calibrated as ----------------------------------------------------------------------
def test_the_score_of_a_positive_mean():
    prop = PositiveMean(0.5)
    assert prop.score(3.0, 2.0) == pytest.approx(np.log(3) + 2 / 3)
    assert prop.score(0.1, 2.0) == pytest.approx(np.log(0.5) + 4)
    assert prop.solve_points(np.array([0.2, 0.7])).tolist() == [0.5, 0.7]


@pytest.mark.parametrize(
    ("form", "forward", "backward"),
    [
        (Form(), [-3.0, 2.0], [-3.0, 2.0]),
        (Form(square=True), [9.0, 4.0], [0.0, np.sqrt(2)]),
        (Form(ordered=True), [-3.0, 2.0], [1.0, 2.0]),
        (Form(turned=True), [3.0, -2.0], [3.0, -2.0]),
        (Form(ordered=True, turned=True), [3.0, -2.0], [1.0, -2.0]),
    ],
)
def test_second_predictions_and_their_pseudo_labels(form, forward, backward):
    second = np.array([-3.0, 2.0])
    np.testing.assert_allclose(form.forward(second), forward)
    np.testing.assert_allclose(form.backward(second, np.array([1.0, 1.0])), backward)


@pytest.mark.parametrize(
    ("pair", "pseudo"),
    [
        (mv.MeanVariance(), [4.0, 0.25]),
        (mv.MeanStd(), [4.0, 0.25]),
        (mv.QuantileIQR(), [2.0, -0.5]),
        (mv.QuantileCVaR(0.75), [1.0 + 4 * 2, 1.0]),
        (mv.LowerQuantileCVaR(0.75), [-1.0, -(1 - 4 * 0.5)]),
    ],
    ids=repr,
)
def test_pseudo_labels(pair, pseudo):
    np.testing.assert_allclose(reduction_of(pair).labels(np.array([1.0, 1.0]), np.array([3.0, 0.5])), pseudo)


@pytest.mark.parametrize(
    ("pseudo", "second", "least"),
    [
        ([0.0, 4.0], [1.0, 2.0], 2e-9),
        ([0.0, 4.0], [1.0, 7.0], 4e-9),
        ([-0.1, 4.0], [1.0, 2.0], None),
        ([0.0, 4.0], [0.0, 2.0], None),
    ],
)
def test_positive_pseudo_labels_have_a_score_of_their_own(pseudo, second, least):
    made = Reduction(mv.MeanVariance(), Form()).property(np.array(pseudo), np.array(second))
    assert made == (mv.Mean() if least is None else PositiveMean(pytest.approx(least)))
    high = reduction_of(mv.QuantileIQR(0.2, 0.6)).property(np.array(pseudo), np.array(second))
    assert high == mv.Quantile(0.6)


# ---- the joint score --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("scale", [None, 3.0])
def test_the_joint_score_of_losses_and_of_returns(scale):
    y, g, e = np.array([0.5, 4.0]), np.array([1.0, 1.5]), np.array([2.0, 2.5])
    target = g + 4 * np.maximum(y - g, 0)
    wanted = np.log(e) + (target - e) / e if scale is None else np.exp(-e / 3) * ((target - e) / 3 - 1)
    np.testing.assert_allclose(mv.joint_score(mv.QuantileCVaR(0.75), g, e, y, scale=scale), wanted, rtol=1e-13)
    np.testing.assert_allclose(mv.joint_score(mv.LowerQuantileCVaR(0.75), -g, -e, -y, scale=scale), wanted, rtol=1e-13)


@pytest.mark.parametrize(("second", "scale"), [([0.5, 4.0], None), ([-0.5, 4.0], 2.25), ([-30.0, -30.0], 3.0), ([0.0, 4.0], 2.0)])
def test_one_scale_for_both_predictions(second, scale):
    y, g = np.array([0.5, 4.0]), np.array([1.0, 1.5])
    before, after = np.column_stack([g, second]), np.column_stack([g, [1.0, 2.0]])
    made = comparable_scores(mv.MeanVariance(), before, after, y)
    for one, p in zip(made, (before, after), strict=True):
        np.testing.assert_allclose(one, mv.joint_score(mv.MeanVariance(), p[:, 0], p[:, 1], y, scale=scale))
    other = comparable_scores(mv.MeanVariance(), after, np.column_stack([g, [0.0, 1.0]]), y)
    np.testing.assert_allclose(other[0], mv.joint_score(mv.MeanVariance(), g, [1.0, 2.0], y, scale=0.5))
    assert comparable_scores(mv.QuantileIQR(), before, after, y) is None


# ---- rows held out, and what is stated --------------------------------------------------------------------------------
def pair_rows(count, clusters=None, seed=0, groups=1):
    rng = np.random.default_rng(seed)
    y = rng.normal(1, 2, count)
    said = np.column_stack([rng.normal(1, 0.5, count), rng.uniform(2, 6, count)])
    masks = [rng.random(count) < 0.4 for _ in range(groups)]
    rows = open_rows(y, said, groups=masks, sample_weight=rng.choice([0.5, 2.0], count), width=2)
    return rows if clusters is None else replace(rows, cluster=np.arange(count) % clusters)


GOAL = PairGoal.of(None, None, None)


@pytest.mark.parametrize(
    ("count", "clusters", "held"), [(9, None, 0), (10, None, 2), (104, None, 20), (60, 4, 0), (60, 5, 12), (60, 11, 11)]
)
def test_one_row_in_five_judges(count, clusters, held, monkeypatch):
    rows, seen = pair_rows(count, clusters), []
    monkeypatch.setattr(passes_module, "all_passes", lambda fitting, *_: seen.append(fitting) or ([], []))
    kept, told = passes_module.worth_it(rows, mv.MeanVariance(), reduction_of(mv.MeanVariance()), GOAL, 3)
    assert kept == (held > 0)
    if not held:
        assert told == ("Too few rows to hold any out: nothing done." if clusters is None
                        else "With fewer than 5 clusters none can be held out: nothing done.")  # fmt: skip
        return
    assert len(seen[0]) == count - held
    out = ~np.isin(rows.labels, seen[0].labels)
    if clusters is not None:
        assert not set(rows.cluster[out]) & set(seen[0].cluster)
    e, g, y = rows.predictions[out, 1], rows.predictions[out, 0], rows.labels[out]
    score = np.average(np.log(e) + ((y - g) ** 2 - e) / e, weights=rows.weights[out])
    assert told == f"Joint score on rows held out: {score:.6g} → {score:.6g}."


@pytest.mark.parametrize(("better", "kept"), [(True, True), (False, False)])
def test_a_joint_score_that_rises_is_turned_down(better, kept, monkeypatch):
    rows = pair_rows(200)

    def predict(self, predictions, membership):
        off = np.abs(predictions[:, 1] - 4)
        return np.column_stack([predictions[:, 0], 4 + (0.1 if better else 9) * off])

    monkeypatch.setattr(passes_module, "all_passes", lambda *_: ([], []))
    monkeypatch.setattr(PairLinkPredictor, "predict", predict)
    found = passes_module.worth_it(rows, mv.MeanVariance(), reduction_of(mv.MeanVariance()), GOAL, 3)
    assert found[0] == kept
    assert ("would rise" in found[1]) != kept


def test_levels_of_the_other_coordinate_hold_equal_weight():
    rng = np.random.default_rng(2)
    values, weights = rng.gamma(2, 1, 4000), rng.choice([0.5, 2.0], 4000)
    edges = passes_module._edges(values, weights)
    assert edges.size == 4
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    points = [values[order][np.searchsorted(share, (k + 0.5) / 5)] for k in range(5)]
    np.testing.assert_allclose(edges, (np.array(points[1:]) + points[:-1]) / 2)
    rows = pair_rows(50)
    made = with_levels(rows.membership, rows.labels, edges)
    assert made.groups == 2 + 5
    for level in range(5):
        inside = np.array([sum(edge < y for edge in edges) == level for y in rows.labels])
        np.testing.assert_array_equal(made.mask(2 + level), inside)
    assert with_levels(rows.membership, rows.labels, np.zeros(0)) is rows.membership


@pytest.mark.parametrize("alpha", [None, (0.01, 60.0), (50.0, 0.001)])
def test_what_the_practical_fit_of_a_pair_states(alpha):
    rows, pair = pair_rows(900, groups=2, seed=6), mv.MeanVariance()
    grids = mv.Grid([0.0, 1.0, 2.0]), mv.Grid([3.0, 5.0])
    said = np.column_stack([grid.points[grid.round(rows.predictions[:, k])] for k, grid in enumerate(grids)])
    goal = PairGoal.of(None, None, alpha)
    made = certify(rows, pair, PairLinkPredictor(grids, Form(), []), said, goal, [])
    found = audit_source(replace(rows, predictions=said), pair, grids, beyond=True)
    cells = found.cells
    limit = norm.ppf(1 - 0.025 / (2 * np.count_nonzero(cells.mass > 0)))
    groups = range(cells.mass.shape[2])
    room = limit**2 * cells.mass * np.array([np.maximum(cells.first_noise, 0), np.maximum(cells.seen_noise, 0)])
    chance = (
        max(room[0][:, j, g].sum() for j in range(2) for g in groups),
        max(room[1][i, :, g].sum() for i in range(3) for g in groups),
    )
    stage = max((cells.mass * cells.seen**2)[i, :, g].sum() for i in range(3) for g in groups)
    assert found.off, "the case must be there"
    asked = (max(chance[0], found.errors[0]), max(chance[1], stage)) if alpha is None else alpha
    assert made.alpha == pytest.approx(asked)
    assert made.stage_error == pytest.approx(stage)
    assert made.gamma_error[0] == pytest.approx(
        max((cells.mass * cells.first_gap**2)[:, j, g].sum() for j in range(2) for g in groups)
    )
    assert made.gamma_error[1] == pytest.approx(
        max((cells.mass * cells.second_gap**2)[i, :, g].sum() for i in range(3) for g in groups)
    )
    before, after = (np.average((p[:, 0] - rows.labels) ** 2 / 2, weights=rows.weights) for p in (rows.predictions, said))
    assert made.potential == pytest.approx([before, after])
    assert made.status == "blocked"
    assert made.trivial is None if alpha is None else len(made.trivial) == 2
    wanted = [
        (side, g, i, j)
        for side, v, noise in ((0, cells.first, cells.first_noise), (1, cells.seen, cells.seen_noise))
        for i in range(3) for j in range(2) for g in groups
        if abs(v[i, j, g]) > limit * max(noise[i, j, g], 0) ** 0.5 and cells.rows[i, j, g] >= 10
    ]  # fmt: skip
    assert [one[:4] for one in made.blocked] == wanted
    assert len({one[0] for one in wanted}) == 2
    for one in made.blocked:
        v = (cells.first, cells.seen)[one.side][one.first, one.second, one.group]
        assert (one.weight, one.identification) == (cells.mass[one.first, one.second, one.group], v)


@pytest.mark.parametrize(("rows", "told"), [(9.0, 0), (10.0, 1)])
def test_of_few_rows_none_is_said_to_be_off(rows, told):
    class Cells:
        first, seen = np.full((1, 1, 1), 5.0), np.zeros((1, 1, 1))
        first_variance = seen_variance = np.ones((1, 1, 1))
        mass = np.full((1, 1, 1), 0.4)

    Cells.rows = np.full((1, 1, 1), rows)
    assert len(_beyond(Cells, 4.9)) == told
    assert not _beyond(Cells, 5.0)
