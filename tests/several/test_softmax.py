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
