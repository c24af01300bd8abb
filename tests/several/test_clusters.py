"""Classes whose rows share their luck: whole clusters are held out, and it is clusters that must lean and gain."""

from __future__ import annotations

import numpy as np
import pytest

import multivalid as mv
from multivalid.practical.accept import HeldOut
from multivalid.several.classes_fit import FOLDS, _splits
from multivalid.several.mixture import crossed
from tests.several.worlds import KINDS, kinds, softmax

CLASSES = mv.Classes(range(3))


def shared_luck(seed, clusters=300, size=20, pull=0.0):
    """Rows of a cluster are alike, and most have the cluster's luck; the probabilities are right, but for what pulls the first group."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), size)
    groups, x = (rng.random((3, clusters)) < 0.4)[:, cluster], rng.normal(size=(clusters, 3))[cluster]
    said, truth = softmax(x), softmax(x + pull * np.outer(groups[0], [1.0, 0.0, -1.0]))
    luck = np.where(rng.random(cluster.size) < 0.8, rng.random(clusters)[cluster], rng.random(cluster.size))
    code = (truth.cumsum(axis=1) > luck[:, None]).argmax(axis=1)
    mixed = rng.permutation(code.size)  # the rows of a cluster need not stand together
    return code[mixed], said[mixed], list(groups[:, mixed]), cluster[mixed]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("clusters", "size"), [(300, 20), (150, 10), (600, 40)])
def test_right_probabilities_of_lucky_clusters_are_left_alone(seed, clusters, size):
    code, said, groups, cluster = shared_luck(seed, clusters, size)
    made = mv.multicalibrate(code, said, groups=groups, property=CLASSES, cluster=cluster)
    assert made.predictor.together is None
    assert made.predictor.trees is None


def test_rows_that_do_not_share_their_luck_would_confirm_that():
    code, said, groups, _ = shared_luck(0)
    assert mv.multicalibrate(code, said, groups=groups, property=CLASSES).predictor.together is not None


@pytest.mark.parametrize("seed", range(3))
def test_what_many_clusters_show_is_put_right(seed):
    code, said, groups, cluster = shared_luck(seed, clusters=600, size=10, pull=1.0)
    made = mv.multicalibrate(code, said, groups=groups, property=CLASSES, cluster=cluster)
    assert made.predictor.together is not None
    after, inside = made.predict(said, groups=groups), groups[0]
    for k in range(3):
        before = abs((said[inside, k] - (code[inside] == k)).mean())
        assert before < 0.05 or abs((after[inside, k] - (code[inside] == k)).mean()) < before / 3


def test_each_row_as_its_own_cluster_is_no_cluster():
    names, base, _, groups, _ = kinds(4000, 1)
    codes = np.array([KINDS.index(name) for name in names], dtype=float)
    target, own = mv.Classes(KINDS), np.random.default_rng(0).permutation(4000)
    made = [mv.multicalibrate(names, base, groups=list(groups.T), property=target, cluster=one) for one in (None, own)]
    losses = [target.losses(one.predict(base, groups=list(groups.T)), codes).mean() for one in made]
    assert losses[0] == pytest.approx(losses[1], rel=0.01)
    assert max(losses) < 0.98 * target.losses(base, codes).mean()


def test_few_clusters_are_too_few():
    code, said, groups, cluster = shared_luck(0, clusters=FOLDS - 1, size=100)
    made = mv.multicalibrate(code, said, groups=groups, property=CLASSES, cluster=cluster)
    assert "fewer than 5 clusters" in made.certificate.note
    assert made.predictor.together is None


@pytest.mark.parametrize("rows", [700, 25_000])
def test_folds_are_of_whole_clusters(rows):
    unit = np.sort(np.random.default_rng(rows).integers(0, 40, rows))
    unit = np.unique(unit, return_inverse=True)[1]
    found = list(_splits(unit))
    assert len(found) == (1 if rows > 20_000 else FOLDS)
    for out, rest in found:
        assert not set(unit[out]) & set(unit[rest])
        assert np.array_equal(np.sort(np.concatenate([out, rest])), np.arange(rows))
        assert 0 < np.unique(unit[out]).size <= -(-40 // FOLDS)
    alone = list(_splits(np.arange(rows)))
    assert np.array_equal(alone[-1][0], np.array_split(np.arange(rows), FOLDS)[0])  # the first fold comes last


def test_means_by_unit_are_those_of_rows():
    rng = np.random.default_rng(2)
    unit, gain = np.repeat([0, 1, 2], [5, 1, 4]), rng.normal(size=10)
    found = HeldOut({"a": gain}, {"a": 2 * gain}, {"a": gain**2}).by_unit(unit)
    assert found.gains["a"].mean() == pytest.approx(gain.mean())
    np.testing.assert_allclose(found.leans["a"], [0.6 * gain[:5].sum(), 0.6 * gain[5], 0.6 * gain[6:].sum()])
    np.testing.assert_allclose(found.noise["a"].sum(), 0.09 * (gain**2).sum())


def test_a_cluster_has_no_say_in_its_own_mixture():
    rng = np.random.default_rng(3)
    unit, codes = np.repeat(np.arange(20), 10), rng.integers(0, 3, 200)
    model, trees, weights = rng.normal(size=(3, 200)), rng.normal(size=(3, 200)), np.ones(200)
    first = crossed(model, trees, codes, weights, unit)
    odd = unit % 2 == 1
    then = crossed(model, trees, np.where(odd, (codes + 1) % 3, codes), weights, unit)
    assert np.array_equal(first[:, odd], then[:, odd])
    assert not np.array_equal(first[:, ~odd], then[:, ~odd])
