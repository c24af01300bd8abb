"""`multicalibrate` with several columns: the constraint always holds, held-out loss falls, files and single rows agree."""

from __future__ import annotations

import copy
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError, ModelFileError
from tests.several.worlds import KINDS, TAUS, fan, kinds

QUANTILES, CLASSES = mv.Quantiles(TAUS), mv.Classes(KINDS)


def _fan(rows=3000, **options):
    y, said, weights, groups = fan(rows)
    return mv.multicalibrate(y, said, groups=list(groups.T), property=QUANTILES, sample_weight=weights, **options)


def _kinds(rows=3000, **options):
    names, said, weights, groups, _ = kinds(rows)
    return mv.multicalibrate(names, said, groups=list(groups.T), property=CLASSES, sample_weight=weights, **options)


@pytest.fixture(scope="module")
def fitted_fan():
    return _fan()


@pytest.fixture(scope="module")
def fitted_kinds():
    return _kinds()


def test_quantiles_never_cross_whatever_comes_in(fitted_fan):
    rng = np.random.default_rng(9)
    wild = rng.standard_t(1, size=(20_000, 3)) * 10.0 ** rng.integers(-3, 6, (20_000, 1))
    found = fitted_fan.predict(wild, groups=[rng.random(20_000) < 0.5, rng.random(20_000) < 0.5])
    assert (np.diff(found, axis=1) >= 0).all()


def test_classes_sum_to_one_whatever_comes_in(fitted_kinds):
    rng = np.random.default_rng(9)
    wild = rng.random((20_000, 4)) * (rng.random((20_000, 4)) < 0.5)
    wild[:, 0] += 1e-12
    found = fitted_kinds.predict(np.minimum(wild, 1), groups=list(rng.random((4, 20_000)) < 0.5))
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)


def test_new_rows_are_covered_in_every_group(fitted_fan):
    y, said, _, groups = fan(40_000, seed=1)
    before, after = QUANTILES.mend(said), fitted_fan.predict(said, groups=list(groups.T))
    assert QUANTILES.losses(after, y).mean() < QUANTILES.losses(before, y).mean()
    for inside in groups.T:
        share = (y[inside, None] <= after[inside]).mean(axis=0)
        np.testing.assert_allclose(share, TAUS, atol=0.04)


def test_new_rows_have_the_right_class_shares_in_every_group():
    _, said, _, groups, truth = kinds(40_000, seed=0)
    after = _kinds(6000).predict(said, groups=list(groups.T))
    worst = max(np.abs((after - truth)[inside].mean(axis=0)).max() for inside in groups.T)
    assert worst < 0.03
    assert worst < 0.25 * max(np.abs((said - truth)[inside].mean(axis=0)).max() for inside in groups.T)


def test_classes_that_are_right_already_are_left_alone():
    names, _, _, groups, truth = kinds(2000)
    made = mv.multicalibrate(names, truth, groups=list(groups.T), property=CLASSES)
    np.testing.assert_allclose(made.predict(truth, groups=list(groups.T)), truth, atol=1e-12)
    assert "nothing done" in made.certificate.summary()


@pytest.mark.parametrize("mode", ["theorem", "paper"])
def test_theorem_mode_is_certified_after_the_constraint(mode):
    y, said, weights, groups = fan(1500)
    made = _fan(1500, mode=mode, m=20)
    found = made.predict(said, groups=list(groups.T))
    assert (np.diff(found, axis=1) >= 0).all()
    again = made.audit(y, said, groups=list(groups.T), sample_weight=weights)
    for part, stated in zip(again.parts, made.certificate.parts, strict=True):
        assert part.error == pytest.approx(stated.error, rel=1e-9)
    assert made.certificate.error == max(part.error for part in again.parts)


def test_the_certificate_says_what_an_audit_finds(fitted_kinds):
    names, said, weights, groups, _ = kinds(3000)
    again = fitted_kinds.audit(names, said, groups=list(groups.T), sample_weight=weights)
    assert fitted_kinds.certificate.error == pytest.approx(again.error, rel=1e-9)
    after = fitted_kinds.predict(said, groups=list(groups.T))
    codes = CLASSES.check_labels(names)
    assert fitted_kinds.certificate.potential[1] == pytest.approx(np.average(CLASSES.losses(after, codes), weights=weights))


