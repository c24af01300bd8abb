"""Classes fitted together: against the slow fit, and against the theorem that every cell's ΣwV vanishes without a ridge."""

from __future__ import annotations

import numpy as np
import pytest

from multivalid.groups.membership import Membership
from multivalid.several import softmax
from multivalid.several.softmax import ClassRows, Softmax
from tests.reference import softmax_naive
from tests.several.worlds import KINDS, kinds


def _rows(rows, seed):
    names, base, weights, groups, _ = kinds(rows, seed)
    codes = np.array([KINDS.index(name) for name in names], dtype=float)
    members = Membership.from_masks(list(groups.T), rows)
    everyone = Membership.from_masks([np.ones(rows, dtype=bool), *groups.T], rows)
    assert members.groups + 1 == everyone.groups
    return ClassRows(codes, weights / weights.mean(), np.log(base), everyone), groups


@pytest.mark.parametrize("seed", [0, 1])
def test_the_minimum_is_that_of_the_slow_fit(seed):
    rows, groups = _rows(900, seed)
    made = softmax.fit(rows)
    _, best = softmax_naive.fit(made.models, made.ridges, rows.base, rows.codes, rows.weights, groups.astype(float))
    reached = softmax.log_loss(made.eta(rows), rows) + softmax._penalty(made)
    start = softmax.log_loss(rows.base, rows)
    assert best <= reached * (1 + 1e-6)
    assert reached - best <= 0.01 * (start - best)


def test_every_group_is_right_for_every_class_after_the_division():
    rows, groups = _rows(4000, 3)
    made = softmax.fit(rows, Softmax(Softmax.new(rows).models, [1e-9] * 4))
    share = softmax.probabilities(made.eta(rows))
    hit = rows.codes[:, None] == np.arange(4)
    before = softmax.probabilities(rows.base)
    for inside in (np.ones(4000, dtype=bool), *groups.T):
        w = rows.weights[inside] / rows.weights[inside].sum()
        assert np.abs(w @ (share - hit)[inside]).max() < 0.01 * max(np.abs(w @ (before - hit)[inside]).max(), 0.1)


def test_a_class_that_never_comes_and_a_certain_one():
    rows, _ = _rows(600, 5)
    base = np.log(np.maximum(np.column_stack([np.exp(rows.base[:, :3]), np.zeros(600)]), 1e-7))
    codes = np.where(rows.codes == 3, 0.0, rows.codes)
    made = softmax.fit(ClassRows(codes, rows.weights, base, rows.membership))
    share = softmax.probabilities(made.eta(ClassRows(codes, rows.weights, base, rows.membership)))
    assert np.isfinite(share).all()
    assert share[:, 3].max() < 0.01


def test_products_find_a_class_that_two_groups_share():
    rng = np.random.default_rng(4)
    rows = 6000
    groups = rng.random((rows, 3)) < 0.4
    both = groups[:, 0] & groups[:, 1]
    chance = np.where(both[:, None], [0.7, 0.1, 0.2], [0.2, 0.5, 0.3])
    codes = (chance.cumsum(axis=1) > rng.random(rows)[:, None]).argmax(axis=1).astype(float)
    members = Membership.from_masks([np.ones(rows, dtype=bool), *groups.T], rows)
    given = ClassRows(codes, np.ones(rows), np.log(np.full((rows, 3), 1 / 3)), members)
    first = softmax.fit(given)
    richer = softmax.with_products(first, given)
    assert richer is not None
    assert [0, 1] in richer.models[0].pairs.T.tolist()
    final = softmax.fit(given, richer)
    share = softmax.probabilities(final.eta(given))
    alone = softmax.probabilities(first.eta(given))
    for inside in (both, groups[:, 0] & ~both, ~groups[:, 0]):
        assert np.abs((share - chance)[inside].mean(axis=0)).max() < 0.03
    assert np.abs((alone - chance)[both].mean(axis=0)).max() > 0.05


def test_few_products_where_shifts_say_all():
    assert sum(_products_of_nothing(seed) for seed in range(12)) <= 3  # at most 5 % for each of three classes


def _products_of_nothing(seed):
    rng = np.random.default_rng(seed)
    groups = rng.random((2000, 3)) < 0.4
    share = softmax.probabilities(groups @ rng.normal(0, 0.5, (3, 3)))
    codes = (share.cumsum(axis=1) > rng.random(2000)[:, None]).argmax(axis=1).astype(float)
    members = Membership.from_masks([np.ones(2000, dtype=bool), *groups.T], 2000)
    given = ClassRows(codes, np.ones(2000), np.zeros((2000, 3)), members)
    return softmax.with_products(softmax.fit(given), given) is not None
