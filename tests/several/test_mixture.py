"""A model of classes and trees, mixed as rows weigh them that neither was fitted on."""

from __future__ import annotations

import numpy as np
import pytest

import multivalid as mv
from multivalid.groups.membership import Membership
from multivalid.several.mixture import Mixture, crossed
from multivalid.several.shares import Directions, Shares
from multivalid.several.shares_fit import ClassRows, Passes
from tests.several.worlds import softmax


def world(seed: int, rows: int = 4000):
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(3, rows))
    codes = (softmax(true.T).cumsum(axis=1) > rng.random(rows)[:, None]).argmax(axis=1)
    return rng, true, codes


def loss(eta, codes, weights):
    return float(weights @ -np.log(softmax(eta.T)[np.arange(codes.size), codes]) / weights.sum())


def test_the_share_is_the_best_of_all_and_weights_count():
    rng, true, codes = world(1)
    model, trees = (true + rng.normal(size=true.shape) * spread for spread in (0.7, 0.5))
    weights = rng.choice([0.5, 3.0], codes.size)
    made = Mixture.of(model, trees, codes, weights)
    losses = [loss(model + share * (trees - model), codes, weights) for share in np.linspace(0, 1, 201)]
    assert made.share == pytest.approx(np.linspace(0, 1, 201)[np.argmin(losses)], abs=0.01)
    assert min(losses) < min(losses[0], losses[-1])


@pytest.mark.parametrize("worse", ["model", "trees"])
def test_nothing_is_taken_beyond_all_of_one(worse):
    _, true, codes = world(2)
    parts = {"model": true, "trees": true, worse: -true}
    made = Mixture.of(parts["model"], parts["trees"], codes, np.ones(codes.size))
    assert made.share == (1.0 if worse == "model" else 0.0)


def test_rows_do_not_choose_their_own_mixture():
    rng, true, codes = world(3, rows=200)
    model, trees = rng.normal(size=true.shape), true
    first = crossed(model, trees, codes, np.ones(codes.size), np.arange(codes.size))
    changed = codes.copy()
    changed[::2] = (changed[::2] + 1) % 3
    then = crossed(model, trees, changed, np.ones(codes.size), np.arange(codes.size))
    np.testing.assert_array_equal(first[:, ::2], then[:, ::2])
    assert (first[:, 1::2] != then[:, 1::2]).any()


def test_the_model_under_the_trees_and_their_share_are_the_mixture():
    rng = np.random.default_rng(4)
    logs, masks = np.log(softmax(rng.normal(size=(50, 3)))), rng.random((2, 50)) < 0.4
    membership = Membership.from_masks([np.ones(50, dtype=bool), *masks], 50)
    empty = Shares.new(Directions.of(logs, np.ones(50)), 2)
    model = empty.with_slopes(1).with_crossings(np.array([[0], [1]]))
    model = model.holding(rng.normal(size=model.table.shape))
    rows, added, made = (
        ClassRows(np.zeros(50, dtype=np.intp), np.ones(50), logs, membership),
        rng.normal(size=(3, 50)),
        Mixture(0.3),
    )

    def eta(one):
        passes = Passes(rows, one)
        return np.concatenate([passes.eta(one, chunk) for chunk in passes.chunks()], axis=1)

    found = eta(made.under_trees(model)) + 0.3 * added
    np.testing.assert_allclose(found, made.eta(eta(model), logs.T + added), atol=1e-5)


def test_fits_say_how_much_they_took_of_both():
    rng = np.random.default_rng(5)
    n = 6000
    a, b = rng.random((2, n)) < 0.5
    x = rng.normal(size=(n, 3))
    true = softmax(x + np.outer(a ^ b, [1.5, -1.5, 0.0]))
    y = (true.cumsum(axis=1) > rng.random(n)[:, None]).argmax(axis=1)
    made = mv.multicalibrate(y, softmax(x), groups=[a, b], property=mv.Classes(range(3)))
    assert "Trees over groups and all columns" in made.certificate.note
