"""Groups found in columns: better where something is there, silent where nothing is, the same numbers wherever rows live."""

from __future__ import annotations

import copy
import json
import random

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.discover.bins import Categories, Ordered
from multivalid.errors import InputError, ModelFileError
from multivalid.practical.data import Outcomes
from multivalid.practical.forest import Forest
from multivalid.practical.from_columns.ways import Ways
from multivalid.practical.remains import remaining
from tests.discover.worlds import mixed_frame

COLUMNS = ["age", "income", "gain", "score", "city", "member", "when"]


def world(rows=4000, seed=0):
    """Log-odds that depend on columns which the base does not know."""
    rng = np.random.default_rng(seed)
    data = mixed_frame(rng, rows).drop(columns="day")
    x = rng.normal(size=rows)
    z = x + 1.2 * ((data["city"] == "Oslo") & (data["age"] >= 50)) - 1.0 * (data["gain"] > 0) + 0.8 * data["score"].isna()
    z = z + 0.7 * data["member"].isna().to_numpy(dtype=float)
    truth = 1 / (1 + np.exp(-z.to_numpy(dtype=float)))
    data["p"], data["truth"] = 1 / (1 + np.exp(-x)), truth
    data["y"] = (rng.random(rows) < truth).astype(float)
    return data


@pytest.fixture(scope="module")
def fitted():
    data = world(6000)
    return mv.multicalibrate("y", "p", groups=["city"], data=data, features=COLUMNS), data


def loss(data, predictions):
    q = np.clip(predictions, 1e-9, 1 - 1e-9)
    return -np.mean(np.where(data["y"] == 1, np.log(q), np.log(1 - q)))


def test_better_on_rows_not_seen(fitted):
    model, _ = fitted
    new = world(4000, 1)
    named = mv.multicalibrate("y", "p", groups=["city"], data=world())
    found = loss(new, model.predict("p", data=new))
    assert found < loss(new, named.predict("p", data=new)) - 0.005
    assert found < loss(new, new["truth"].to_numpy()) + 0.02
    assert "confirmed on" in model.certificate.note


def test_saved_loaded_and_on_every_engine_alike(fitted, tmp_path):
    model, _ = fitted
    assert model.predictor.forest is not None
    new = world(1500, 2)
    new.loc[:200, "city"] = "a town never seen"
    new["income"] = new["income"].where(new.index % 7 != 0)
    expected = model.predict("p", data=new)
    model.save(tmp_path / "model.json")
    again = mv.load(tmp_path / "model.json")
    assert np.array_equal(again.predict("p", data=new), expected)
    assert again.to_json() == model.to_json()
    frame = pl.from_pandas(new)
    lazily = again.predict("p", data=frame.lazy()).collect()["calibrated"].to_numpy()
    assert np.abs(lazily - expected).max() < 1e-9
    frame = frame.with_row_index("row")
    relation = again.predict("p", data=duckdb.from_arrow(frame.to_arrow())).order("row").pl()["calibrated"].to_numpy()
    assert np.abs(relation - expected).max() < 1e-9
    assert np.abs(again.predict("p", data=frame) - expected).max() < 1e-12


def test_readable_keeps_rules_only():
    data = world()
    model = mv.multicalibrate("y", "p", groups=["city"], data=data, features=COLUMNS, readable=True)
    assert model.predictor.forest is None
    assert len(model.groups) > 6
    new = world(2000, 3)
    assert loss(new, model.predict("p", data=new)) < loss(new, new["p"].to_numpy()) - 0.02
    assert model.audit("y", "p", data=new).error < 0.01


def test_rules_choose_the_rows_that_their_text_says():
    data = world()
    model = mv.multicalibrate("y", "p", groups=[], data=data, features=COLUMNS, readable=True)
    masks = list(model.groups.masks(data, n_rows=len(data)))
    again = list(mv.Groups(list(model.groups.names[1:])).fit(data).masks(data))
    assert len(again) == len(masks)
    for one, other in zip(masks, again, strict=True):
        assert np.array_equal(one, other)


def test_the_truth_is_left_alone():
    changed = 0
    for seed in range(12):
        data = world(2000, 100 + seed)
        model = mv.multicalibrate("y", "truth", groups=[], data=data, features=COLUMNS, random_state=seed)
        changed += not np.array_equal(model.predict("truth", data=data), data["truth"])
    assert changed <= 2


def test_holdout_blocks_and_time():
    data = world(3000, 5)
    rng = np.random.default_rng(0)
    data["day"] = rng.integers(0, 40, 3000)
    held = mv.multicalibrate("y", "p", groups=["city"], data=data, features=COLUMNS, holdout=0.3, blocks="day")
    assert held.certificate.holdout_error is not None
    assert "found in" in held.certificate.note
    timed = mv.multicalibrate("y", "p", groups=[], data=data, features=COLUMNS, time="day")
    assert timed.certificate.error < 0.05


