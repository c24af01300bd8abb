"""After trees: what groups still ask for is put right at the end, and what was confirmed is what is saved."""

from __future__ import annotations

import json
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import multivalid as mv
from multivalid.errors import ModelFileError
from multivalid.practical.from_columns import choice
from multivalid.practical.from_columns.choice import Chosen
from multivalid.practical.from_columns.part import Part
from multivalid.practical.from_columns.problem import Problem
from multivalid.practical.from_columns.ways import Ways
from multivalid.practical.predictor import LinkPredictor
from multivalid.practical.shift_round import ShiftRound


def world(rows: int = 5000, seed: int = 0) -> pd.DataFrame:
    """Events whose log-odds bend with what columns say; predictions are tied, rows weighted."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame({"a": rng.normal(size=rows).round(1), "b": rng.integers(0, 9, rows), "c": rng.choice(list("uvwx"), rows)})
    x = rng.normal(size=rows).round(1)
    z = x + np.exp(0.7 * (data["a"] > 0.3) + 0.6 * (data["b"] > 5) + 0.5 * (data["c"] == "u")) - 1.5
    data["p"], data["y"] = 1 / (1 + np.exp(-x)), (rng.random(rows) < 1 / (1 + np.exp(-z))).astype(float)
    data["w"] = rng.choice([0.5, 1.0, 3.0], rows)
    return data


def fit(data: pd.DataFrame, **options: object) -> mv.Calibration:
    return mv.multicalibrate("y", "p", groups=["c"], data=data, features=["a", "b", "c"], sample_weight="w", **options)


@pytest.fixture(scope="module")
def everything():
    """A fit whose plan has named groups, trees, a second start and shifts of cells, and what the plan itself makes of the rows."""
    data, seen = world(), {}

    def choose(problem: Problem, blocks: None, seed: int) -> Chosen:
        everyone = np.arange(len(problem.every))
        part = Part(problem, everyone, everyone)
        plan = part.grow_trees(part.named("group shifts"), 7)
        plan = replace(plan, start=replace(plan.start, rounds=[ShiftRound(np.array([0.2]), [(1, 0, 0.4), (0, 1, -0.2)])]))
        last = part.touch_up(plan)[0]
        moved = last.model.moved(np.linspace(-0.3, 0.2, last.model.flat.values.size))
        rounds = [ShiftRound(np.array([-0.5, 0.4]), [(0, 1, 0.2), (2, 0, -0.3)]), ShiftRound(np.array([0.1]), [(1, 1, 0.15)])]
        plan = replace(plan, last=replace(last, model=moved, rounds=rounds))
        seen["final"] = part.predict_held_out(plan)
        return Chosen(plan, [])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("multivalid.practical.from_columns.fit.choose", choose)
        return fit(data), data, seen["final"]


def test_what_a_plan_predicts_is_what_the_saved_model_predicts(everything, tmp_path):
    made, data, final = everything
    assert made.predictor.forest is not None
    assert made.predictor.last is not None
    assert len(made.predictor.patches) == 5
    assert np.abs(made.predict("p", data=data) - final).max() < 1e-12
    made.save(tmp_path / "model.json")
    again = mv.load(tmp_path / "model.json")
    assert again.to_json() == made.to_json()
    assert np.array_equal(again.predict("p", data=data), made.predict("p", data=data))
    row = data.drop(columns=["y", "w"]).iloc[7].to_dict()
    assert again.predict_one(row["p"], row) == pytest.approx(final[7], abs=1e-12)


def test_the_certificate_is_of_those_predictions(everything):
    made, data, final = everything
    grid = made.grids[0]
    assert np.array_equal(made.levels, grid.round(final))
    audit = mv.audit("y", final, groups=["c"], data=data, sample_weight="w", grid=grid)
    assert made.certificate.error == pytest.approx(audit.error, rel=1e-9)


def test_a_second_start_predicts_alike_on_every_engine(everything):
    made, data, final = everything
    frame = pl.from_pandas(data).with_row_index("row")
    lazily = made.predict("p", data=frame.lazy()).collect()["calibrated"].to_numpy()
    assert np.abs(lazily - final).max() < 1e-9
    relation = made.predict("p", data=duckdb.from_arrow(frame.to_arrow())).order("row").pl()["calibrated"].to_numpy()
    assert np.abs(relation - final).max() < 1e-9


CHANGES = [
    lambda d: d.update(model=None),
    lambda d: d["last"]["model"].update(shifts=[0.0]),
    lambda d: d["last"].pop("rounds"),
    lambda d: d.update(lasts=1),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_damaged_second_start_is_refused(everything, change):
    made, _, _ = everything
    content = json.loads(json.dumps(made.predictor.to_json()))
    assert LinkPredictor.from_json(content, len(made.groups)).to_json() == content
    change(content)
    if content.get("model", 1) is None:
        del content["forest"]
    with pytest.raises(ModelFileError):
        LinkPredictor.from_json(content, len(made.groups))


def test_groups_that_trees_leave_off_are_put_right(monkeypatch):
    """Few trees on top of groups that were right before them: the groups are off after them, and right again at the end."""
    monkeypatch.setattr("multivalid.practical.boost.MOST_TREES", 6)
    monkeypatch.setattr(Ways, "beyond", lambda self, named: iter([self.trees(named, "trees")]))
    data = world(24_000, 1)
    data["c"] = np.where(data["a"] > 1, "u", data["c"])  # trees on `a` move a group
    flags = pd.get_dummies(data["c"]).to_numpy(dtype=float)

    def off(made: mv.Calibration) -> float:
        v = (data["w"] * (made.predict("p", data=data) - data["y"])).to_numpy()
        return float(np.abs(v @ flags).max() / data["w"].sum())

    ended = fit(data)
    assert "after what was found" in ended.certificate.note
    assert ended.predictor.last is not None
    monkeypatch.setattr(choice, "touch_up", lambda ways, way: (way, []))
    as_it_was = fit(data)
    assert off(ended) < 0.6 * off(as_it_was)
    assert (as_it_was.certificate.status, ended.certificate.status) == ("blocked", "converged")


def test_single_cells_shifted_before_trees_are_shifted_there_in_the_saved_model(monkeypatch):
    """A cell of a named group is off by itself: trees are fitted on top of its shift, and the model keeps that order."""
    rng = np.random.default_rng(3)
    rows = 30_000
    data = pd.DataFrame({"a": rng.normal(size=rows), "g": rng.choice(["in", "out"], rows), "p": rng.uniform(0.05, 0.95, rows)})
    cell = (data["g"] == "in") & data["p"].between(0.4, 0.5)
    truth = np.clip(data["p"] + np.where(cell, 0.25, 0.0) + np.where(data["a"] > 0.8, 0.1, 0.0), 0.01, 0.99)
    data["y"] = (rng.random(rows) < truth).astype(float)
    seen = {}

    def choose(problem: Problem, blocks: None, seed: int) -> Chosen:
        made = choice.choose(problem, blocks, seed)
        everyone = np.arange(len(problem.every))
        seen["final"] = Part(problem, everyone, everyone).predict_held_out(made.plan)
        return made

    monkeypatch.setattr("multivalid.practical.from_columns.fit.choose", choose)
    monkeypatch.setattr(Ways, "rules", lambda self, trees: trees)  # trees alone
    made = mv.multicalibrate("y", "p", groups=["g"], data=data, features=["a", "g"])
    assert made.predictor.rounds
    assert made.predictor.forest is not None
    assert np.abs(made.predict("p", data=data) - seen["final"]).max() < 1e-12


def test_trees_without_groups_are_left_as_they_are(monkeypatch):
    """A curve along predictions that trees were fitted to would follow the noise of the rows."""
    monkeypatch.setattr(Ways, "beyond", lambda self, named: iter([self.trees(named, "trees")]))
    made = mv.multicalibrate("y", "p", groups=[], data=world(3000, 4), features=["a", "b", "c"])
    assert made.predictor.forest is not None
    assert made.predictor.last is None
    assert "after what was found" not in made.certificate.note