def test_held_out_rows_are_told_of():
    made = _fan(2000, holdout=0.3)
    assert made.certificate.holdout_loss[1] < made.certificate.holdout_loss[0]
    assert made.certificate.holdout_error is not None
    assert "On rows held out" in made.certificate.summary()
    assert made.certificate.broken > 0


@pytest.mark.parametrize("world", ["fan", "kinds"])
def test_one_row_and_a_file_give_the_same_to_the_last_bit(world, tmp_path, fitted_fan, fitted_kinds):
    made = fitted_fan if world == "fan" else fitted_kinds
    said, groups = (fan(50, 2)[1], fan(50, 2)[3]) if world == "fan" else (kinds(50, 2)[1], kinds(50, 2)[3])
    all_rows = made.predict(said, groups=list(groups.T))
    for k in range(50):
        assert made.predict_one(said[k].tolist(), groups[k].tolist()) == tuple(all_rows[k].tolist())
    made.save(tmp_path / "model.json")
    back = mv.load(tmp_path / "model.json")
    np.testing.assert_array_equal(back.predict(said, groups=list(groups.T)), all_rows)
    assert back.certificate.summary() == made.certificate.summary()
    assert back.report(tmp_path / "r.html").exists()


def test_weights_matter_and_rows_without_weight_are_not_there():
    y, said, weights, groups = fan(1200)
    weights[::3] = 0.0
    kept = weights > 0
    some = mv.multicalibrate(y, said, groups=list(groups.T), property=QUANTILES, sample_weight=weights)
    less = mv.multicalibrate(y[kept], said[kept], groups=list(groups[kept].T), property=QUANTILES, sample_weight=weights[kept])
    even = mv.multicalibrate(y[kept], said[kept], groups=list(groups[kept].T), property=QUANTILES)
    arrays = list(groups.T)
    np.testing.assert_array_equal(some.predict(said, groups=arrays), less.predict(said, groups=arrays))
    assert not np.allclose(some.predict(said, groups=arrays), even.predict(said, groups=arrays))


def test_frames_eager_and_lazy_and_sql():
    names, said, _, groups, _ = kinds(1500)
    frame = pl.DataFrame({"kind": names, **{f"p{k}": said[:, k] for k in range(4)}, "g": groups[:, 1].astype(int)})
    columns = [f"p{k}" for k in range(4)]
    made = mv.multicalibrate("kind", columns, groups=["g == 1"], data=frame.lazy(), property=CLASSES)
    eager = made.predict(columns, data=frame)
    lazy = made.predict(columns, data=frame.lazy()).collect()
    np.testing.assert_allclose(lazy.select([f"calibrated_{kind}" for kind in KINDS]).to_numpy(), eager, rtol=1e-12)
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE rows (p0 REAL, p1 REAL, p2 REAL, p3 REAL, g INTEGER)")
        base.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", frame.select([*columns, "g"]).rows())
        found = base.execute(made.to_sql("rows", columns, dialect="sqlite")).fetchall()
    np.testing.assert_allclose(np.array(found)[:, 5:].astype(float), eager, rtol=1e-9)


def test_quantiles_in_sql_are_sorted():
    y, said, _, groups = fan(1500)
    frame = pl.DataFrame({"y": y, **{f"q{k}": said[:, k] for k in range(3)}, "g": groups[:, 0].astype(int)})
    made = mv.multicalibrate("y", ["q0", "q1", "q2"], groups=["g == 1"], data=frame, property=QUANTILES)
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE rows (q0 REAL, q1 REAL, q2 REAL, g INTEGER)")
        base.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", frame.select(["q0", "q1", "q2", "g"]).rows())
        found = base.execute(made.to_sql("rows", ["q0", "q1", "q2"], dialect="sqlite")).fetchall()
    np.testing.assert_allclose(
        np.array(found)[:, 4:].astype(float), made.predict(["q0", "q1", "q2"], data=frame), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("predictor", "parts"), [None] * 4),
        (("predictor", "together"), None),
        (("predictor", "together", "groups"), []),
        (("predictor", "together", "groups", 1), [[0.0]]),
        (("predictor", "together", "pairs"), [[4], [0]]),
        (("predictor", "together", "pairs"), [[0], []]),
        (("predictor", "together", "own_scale", 0), 0.0),
        (("predictor", "together", "center"), [0.0] * 9),
        (("predictor", "grids", 1), {"points": "no"}),
        (("predictor", "kind"), "link"),
        (("predictor", "together", "curve", 0, 0), 1e300),
        (("certificate", "keys"), ["a", "b", "c", "d"]),
        (("certificate", "parts"), [None] * 4),
        (("certificate", "potential"), [1.0]),
        (("certificate", "broken"), -1),
        (("property",), "mean"),
        (("property",), "classes:ant,bee"),
        (("property",), "mean_variance"),
    ],
)
def test_an_edited_file_is_refused(where, value, fitted_kinds):
    content = copy.deepcopy(fitted_kinds.to_json())
    inner = content
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = value
    with pytest.raises(ModelFileError):
        mv.SeveralCalibration.from_json(content)


