"""Classes fitted together: against the slow fit, and against the theorem that every cell's ΣwV vanishes without a ridge."""

from __future__ import annotations

import numpy as np
import pytest

import multivalid as mv
from multivalid.evaluators import in_memory
from multivalid.groups.membership import Membership
from multivalid.several import classes_fit, shares_fit
from multivalid.several.classes_fit import Fold
from multivalid.several.shares import KNOTS, Shares
from multivalid.several.shares_fit import ClassRows, Passes
from tests.reference import softmax_naive
from tests.several.worlds import KINDS, kinds, softmax


def _rows(rows, seed):
    names, base, weights, groups, _ = kinds(rows, seed)
    return _of(np.array([KINDS.index(name) for name in names]), weights / weights.mean(), np.log(base), groups), groups


def _of(codes, weights, logs, groups):
    return ClassRows(
        codes.astype(np.intp), weights, logs, Membership.from_masks([np.ones(len(codes), bool), *groups.T], len(codes))
    )


def _fitted(rows, ridge, slopes=True):
    model = Shares.new(shares_fit.directions_of(rows), rows.membership.groups - 1)
    model = model.with_slopes(shares_fit.slopes_of(model)) if slopes else model
    passes = Passes(rows, model)
    return passes, shares_fit.fit(passes, model, ridge, passes.curvature(model), np.ones(model.bent.size, dtype=bool))


def _steps(rows):
    """All stages, each with the ridge that every third row likes best."""
    out, rest = np.arange(0, len(rows), 3), np.flatnonzero(np.arange(len(rows)) % 3)
    fold = Fold(rows.take(rest), rows.take(out), np.exp(rows.logs[out]).T)
    return classes_fit.steps([fold, fold])


def _probabilities(passes, model):
    return softmax(np.concatenate([passes.eta(model, chunk) for chunk in passes.chunks()], axis=1).T.astype(float))


@pytest.mark.parametrize("ridge", [4.0, 100.0])
def test_the_minimum_is_that_of_the_slow_fit(ridge):
    rows, groups = _rows(900, 0)
    _, made = _fitted(rows, ridge)
    best = softmax_naive.least(made, rows.logs, rows.codes, rows.weights, groups, ridge)
    reached = softmax_naive.loss(made.table, made, rows.logs, rows.codes, rows.weights, groups, ridge)[0]
    start = rows.weights @ -np.log(softmax(rows.logs)[np.arange(900), rows.codes])
    assert best <= reached * (1 + 1e-6)
    assert reached - best <= 0.01 * (start - best)


def test_what_is_not_free_stays_and_the_rest_is_at_its_minimum():
    rows, _ = _rows(900, 3)
    start = Shares.new(shares_fit.directions_of(rows), 4)
    passes = Passes(rows, start)
    made = shares_fit.fit(passes, start, 4.0, passes.curvature(start), ~start.bent)
    assert np.array_equal(made.table[:, start.bent], np.zeros((4, start.bent.sum())))
    slope = passes.evaluate(made)[1] + 4.0 * made.penalty * made.table
    first = passes.evaluate(start)[1]
    assert np.abs(slope[:, ~start.bent]).max() < 0.03 * np.abs(first[:, ~start.bent]).max()
    assert np.abs(slope[:, start.bent]).max() > 0.03 * np.abs(first[:, start.bent]).max()


def test_the_features_of_the_fit_are_those_of_the_formula():
    rows, groups = _rows(500, 1)
    rng = np.random.default_rng(0)
    model = Shares.new(shares_fit.directions_of(rows), 4).with_slopes(3).with_crossings(np.array([[0, 1], [2, 3]]))
    model = model.holding(rng.normal(0, 0.3, model.table.shape))
    passes = Passes(rows, model)
    after = in_memory(model.shares, np.exp(rows.logs), rows.membership)
    np.testing.assert_allclose(after / after.sum(axis=1, keepdims=True), _probabilities(passes, model), atol=1e-5)
    slow = softmax_naive.features(model, rows.logs, groups)
    eta = rows.logs + np.stack([slow[k] @ model.table[k] for k in range(4)], axis=1)
    np.testing.assert_allclose(softmax(eta), _probabilities(passes, model), atol=1e-5)
    back = Shares.from_json(model.to_json(), 4, 4)
    np.testing.assert_array_equal(back.table, model.table)


