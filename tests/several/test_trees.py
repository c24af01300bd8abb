"""Trees of several columns: codes and questions tell the same rows apart, every way of predicting agrees, and truth is left alone."""

from __future__ import annotations

import copy
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from multivalid.errors import ModelFileError
from multivalid.evaluators import DenseMembers
from multivalid.groups.membership import Membership
from multivalid.several.forest import ColumnTrees
from multivalid.several.predictor import ColumnsPredictor
from multivalid.several.tree_columns import Block, Number, columns_of
from tests.several.worlds import KINDS, TAUS, kinds, softmax

COLUMNS = ["q0", "q1", "q2"]
QUANTILES, CLASSES = mv.Quantiles(TAUS), mv.Classes(KINDS)


def told_by_width(rows, seed):
    """Forecasts whose middle is too low exactly where they are wide and two groups meet: no column alone can say so."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"a": rng.random(rows) < 0.4, "b": rng.random(rows) < 0.5})
    x, wide = rng.normal(size=rows), rng.random(rows) < 0.4
    spread = np.where(wide, 2.0, 0.5)
    data["y"] = x + spread * rng.normal(size=rows) + 1.5 * (wide & data["a"] & data["b"])
    data[COLUMNS] = x[:, None] + spread[:, None] * np.array([-1.2816, 0.0, 1.2816])
    return data


def mixed_kinds(rows, seed):
    """Classes that depend on two groups at once and on how far one class is ahead."""
    rng = np.random.default_rng(seed)
    groups = rng.random((rows, 3)) < [0.5, 0.6, 0.4]
    x = rng.normal(size=(rows, 4))
    ahead = x[:, 0] > x[:, 1]
    pull = np.outer(groups[:, 0] & groups[:, 1] & ahead, [2.5, -2.5, 0.0, 0.0])
    truth = softmax(x + pull)
    code = (truth.cumsum(axis=1) > rng.random(rows)[:, None]).argmax(axis=1)
    return np.array(KINDS)[code], softmax(x), groups, truth


@pytest.fixture(scope="module")
def fan():
    data = told_by_width(8000, 1)
    return mv.multicalibrate("y", COLUMNS, groups=["a", "b"], data=data, property=QUANTILES)


@pytest.fixture(scope="module")
def classes():
    names, said, groups, _ = mixed_kinds(12_000, 1)
    return mv.multicalibrate(names, said, groups=list(groups.T), property=CLASSES)


def test_trees_see_what_no_column_alone_can(fan):
    assert fan.predictor.trees is not None
    assert "Trees over groups and all columns" in fan.certificate.note
    new = told_by_width(30_000, 2)
    alone = [mv.multicalibrate("y", q, groups=["a", "b"], data=told_by_width(8000, 1), property=f"quantile:{tau}")
             for q, tau in zip(COLUMNS, TAUS, strict=True)]  # fmt: skip
    single = np.sort(np.column_stack([one.predict(q, data=new) for one, q in zip(alone, COLUMNS, strict=True)]), axis=1)
    after, y = fan.predict(COLUMNS, data=new), new["y"].to_numpy()
    assert QUANTILES.losses(after, y).mean() < 0.99 * QUANTILES.losses(single, y).mean()
    assert (np.diff(after, axis=1) >= 0).all()


def test_trees_of_classes_come_nearer_to_the_truth(classes):
    assert classes.predictor.trees is not None
    _, said, groups, truth = mixed_kinds(20_000, 2)
    after = classes.predict(said, groups=list(groups.T))
    np.testing.assert_allclose(after.sum(axis=1), 1, atol=1e-12)
    assert ((after - truth) ** 2).mean() < 0.3 * ((said - truth) ** 2).mean()


def test_one_row_a_file_and_databases_give_what_arrays_give(fan, tmp_path):
    new = told_by_width(400, 3)
    expected = fan.predict(COLUMNS, data=new)
    fan.save(tmp_path / "m.json")
    again = mv.load(tmp_path / "m.json")
    assert np.array_equal(again.predict(COLUMNS, data=new), expected)
    for i in range(50):
        row = {"a": bool(new["a"][i]), "b": bool(new["b"][i])}
        assert list(again.predict_one(new.loc[i, COLUMNS].tolist(), row)) == expected[i].tolist()
    with duckdb.connect() as base:
        base.register("rows", new)
        found = base.sql(again.to_sql("rows", COLUMNS)).df()
    np.testing.assert_allclose(found.iloc[:, -3:].to_numpy(float), expected, rtol=1e-9, atol=1e-9)
    with sqlite3.connect(":memory:") as base:
        new[[*COLUMNS, "a", "b"]].to_sql("rows", base, index=False)
        lite = base.execute(again.to_sql("rows", COLUMNS, dialect="sqlite")).fetchall()
    np.testing.assert_allclose(np.array(lite)[:, -3:].astype(float), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernels", ["compiled", "numpy"])
def test_trees_of_classes_agree_row_by_row(classes, kernels, monkeypatch):
    monkeypatch.setenv("MULTIVALID_KERNELS", kernels)
    _, said, groups, _ = mixed_kinds(300, 4)
    expected = classes.predict(said, groups=list(groups.T))
    for i in range(40):
        assert list(classes.predict_one(said[i].tolist(), groups[i].tolist())) == expected[i].tolist()


@pytest.mark.parametrize("seed", range(6))
def test_truth_is_left_alone(seed):
    rng = np.random.default_rng(seed)
    x, spread = rng.normal(size=6000), rng.gamma(3.0, size=6000)
    y = x + spread * rng.normal(size=6000)
    said = x[:, None] + spread[:, None] * np.array([-1.2815515655, 0.0, 1.2815515655])
    groups = list(rng.random((5, 6000)) < 0.3)
    assert mv.multicalibrate(y, said, groups=groups, property=QUANTILES).predictor.trees is None
    names, _, _, inside, truth = kinds(6000, seed)
    made = mv.multicalibrate(names, truth, groups=list(inside.T), property=CLASSES)
    assert made.predictor.trees is None


def test_questions_tell_apart_what_codes_tell_apart():
    rng = np.random.default_rng(3)
    given = np.round(rng.normal(size=(500, 3)), 1)  # with ties
    kind = rng.integers(0, 4, 500)
    masks = np.column_stack([*(kind == k for k in range(3)), rng.random(500) < 0.5, np.zeros(500, bool)])
    membership = Membership.from_dense(masks)
    members, columns = DenseMembers(membership, 0, 500), [*given.T]
    found = columns_of(given, membership)
    assert [one.groups for one in found if isinstance(one, Block)] == [(1, 2, 3), (4,)]
    assert [(one.column, one.less) for one in found if isinstance(one, Number)] == [
        (0, None), (1, None), (2, None), (1, 0), (2, 0), (2, 1)]  # fmt: skip
    for one in found:
        codes = one.codes(columns, members)
        assert codes.max() < one.size - 1
        for _ in range(20):
            left = np.zeros(one.size, bool)
            if one.ordered:
                left[: rng.integers(1, one.size - 1)] = True
            else:
                left[:-1] = rng.permutation(np.arange(one.size - 1) < rng.integers(1, one.size - 1))
            left[-1] = rng.random() < 0.5
            one.check(left)
            question, yes = one.question(left)
            assert np.array_equal(question.answer(columns, members) == yes, left[codes])


@pytest.mark.parametrize(
    "change",
    [
        lambda trees: trees.pop("columns"),
        lambda trees: trees["trees"].pop(),
        lambda trees: trees["trees"].__setitem__(0, 3.0),
        lambda trees: trees["trees"].__setitem__(0, [[0, [0], 1.0]]),
        lambda trees: trees["trees"].__setitem__(0, [[99, [0], 1.0, 2.0]]),
        lambda trees: trees["trees"].__setitem__(0, [[0, [0, 1, 2], 1.0, 2.0]]),
        lambda trees: trees["columns"].__setitem__(0, {"groups": [0]}),
        lambda trees: trees["columns"].__setitem__(0, {"groups": [1, 1]}),
        lambda trees: trees["columns"].__setitem__(0, {"groups": [7]}),
        lambda trees: trees["columns"].__setitem__(0, {"groups": []}),
        lambda trees: trees["columns"].__setitem__(-1, {"column": 3, "less": None, "edges": [1.0]}),
        lambda trees: trees["columns"].__setitem__(-1, {"column": 0, "less": "a", "edges": [1.0]}),
        lambda trees: trees["columns"].__setitem__(-1, {"column": None, "less": 0, "edges": [1.0]}),
        lambda trees: trees["columns"].__setitem__(-1, {"column": 0, "less": 1, "edges": [2.0, 1.0]}),
        lambda trees: trees["columns"].__setitem__(-1, {"column": 0, "less": 1, "edges": []}),
        lambda trees: trees["trees"].__setitem__(0, [[len(trees["columns"]) - 1, [1], 1.0, 2.0]]),
        lambda trees: trees["trees"].__setitem__(0, [1e300]),
    ],
)
def test_damaged_trees_are_refused(fan, change):
    data, groups = fan.predictor.trees.to_json(), len(fan.groups.names)
    assert ColumnTrees.from_json(copy.deepcopy(data), 3, groups).to_json() == data
    change(data)
    with pytest.raises(ModelFileError):
        ColumnTrees.from_json(data, 3, groups)


def test_trees_without_ground_are_refused(fan):
    data = fan.predictor.to_json()
    data["parts"] = []
    with pytest.raises(ModelFileError, match="stand on"):
        ColumnsPredictor.from_json(data, len(fan.groups.names), QUANTILES)


def shared_luck(seed, clusters=300, size=20):
    """Widths, groups and luck are those of a cluster: its rows are alike, and wrong alike; the forecasts are right."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), size)
    width, luck = np.exp(rng.normal(0, 0.5, clusters))[cluster], rng.normal(size=clusters)[cluster]
    x, groups = rng.normal(size=cluster.size), (rng.random((3, clusters)) < 0.4)[:, cluster]
    y = x + width * (0.8 * luck + 0.6 * rng.normal(size=cluster.size))
    return y, x[:, None] + width[:, None] * np.array([-1.2815515655, 0.0, 1.2815515655]), list(groups), cluster


@pytest.mark.parametrize("seed", range(4))
def test_clusters_are_held_out_whole(seed):
    y, said, groups, cluster = shared_luck(seed)
    mixed = np.random.default_rng(seed).permutation(y.size)  # the rows of a cluster need not stand together
    made = mv.multicalibrate(
        y[mixed], said[mixed], groups=[group[mixed] for group in groups], property=QUANTILES, cluster=cluster[mixed]
    )
    assert made.predictor.trees is None


def test_rows_that_do_not_share_their_luck_would_confirm_that():
    y, said, groups, _ = shared_luck(0)
    assert mv.multicalibrate(y, said, groups=groups, property=QUANTILES).predictor.trees is not None


def test_too_few_clusters_hold_nothing_out_for_trees():
    data = told_by_width(6000, 1)
    made = mv.multicalibrate("y", COLUMNS, groups=["a", "b"], data=data, property=QUANTILES, cluster=np.arange(6000) // 100)
    assert made.predictor.trees is None
    assert "Trees" not in made.certificate.note