def test_a_lazy_frame_is_fitted_too():
    data = world(3000, 6)
    model = mv.multicalibrate("y", "p", groups=["city"], data=pl.from_pandas(data).lazy(), features=["age", "city", "gain"])
    assert "found in 3 columns" in model.certificate.note


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": []}, "names no column"),
        ({"features": ["y"]}, "is the label"),
        ({"features": ["ages"]}, "Did you mean 'age'"),
        ({"mode": "theorem"}, 'mode="practical"'),
        ({"property": "mean_variance"}, "not for pairs"),
        ({"data": None}, "pass the frame"),
        ({"blocks": "nobody"}, "not a column"),
        ({"blocks": "city", "time": "age"}, "one of them"),
        ({"blocks": [1] * 3000}, "at least 5"),
        ({"features": None, "readable": True}, "go with features"),
    ],
)
def test_bad_input_is_told(change, message):
    data = world(3000, 7)
    columns = ("y", "p") if change.get("data", 1) is not None else (data["y"], data["p"])
    columns = columns if change.get("property") is None else ("y", ["p", "p"])
    with pytest.raises(InputError, match=message):
        mv.multicalibrate(*columns, **({"groups": [], "data": data, "features": ["age"]} | change))


def test_few_rows_and_columns_that_are_gone(fitted):
    model, data = fitted
    with pytest.raises(InputError, match="at least 200 rows"):
        mv.multicalibrate("y", "p", groups=[], data=data.head(150), features=["age"])
    with pytest.raises(InputError, match=r"no column|is not a column"):
        model.predict("p", data=data.drop(columns=[model.predictor.forest.columns[0]]))
    with pytest.raises(InputError, match="data="):
        mv.multicalibrate("y", "p", groups=[], data=data, features=COLUMNS).predict([0.5])
    note = mv.multicalibrate("y", "p", groups=[], data=data.assign(same=1), features=["age", "same", "p"]).certificate.note
    assert "'same' has the same value" in note
    assert "is y_pred" in note


def test_damaged_trees_are_refused_or_still_trees(fitted):
    """Any change of the text is refused with the library's own error, or reads as trees that predict finite numbers."""
    model, data = fitted
    forest = Forest(model.predictor.forest.bins, model.predictor.forest.trees[:3])
    good = forest.to_json()
    codes = forest.codes(data.head(50), data["p"].head(50).to_numpy())
    rng = random.Random(0)
    refused = 0
    for _ in range(400):
        bad = copy.deepcopy(good)
        damage(bad, rng)
        try:
            made = Forest.from_json(json.loads(json.dumps(bad)))
        except ModelFileError:
            refused += 1
            continue
        assert len(made.bins) != len(forest.bins) or np.isfinite(made.sums(codes)).all()
    assert refused > 200


def damage(node, rng):
    """Put something odd somewhere."""
    odd = [None, True, -1, 300, 1e300, "x", [], {}, [1, 2], {"column": "a"}, "NaN", 2**70, 0.5]
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = rng.choice(keys)
        if isinstance(node[key], (dict, list)) and node[key] and rng.random() < 0.8:
            node = node[key]
            continue
        node[key] = rng.choice(odd)
        return


def test_estimated_from_a_pandas_frame_with_an_index():
    data = world(2500, 8)
    data.index = pd.Index(np.arange(2500)[::-1])
    model = mv.multicalibrate("y", "p", groups=[], data=data, features=["age", "city", "gain"])
    assert np.allclose(model.predict("p", data=data), model.predict(data["p"].to_numpy(), data=data.reset_index(drop=True)))


@pytest.mark.parametrize("at", ["named", "trees", "rules", "whole"])
def test_ctrl_c_raises_and_returns_what_is_confirmed_if_asked(at, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Ways, at, interrupt)
    data = world()
    asked = {"groups": ["city"], "data": data, "features": COLUMNS}
    with pytest.raises(KeyboardInterrupt):
        mv.multicalibrate("y", "p", **asked)
    model = mv.multicalibrate("y", "p", on_interrupt="return", **asked)
    assert model.certificate.status == "budget"
    assert "Interrupted" in model.certificate.note
    untouched = np.array_equal(model.predict("p", data=data), data["p"])
    assert untouched == (at == "named")
    assert ("trees" in model.certificate.note) == (at in ("rules", "whole"))  # what held-out rows had confirmed is kept


def test_what_remains_for_groups_of_one_condition_is_the_largest_of_all():
    rng = np.random.default_rng(3)
    rows = 3000
    codes = np.column_stack([rng.integers(0, 4, rows), rng.integers(0, 5, rows)]).astype(np.uint8)
    bins = [Ordered("age", "number", (20.0, 30.0)), Categories("city", "text", ("Bonn", "Oslo", "Rome"))]
    weights, v = rng.uniform(0.5, 2.0, rows), rng.normal(size=rows) + 0.4 * (codes[:, 0] == 2)
    told = remaining(mv.Mean(), bins, codes, Outcomes(rng.normal(size=rows), weights), weights * v, events=False)
    groups = {"age < 20": codes[:, 0] == 0, "age < 30": codes[:, 0] <= 1, "age >= 20": np.isin(codes[:, 0], [1, 2])}
    groups |= {"age >= 30": codes[:, 0] == 2, "age is None": codes[:, 0] == 3}
    groups |= {f"city == {name!r}": codes[:, 1] == k for k, name in enumerate(["Bonn", "Oslo", "Rome"])}
    sizes = {name: (weights * v)[inside].sum() ** 2 / weights[inside].sum() for name, inside in groups.items()}
    worst = max(sizes, key=sizes.get)
    gap = np.average(v[groups[worst]], weights=weights[groups[worst]])
    assert f"than {worst} (too high by {gap:.3g} in {100 * weights[groups[worst]].sum() / weights.sum():.1f} % of them)" in told
    assert "of all 10 groups" in told  # with every other city, and no city


def test_the_certificate_says_what_remains(fitted):
    model, _ = fitted
    assert "Groups that nobody named: of all" in model.certificate.note