def test_groups_as_codes_give_what_lines_give():
    rng = np.random.default_rng(3)
    kind, logs = rng.integers(0, 40, 3000), np.log(rng.dirichlet(np.ones(3), 3000))
    codes = rng.integers(0, 3, 3000).astype(np.intp)
    masks = [kind == k for k in range(40)]
    from multivalid.groups.recode import with_codes

    lines = Membership.from_masks([np.ones(3000, bool), *masks], 3000)
    found = []
    for members in (lines, with_codes(lines)):
        rows = ClassRows(codes, np.ones(3000), logs, members)
        model = Shares.new(shares_fit.directions_of(rows), 40).with_slopes(2)
        model = model.holding(np.random.default_rng(4).normal(0, 0.3, model.table.shape))
        passes = Passes(rows, model)
        found.append((*passes.evaluate(model), *passes.curvature(model)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-2)
    assert Passes(rows, model).rows.blocks.coded  # else nothing was compared


def test_every_group_is_right_for_every_class_after_the_division():
    rows, groups = _rows(4000, 3)
    passes, made = _fitted(rows, 1e-6)
    share, before = _probabilities(passes, made), softmax(rows.logs)
    hit = rows.codes[:, None] == np.arange(4)
    for inside in (np.ones(4000, dtype=bool), *groups.T):
        w = rows.weights[inside] / rows.weights[inside].sum()
        assert np.abs(w @ (share - hit)[inside]).max() < 0.02 * max(np.abs(w @ (before - hit)[inside]).max(), 0.1)


def test_a_class_that_never_comes_and_constant_predictions():
    rows, groups = _rows(600, 5)
    base = np.maximum(np.column_stack([softmax(rows.logs)[:, :3], np.zeros(600)]), 1e-7)
    there = _of(np.where(rows.codes == 3, 0, rows.codes), rows.weights, np.log(base), groups)
    passes, made = _fitted(there, 4.0)
    share = _probabilities(passes, made)
    assert np.isfinite(share).all()
    assert share[:, 3].max() < 0.02
    flat = _of(rows.codes, rows.weights, np.log(np.full((600, 4), 0.25)), groups)
    passes, made = _fitted(flat, 4.0)
    assert made.groups.shape[1] == 1  # no direction, so no slopes
    assert made.curve.shape[1] == 1
    assert made.own.shape[1] == 1 + KNOTS
    np.testing.assert_allclose(_probabilities(passes, made).mean(axis=0), np.bincount(rows.codes) / 600, atol=0.05)


def test_crossings_find_a_class_that_two_groups_share():
    rng = np.random.default_rng(4)
    groups = rng.random((6000, 3)) < 0.4
    both = groups[:, 0] & groups[:, 1]
    chance = np.where(both[:, None], [0.7, 0.1, 0.2], [0.2, 0.5, 0.3])
    codes = (chance.cumsum(axis=1) > rng.random(6000)[:, None]).argmax(axis=1)
    rows = _of(codes, np.ones(6000), np.log(np.full((6000, 3), 1 / 3)), groups)
    found = _steps(rows)
    assert list(found)[-1] == classes_fit.STAGES[3]
    final, alone = found[classes_fit.STAGES[3]].models[-1], found[classes_fit.STAGES[0]].models[-1]
    assert [0, 1] in final.pairs.T.tolist()
    share, shifts = _probabilities(Passes(rows, final), final), _probabilities(Passes(rows, alone), alone)
    for inside in (both, groups[:, 0] & ~both, ~groups[:, 0]):
        assert np.abs((share - chance)[inside].mean(axis=0)).max() < 0.03
    assert np.abs((shifts - chance)[both].mean(axis=0)).max() > 0.05


def test_slopes_find_a_group_for_whom_predictions_mean_less():
    rng = np.random.default_rng(6)
    side, x = rng.random(8000) < 0.4, rng.normal(0, 1.5, (8000, 3))
    truth, base = softmax(np.where(side[:, None], 0.2, 1.0) * x), softmax(x)
    codes = (truth.cumsum(axis=1) > rng.random(8000)[:, None]).argmax(axis=1)
    rows = _of(codes, np.ones(8000), np.log(base), side[:, None])
    models = [_steps(rows)[name].models[-1] for name in classes_fit.STAGES[1:3]]
    off = [np.abs(_probabilities(Passes(rows, m), m) - truth).mean() for m in models]
    assert off[1] < 0.25 * off[0]


def test_too_many_coefficients_for_the_curvature_have_a_diagonal(monkeypatch):
    rows, _ = _rows(900, 2)
    passes, made = _fitted(rows, 20.0)
    monkeypatch.setattr(shares_fit, "MOST_CURVED", 10)
    _, again = _fitted(rows, 20.0)
    gained, other = (
        passes.evaluate(made.holding(np.zeros_like(made.table)))[0] - passes.evaluate(model)[0] for model in (made, again)
    )
    assert other == pytest.approx(gained, rel=0.02)
    monkeypatch.setattr(shares_fit, "KEPT", 0)  # features anew for each pass
    np.testing.assert_allclose(Passes(rows, made).evaluate(made)[1], passes.evaluate(made)[1], rtol=1e-4, atol=1e-3)


def test_where_groups_determine_the_class_ridges_weaken_until_hardly_anything_is_left():
    rng = np.random.default_rng(8)
    kind = rng.integers(0, 4, 6000)
    codes = np.array([0, 1, 2, 2])[kind]
    rows = _of(codes, np.ones(6000), np.log(rng.dirichlet(np.ones(3), 6000)), kind[:, None] == np.arange(4))
    found = _steps(rows)
    last = list(found.values())[-1]
    assert last.exact
    assert last.ridge < 1.0
    assert len(found) <= 2  # richer models have nothing to gain
    share = _probabilities(Passes(rows, last.models[-1]), last.models[-1])
    assert -np.log(share[np.arange(6000), codes]).mean() < 2e-4


def test_a_fit_says_so_and_trees_are_not_tried_there():
    rng = np.random.default_rng(8)
    kind, chance = rng.integers(0, 4, 4000), rng.dirichlet(np.ones(3), 4000)
    groups = [kind == k for k in range(4)]
    made = mv.multicalibrate(np.array([0, 1, 2, 2])[kind], chance, groups=groups, property=mv.Classes(range(3)))
    assert made.certificate.note.splitlines()[-1].endswith("next to nothing is left to gain on held-out rows, not tried.")
    assert made.predict_one(chance[0].tolist(), [False, True, False, False])[1] > 0.999


def test_no_ridge_is_weaker_than_few_rows_allow():
    rng = np.random.default_rng(9)
    few = np.arange(8000) < 6
    codes = np.where(few, 0, rng.integers(0, 2, 8000))
    many = (np.arange(8000) >= 4000) & (codes == 0)  # a class of 2,000 rows, by definition
    rows = _of(codes, np.ones(8000), np.log(np.full((8000, 2), 0.5)), np.column_stack([few, many]))
    passes, made = _fitted(rows, 1e-9, slopes=False)
    share = _probabilities(passes, made)
    assert 0.02 < share[few, 1].max() < 0.2  # one of six more would not surprise
    assert share[many, 1].max() < 1e-4
