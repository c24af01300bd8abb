"""What `discover` says is true: found where planted, silent where nothing is off, the same on every engine."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.groups.predicate import parse
from tests.discover.worlds import mixed_frame, off_world


def jaccard(text, data, truth):
    mask = next(iter(list(mv.Groups([text]).fit(data).masks(data))[1:]))
    return (mask & truth).sum() / (mask | truth).sum()


def test_the_planted_group_is_found_told_and_ready_for_groups():
    data, truth = off_world(6000, 1)
    found = mv.discover("y", "p", data=data, features=["age", "city", "income", "score", "member", "when", "gain"])
    assert len(found.groups) == 1
    assert jaccard(found.groups[0], data, truth) > 0.7
    assert found.table["gap_low"][0] <= -0.35 + 0.1 <= found.table["gap_high"][0] + 0.15
    assert found.table["gap"][0] < -0.2  # predicted .4 where .75 happens
    assert "predicted too low" in found.summary()
    audited = mv.audit("y", "p", groups=found.groups, data=data)
    assert audited.table["p_adjusted"][1] < 1e-6


def test_nothing_is_found_where_nothing_is_off_and_it_says_what_would_have_been():
    data, _ = off_world(4000, 2, delta=0.0)
    found = mv.discover("y", "p", data=data.drop(columns="w"))
    assert found.groups == []
    assert found.summary().startswith("None found; a gap of ")
    assert "in a tenth of the rows would have been" in found.summary()
    assert "None found" in found._repr_html_()


def test_the_gap_said_to_be_found_is_found_nine_times_in_ten():
    hits, runs = 0, 40
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        data = pd.DataFrame({f"c{k}": rng.choice(list("abcdefghij"), 4000) for k in range(4)})
        y = (rng.random(4000) < 0.5).astype(float)
        smallest = mv.discover(y, np.full(4000, 0.5), data=data).smallest
        inside = (data["c0"] == "a").to_numpy()
        y = (rng.random(4000) < np.where(inside, 0.5 + smallest, 0.5)).astype(float)
        found = mv.discover(y, np.full(4000, 0.5), data=data)
        hits += any(jaccard(text, data, inside) > 0.5 for text in found.groups)
    assert hits >= 0.8 * runs  # 90 % promised; three standard errors below


def test_quantiles_and_weights():
    rng = np.random.default_rng(5)
    data = mixed_frame(rng, 8000)
    inside = (data["income"] < 15_000).to_numpy()
    y = rng.normal(size=8000) + np.where(inside, 0.8, 0.0)
    weights = rng.exponential(1.0, 8000)
    limit = np.full(8000, 1.2815515655446004)
    found = mv.discover(y, limit, data=data, property="quantile:0.9", sample_weight=weights)
    assert any(jaccard(text, data, inside) > 0.5 for text in found.groups)
    assert "instead of 90.0%" in found.summary()
    without = mv.discover(y, limit, data=data, property="quantile:0.9", sample_weight=np.where(inside, 0.0, weights))
    assert not any(jaccard(text, data, inside) > 0.5 for text in without.groups)  # rows without weight say nothing


def test_named_groups_are_taken_into_account():
    data, _ = off_world(6000, 3)
    named = "age >= 50 and city == 'Oslo'"
    assert mv.discover("y", "p", data=data).groups
    beyond = mv.discover("y", "p", data=data, groups=[named])
    assert beyond.groups == []
    assert beyond.beyond == 1


def test_pairs_are_searched_coordinate_by_coordinate():
    rng = np.random.default_rng(4)
    data = mixed_frame(rng, 8000)
    noisy = (data["city"] == "Oslo").to_numpy()
    y = rng.normal(size=8000) * np.where(noisy, 1.6, 1.0)
    found = mv.discover(y, np.stack([np.zeros(8000), np.ones(8000)], axis=1), data=data, property="mean_variance")
    assert set(found.table["coordinate"]) == {"variance"}
    assert any(jaccard(text, data, noisy) > 0.5 for text in found.groups)


def test_clusters_are_the_unit_of_chance():
    hits = {True: 0, False: 0}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        cluster = np.arange(4000) // 40
        luck = rng.normal(size=100)[cluster]
        data = pd.DataFrame({"shop": rng.normal(size=100)[cluster], "other": rng.normal(size=4000), "day": cluster})
        y = luck * 0.7 + rng.normal(size=4000)
        for given in (True, False):
            found = mv.discover(y, np.zeros(4000), data=data, features=["shop", "other"], cluster="day" if given else None)
            hits[given] += bool(found.groups)
    assert hits[True] <= 4
    assert hits[False] >= 10  # taken as independent, rows that share their luck mislead


def test_lazy_frames_give_the_group_too():
    data, truth = off_world(20_000, 6)
    columns = ["y", "p", "age", "city", "income", "score", "gain"]
    frame = pl.from_pandas(data[columns])
    relation = duckdb.from_arrow(frame.to_arrow())
    for lazy in (frame.lazy(), relation):
        found = mv.discover("y", "p", data=lazy)
        assert any(jaccard(text, data, truth) > 0.7 for text in found.groups), found.summary()
        assert found.searched + found.tested == 20_000
    named = mv.discover("y", "p", data=frame.lazy(), groups=["age >= 50 and city == 'Oslo'"])
    assert named.groups == []


def test_the_engine_tests_as_memory_does():
    """The same rows, searched and tested: sums from a GROUP BY give the p-values that rows give."""
    from multivalid.atoms.frame_columns import checked
    from multivalid.cells.terms import Residual
    from multivalid.discover.confirm import Atoms, confirm
    from multivalid.discover.coordinates import coordinates, identifications
    from multivalid.discover.evidence import from_engine, from_rows, level_edges
    from multivalid.groups.blocks import Holds, evaluate
    from multivalid.groups.engine import condition_expression
    from multivalid.groups.frames import open_frame
    from multivalid.groups.remote import lazy_frame

    rng = np.random.default_rng(9)
    data = mixed_frame(rng, 3000)[["age", "income", "score", "city"]]
    data["y"], data["p"] = rng.normal(size=3000), 0.3 * rng.normal(size=3000)
    data["w"] = rng.exponential(1, 3000)
    texts = ["age >= 50", "city == 'Oslo' and score > 0", "age >= 40 and income < 20000"]
    conditions = [parse(text).condition for text in texts]
    opened = open_frame(data)
    for spec in ("mean", "quantile:0.7"):
        prop = mv.parse(spec)
        told = coordinates(prop, False)
        y, p = data["y"].to_numpy(), data["p"].to_numpy()
        weights = data["w"].to_numpy() / data["w"].mean()
        edges = level_edges(p)
        masks = evaluate([Holds(c) for c in conditions], opened)
        sums, level = from_rows(told, identifications(prop, p, y), [p], y, weights, [edges])
        named = [masks[0]] if spec == "mean" else []
        here = confirm(Atoms(sums, level, masks[1:], named), [told[0].law], [0, 0], [1.0])
        frame, totals = checked(lazy_frame(pl.from_pandas(data).lazy()), "y", "p", "w")
        schema = frame.collect_schema()
        flags = [condition_expression(c, schema, "") for c in conditions]
        atoms = from_engine(told[0], frame, flags[1:], flags[: len(named)], edges, 1.0, totals.weight / totals.rows)
        there = confirm(atoms, [told[0].law], [0, 0], [1.0])
        for one, other in zip(vars(here).values(), vars(there).values(), strict=True):
            assert np.allclose(one, other, rtol=1e-8, equal_nan=True)
    assert isinstance(told[0].law, Residual) is False


def test_reports_and_frames(tmp_path):
    data, _ = off_world(6000, 1)
    data["<b>city</b>"] = data.pop("city")
    found = mv.discover("y", "p", data=data)
    page = found.report(tmp_path / "found.html")
    assert "<b>city" not in page.read_text()
    content = json.loads((tmp_path / "found.report.json").read_text())
    assert content["groups"] == found.groups
    assert list(found.to_frame()["name"]) == list(found.table["name"])
    with pytest.raises(InputError, match="must end in"):
        found.report(tmp_path / "found.txt")
    assert "found on" in repr(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": []}, "names no column"),
        ({"features": ["y", "age"]}, "is the label"),
        ({"features": ["agee"]}, "Did you mean 'age'"),
        ({"features": [3]}, "names of columns"),
        ({"depth": 4}, "depth must be"),
        ({"most": 0}, "most"),
        ({"test_share": 1.5}, "test_share"),
        ({"data": None}, "pass the frame"),
        ({"cluster": "nobody"}, "not a column"),
    ],
)
def test_bad_input_is_told(change, message):
    data, _ = off_world(500, 1)
    with pytest.raises(InputError, match=message):
        mv.discover(data["y"] if "data" in change else "y", data["p"] if "data" in change else "p", **({"data": data} | change))


def test_too_few_rows():
    data, _ = off_world(150, 1)
    with pytest.raises(InputError, match="at least 200"):
        mv.discover("y", "p", data=data)


def test_columns_that_tell_nothing_are_noted():
    data, _ = off_world(3000, 1)
    data["same"], data["id"] = 1, [f"k{i}" for i in range(3000)]
    found = mv.discover("y", "p", data=data, features=["age", "same", "id", "p"])
    assert any("'same' has the same value" in note for note in found.notes)
    assert any("'id' has 1,500 different values" in note for note in found.notes)
    lists = data.assign(lists=[[1, 2]] * 3000)
    assert any("'lists' has type" in note for note in mv.discover("y", "p", data=pl.from_pandas(lists)).notes)
    with pytest.raises(InputError, match="'lists' has type"):
        mv.discover("y", "p", data=pl.from_pandas(lists), features=["lists", "age"])


@pytest.mark.parametrize("words", [lambda y: y, lambda y: y == 1, lambda y: np.where(y == 1, ">50K", "<=50K")])
def test_a_column_that_says_the_label_is_refused_or_left_out(words):
    rng = np.random.default_rng(3)
    y = (rng.random(3000) < 0.02).astype(float)  # rare: the first rows may all be alike
    y[:250] = 0.0
    data = pd.DataFrame({"copy": words(y), "x": rng.normal(size=3000), "same": y[::-1] * 0})
    for call in (mv.discover, lambda *given, **more: mv.multicalibrate(*given, groups=[], **more)):
        with pytest.raises(InputError, match="column 'copy' says the label of every row"):
            call(y, np.full(3000, 0.02), data=data, features=["x", "copy"])
    found = mv.discover(y, np.full(3000, 0.02), data=data)
    assert any("'copy' says the label of every row: left out" in note for note in found.notes)
    assert any("'same' has the same value" in note for note in found.notes)
    data["copy"] = np.where(rng.random(3000) < 0.001, words(1 - y), words(y))  # almost the label is not the label
    assert "copy" in " ".join(mv.discover(y, np.full(3000, 0.02), data=data).groups)


def test_an_interval_is_told_by_one_end_where_the_other_adds_nothing():
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"priors": rng.poisson(2.5, 20_000)})
    y = rng.random(20_000) < np.where(data["priors"] >= 5, 0.6, 0.4)
    assert mv.discover(y, np.full(20_000, 0.4), data=data).groups == ["priors >= 5"]
    middle = rng.random(20_000) < np.where(data["priors"].between(2, 3), 0.6, 0.4)
    (found,) = mv.discover(middle, np.full(20_000, 0.4), data=data).groups
    assert "and" in found  # both ends matter here


def test_labels_are_events_by_the_rule_of_audits():
    """All equal, they are events where predictions could be chances; of a lazy frame all labels count, not only those searched."""
    from multivalid.discover.engine_halves import halves_in_engine
    from multivalid.discover.halves import Wanted, halves_in_memory
    from multivalid.groups.remote import lazy_frame

    wanted = Wanted("y", "p", None, [], mv.Mean(), None, None, 0.5, 0)
    rng = np.random.default_rng(2)
    p, x = rng.random(400), rng.random(400)
    for y, said, events in ((0 * p, p, True), (0 * p, 3 * p, False), (p < x, 3 * p, True), (p, p, False)):
        data = pl.DataFrame({"y": np.asarray(y, dtype=float), "p": said, "x": x})
        assert halves_in_memory(wanted, data).events == events
        assert halves_in_engine(wanted, lazy_frame(data.lazy())).events == events