@pytest.mark.parametrize(
    ("options", "needle"),
    [
        ({"features": ["a"]}, "pass the frame"),
        ({"batched": True, "mode": "theorem"}, "batched"),
        ({"m": [5, 5]}, "one per column"),
        ({"grid": [mv.Grid([0.0])]}, "grid"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, needle):
    with pytest.raises(InputError, match=needle):
        _fan(200, **options)


def test_predictions_that_are_no_probabilities_are_refused(fitted_kinds):
    with pytest.raises(InputError, match="between 0 and 1"):
        fitted_kinds.predict_one([0.5, 0.5, 0.5, -0.5], [True] * 4)
    with pytest.raises(InputError, match="between 0 and 1"):
        fitted_kinds.predict([[0.5, 0.5, 0.5, -0.5]], groups=[np.array([True])] * 4)


def test_names_that_a_file_cannot_hold_are_told_of(tmp_path):
    names, said, *_ = kinds(150)
    target = mv.Classes(["a,b", "c", "d", "e"])
    renamed = np.array(target.classes)[[KINDS.index(name) for name in names]]
    made = mv.multicalibrate(renamed, said, groups=[], property=target)
    with pytest.raises(InputError, match="rename the classes"):
        made.save(tmp_path / "model.json")


def test_too_few_rows_are_left_alone_but_mended():
    made = mv.multicalibrate(["ant", "bee"], [[0.4, 0.4, 0.1, 0.3]] * 2, groups=[], property=CLASSES)
    np.testing.assert_allclose(made.predict([[0.4, 0.4, 0.1, 0.3]]), [[1 / 3, 1 / 3, 1 / 12, 1 / 4]])
    assert "too few" in made.certificate.summary()


def test_products_of_groups_go_through_files_single_rows_and_sql(tmp_path):
    rng = np.random.default_rng(8)
    data = pd.DataFrame({"a": rng.random(6000) < 0.4, "b": rng.random(6000) < 0.5})
    chance = np.where((data["a"] & data["b"]).to_numpy()[:, None], [0.7, 0.1, 0.2], [0.2, 0.5, 0.3])
    kind = np.array(["x", "y", "z"])[(chance.cumsum(axis=1) > rng.random(6000)[:, None]).argmax(axis=1)]
    data["px"], data["py"], data["pz"] = rng.dirichlet(np.full(3, 50.0), 6000).T
    columns = ["px", "py", "pz"]
    made = mv.multicalibrate(kind, columns, groups=["a", "b"], data=data, property=mv.Classes(["x", "y", "z"]))
    assert made.predictor.together.pairs.shape[1]
    expected = made.predict(columns, data=data)
    assert np.abs((expected - chance)[data["a"] & data["b"]].mean(axis=0)).max() < 0.03
    made.save(tmp_path / "m.json")
    again = mv.load(tmp_path / "m.json")
    assert np.array_equal(again.predict(columns, data=data), expected)
    row = data.iloc[3]
    assert np.allclose(again.predict_one(row[columns].tolist(), {"a": bool(row["a"]), "b": bool(row["b"])}), expected[3], atol=1e-9)
    duckdb.register("rows", data)
    found = duckdb.sql(again.to_sql("rows", columns)).df()
    assert np.abs(found.iloc[:, -3:].to_numpy() - expected).max() < 1e-9


def forgotten(rows, seed):
    """A group that nobody named: its spread is three times that of the others, and its kinds are others."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"age": rng.integers(18, 90, rows), "city": rng.choice(["Rome", "Oslo", "Bonn"], rows)})
    inside = ((data["age"] >= 50) & (data["city"] == "Oslo")).to_numpy()
    x = rng.normal(size=rows)
    data["y"] = x + np.where(inside, 3.0, 1.0) * rng.normal(size=rows)
    for tau, z in zip(TAUS, (-1.2816, 0.0, 1.2816), strict=True):
        data[f"q{tau}"] = x + z
    chance = np.where(inside[:, None], [0.6, 0.1, 0.3], [0.2, 0.5, 0.3])
    data["kind"] = np.array(["a", "b", "c"])[(chance.cumsum(axis=1) > rng.random(rows)[:, None]).argmax(axis=1)]
    for name, share in zip("abc", (0.25, 0.45, 0.3), strict=True):
        data[f"p{name}"] = share
    return data, inside, chance


def test_quantiles_are_right_for_a_group_found_in_columns(tmp_path):
    data, _, _ = forgotten(8000, 1)
    said = [f"q{tau}" for tau in TAUS]
    made = mv.multicalibrate(
        "y", said, groups=["city"], data=data, property=mv.Quantiles(TAUS), features=["age", "city"], holdout=0.2
    )
    assert any("age" in name for name in made.groups.names)
    assert "confirmed on" in made.certificate.note
    new, inside, _ = forgotten(8000, 2)
    after = made.predict(said, data=new)
    assert (np.diff(after, axis=1) >= 0).all()
    covered = (new["y"].to_numpy()[inside, None] <= after[inside]).mean(axis=0)
    assert np.abs(covered - TAUS).max() < 0.06
    made.save(tmp_path / "m.json")
    again = mv.load(tmp_path / "m.json")
    assert np.array_equal(again.predict(said, data=new), after)
    row = new.iloc[0].to_dict()
    assert np.allclose(again.predict_one([row[name] for name in said], row), after[0], atol=1e-9)
    lazily = again.predict(said, data=pl.from_pandas(new).lazy()).collect()
    assert np.abs(lazily.select(pl.selectors.starts_with("calibrated")).to_numpy() - after).max() < 1e-9


def test_classes_are_right_for_a_group_found_in_columns():
    data, _, _ = forgotten(8000, 3)
    asked = {"groups": [], "data": data, "property": mv.Classes(["a", "b", "c"]), "features": ["age", "city"]}
    made = mv.multicalibrate("kind", ["pa", "pb", "pc"], **asked)
    new, inside, chance = forgotten(4000, 4)
    after = made.predict(["pa", "pb", "pc"], data=new)
    assert np.abs(after.sum(axis=1) - 1).max() < 1e-9
    assert np.abs((after - chance)[inside].mean(axis=0)).max() < 0.06
    assert np.abs((after - chance)[~inside].mean(axis=0)).max() < 0.03


def test_ctrl_c_while_groups_are_found(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("multivalid.several.found.find_rules", interrupt)
    data, _, _ = forgotten(1000, 5)
    asked = {"groups": [], "data": data, "property": mv.Classes(["a", "b", "c"]), "features": ["age", "city"]}
    with pytest.raises(KeyboardInterrupt):
        mv.multicalibrate("kind", ["pa", "pb", "pc"], **asked)
    made = mv.multicalibrate("kind", ["pa", "pb", "pc"], on_interrupt="return", **asked)
    assert made.certificate.status == "budget"
    assert "Interrupted" in made.certificate.note
    assert np.allclose(made.predict(["pa", "pb", "pc"], data=data), [0.25, 0.45, 0.3])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": ["kind"]}, "is the label"),
        ({"features": ["nowhere"]}, "nowhere"),
        ({"features": []}, "names no column"),
        ({"mode": "theorem"}, "goes with mode"),
        ({"features": None, "readable": True}, "go with features"),
        ({"data": None}, "data"),
    ],
)
def test_bad_features_are_told(change, message):
    data, _, _ = forgotten(400, 6)
    given = {"data": data, "features": ["age"], **change}
    said = data[["pa", "pb", "pc"]].to_numpy()
    label = "kind" if given["data"] is not None else data["kind"].to_numpy()
    with pytest.raises(InputError, match=message):
        mv.multicalibrate(label, said, groups=[], property=mv.Classes(["a", "b", "c"]), **given)


def test_no_class_is_impossible_where_predictions_determine_it():
    rng = np.random.default_rng(2)
    said = rng.dirichlet(np.ones(3), 3000)
    made = mv.multicalibrate(said.argmax(axis=1), said, groups=[rng.random(3000) < 0.5], property=mv.Classes(range(3)))
    wild = np.maximum(rng.dirichlet(np.full(3, 0.05), 5000), 1e-300)
    found = made.predict(wild, groups=[rng.random(5000) < 0.5])
    assert found.min() > 1e-14
    assert (found.argmax(axis=1) == wild.argmax(axis=1)).mean() > 0.98
