"""What a database makes of a model is what the model predicts, row for row; and so is one row at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.evaluators import RowMembers
from multivalid.groups.membership import Membership
from multivalid.sql.statement import statement

from . import models

MAKERS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "log-odds": lambda rng, count: models.link_predictor(rng, count, "logit"),
    "log-odds, stretched": lambda rng, count: models.link_predictor(rng, count, "logit", stretched=True),
    "logarithm": lambda rng, count: models.link_predictor(rng, count, "log"),
    "own units": lambda rng, count: models.link_predictor(rng, count, "identity"),
    "levels": models.level_predictor,
    "pair, levels": models.pair_level_predictor,
    "pair, shortfall": lambda rng, count: models.pair_link_predictor(rng, count, square=False),
    "pair, deviation": lambda rng, count: models.pair_link_predictor(rng, count, square=True),
}


def drawn(name: str, n: int, seed: int) -> tuple[pd.DataFrame, mv.FittedGroups, Any, np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    data = models.rows(rng, n)
    groups = models.groups(data)
    predictor = MAKERS[name](rng, len(groups) - 1)
    columns = ["p", "q"] if "pair" in name else ["p"]
    given = data[columns].to_numpy()
    members = Membership.from_masks(groups.masks(data), n)
    expected = predictor.predict(given if len(columns) > 1 else given[:, 0], members)
    return data, groups, predictor, expected.reshape(n, -1), columns


def plain(value: Any) -> Any:
    """A value as a database is given it; missing values of every kind are null."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", MAKERS)
def test_databases_predict_the_same(database: Any, name: str, seed: int) -> None:
    data, groups, predictor, expected, columns = drawn(name, 300, seed)
    table = {column: [plain(value) for value in data[column]] for column in models.KINDS}
    database.load("scores", table, models.KINDS)
    outputs = ["calibrated", "second"][: len(columns)]
    answer = database.query(statement(predictor, groups, "scores", columns, outputs, database.dialect))
    by_row = {int(line[0]): [float(value) for value in line[len(models.KINDS) :]] for line in answer}
    found = np.array([by_row[row] for row in range(len(data))])
    assert np.abs(found - expected).max() <= 1e-9 * max(1.0, np.abs(expected).max())


def test_many_hostile_texts(database: Any) -> None:
    """More values than a CASE lists: they are found by a join or as an enumeration; unknown and missing texts are in no group."""
    rng = np.random.default_rng(3)
    places = [*models.PLACES, "NULL", "null", " s", "s ", "'); DROP TABLE scores; --", "S", "s", "e\u0301", "\u00e9", "🙂"]
    data = pd.DataFrame({"row": range(400), "place": rng.choice(places, 400), "p": rng.random(400)})
    groups = mv.Groups(["place", mv.cross("place", mv.bins("p", 2))]).fit(data[data["place"] != "S"])
    predictor = models.link_predictor(rng, len(groups) - 1, "logit")
    data.loc[::17, "place"] = None
    expected = predictor.predict(data["p"].to_numpy(), Membership.from_masks(groups.masks(data), 400))
    kinds = {"row": "int", "place": "text", "p": "float"}
    database.load("scores", {name: [plain(value) for value in data[name]] for name in kinds}, kinds)
    answer = database.query(statement(predictor, groups, "scores", ["p"], ["calibrated"], database.dialect))
    found = {int(line[0]): float(line[-1]) for line in answer}
    np.testing.assert_allclose([found[row] for row in range(400)], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", MAKERS)
def test_one_row_is_the_same_to_the_last_bit(name: str, seed: int) -> None:
    data, groups, predictor, expected, columns = drawn(name, 400, seed)
    records = [{column: plain(value) for column, value in record.items()} for record in data.to_dict("records")]
    found = [
        predictor.predict_row([float(record[c]) for c in columns], RowMembers(groups.numbers_of(record), record))
        for record in records
    ]
    np.testing.assert_array_equal(np.array(found), expected)


def test_a_missing_prediction_stays_missing(database: Any) -> None:
    data, groups, predictor, _, _ = drawn("log-odds", 20, 0)
    table = {column: [plain(value) for value in data[column]] for column in models.KINDS}
    table["p"][3] = None
    database.load("scores", table, models.KINDS)
    answer = database.query(statement(predictor, groups, "scores", ["p"], ["calibrated"], database.dialect))
    assert sorted(int(line[0]) for line in answer if line[-1] is None) == [3]


def test_an_aggregate_over_the_statement_is_planned_at_once() -> None:
    """DuckDB pushes aggregates below joins; with a join in the statement the plan grew from stage to stage without end."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame(
        {"site": rng.choice([f"s{k}" for k in range(24)], 500), "age": rng.integers(0, 90, 500), "p": rng.random(500)}
    )
    groups = mv.Groups(["site", mv.bins("age", 10), mv.cross("site", mv.bins("age", 2))]).fit(data)
    predictor = models.link_predictor(rng, len(groups) - 1, "logit")
    text = statement(predictor, groups, "scores", ["p"], ["calibrated"], "duckdb")
    connection = duckdb.connect()
    connection.register("scores", data)
    (total,) = connection.execute(f"SELECT sum(calibrated) FROM ({text})").fetchone()
    expected = predictor.predict(data["p"].to_numpy(), Membership.from_masks(groups.masks(data), 500))
    assert total == pytest.approx(expected.sum(), rel=1e-12)


def test_enumerations_are_compared_as_text() -> None:
    """An enumeration of DuckDB has an order of its own, which is not that of its texts."""
    rng = np.random.default_rng(1)
    names = [f"s{k}" for k in range(20)]
    data = pd.DataFrame({"site": rng.choice(names, 400), "p": rng.random(400)})
    groups = mv.Groups(["site"]).fit(data)
    predictor = models.link_predictor(rng, len(groups) - 1, "logit")
    text = statement(predictor, groups, "scores", ["p"], ["calibrated"], "duckdb")
    connection = duckdb.connect()
    connection.register("given", data)
    listed = ", ".join(f"'{name}'" for name in reversed([*names, "other"]))
    connection.execute(f"CREATE TYPE places AS ENUM ({listed})")
    connection.execute("CREATE TABLE scores AS SELECT site::places AS site, p FROM given")
    found = [line[-1] for line in connection.execute(text).fetchall()]
    expected = predictor.predict(data["p"].to_numpy(), Membership.from_masks(groups.masks(data), 400))
    np.testing.assert_allclose(sorted(found), np.sort(expected), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres", "spark"])
def test_text_grows_with_the_model(dialect: str) -> None:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"site": [f"s{k}" for k in range(300)] * 2})
    groups = mv.Groups(["site"]).fit(data)
    text = statement(models.link_predictor(rng, 300, "logit"), groups, "t", ["p"], ["calibrated"], dialect)
    assert len(text) < 120_000


class TestFitted:
    data = pd.DataFrame({"site": ["a", "a", "b", "b"] * 100, "p": [0.5] * 400, "y": [0.0, 0.0, 1.0, 1.0] * 100})

    def fitted(self) -> mv.Calibration:
        return mv.multicalibrate("y", "p", groups=["site"], data=self.data, mode="theorem", m=10)

    def test_the_whole_way(self, database: Any) -> None:
        model = self.fitted()
        database.load("t", {name: self.data[name].tolist() for name in self.data}, {"site": "text", "p": "float", "y": "float"})
        answer = database.query(model.to_sql("t", "p", dialect=database.dialect))
        expected = dict(zip(self.data["site"], model.predict("p", data=self.data), strict=True))
        assert len(answer) == 400
        assert {line[0]: float(line[-1]) for line in answer} == pytest.approx(expected)

    def test_bad_arguments_are_named(self) -> None:
        model = self.fitted()
        by_array = mv.multicalibrate([0, 1] * 20, [0.5] * 40, groups=[np.array([True, False] * 20)], mode="theorem")
        for call, message in [
            (lambda: model.to_sql("t", "p", dialect="oracle"), "dialect must be one of duckdb, sqlite, postgres, spark"),
            (lambda: model.to_sql("", "p"), "table must be"),
            (lambda: model.to_sql("t", ["p", "q"]), "prediction must name 1"),
            (lambda: model.to_sql("t", "p", output=["a", "b"]), "output must name 1"),
            (lambda: model.to_sql("t\x00", "p"), "zero byte"),
            (lambda: model.predict_one("a", {"site": "a"}), "prediction must be a number"),
            (lambda: model.predict_one(float("nan"), {"site": "a"}), "prediction must be finite"),
            (lambda: model.predict_one([0.5, 0.5], {"site": "a"}), "prediction must be a number"),
            (lambda: model.predict_one(0.5, {"place": "a"}), "no column 'site' in the row"),
            (lambda: model.predict_one(0.5, [True]), "a row must be a mapping"),
            (lambda: by_array.to_sql("t", "p"), "boolean arrays"),
        ]:
            with pytest.raises(InputError, match=message):
                call()

    def test_one_row(self) -> None:
        model = self.fitted()
        assert [model.predict_one(0.5, {"site": s}) for s in ("a", "b", None)] == pytest.approx(
            model.predict([0.5] * 3, data=pd.DataFrame({"site": ["a", "b", None]})).tolist()
        )


@pytest.fixture(scope="module")
def fitted() -> tuple[mv.Calibration, pd.DataFrame]:
    rng = np.random.default_rng(5)
    n = 12_000
    data = pd.DataFrame({"age": rng.integers(18, 90, n), "x": rng.normal(size=n), "site": rng.choice(list("abcdefgh"), n)})
    data.loc[rng.random(n) < 0.1, "x"] = np.nan
    off = 1.5 * np.sin(2 * data["x"].fillna(0.5)) * (data["age"] - 54) / 18 + 0.8 * data["site"].isin(["a", "c"])
    z = rng.normal(size=n)
    data["p"], data["y"] = 1 / (1 + np.exp(-z)), (rng.random(n) < 1 / (1 + np.exp(-z - off))).astype(float)
    model = mv.multicalibrate("y", "p", groups=["site"], data=data, features=["age", "x", "site"])
    assert model.predictor.forest is not None
    return model, data


class TestFoundTrees:
    """A model with trees over columns that have holes, categories and whole numbers."""

    def test_one_row(self, fitted: tuple[mv.Calibration, pd.DataFrame]) -> None:
        model, data = fitted
        expected = model.predict("p", data=data.head(500))
        found = [model.predict_one(record["p"], record) for record in data.head(500).to_dict("records")]
        np.testing.assert_array_equal(found, expected)

    def test_databases(self, database: Any, fitted: tuple[mv.Calibration, pd.DataFrame]) -> None:
        model, data = fitted
        part = data.head(400).assign(row=range(400))
        kinds = {"row": "int", "age": "int", "x": "float", "site": "text", "p": "float"}
        database.load("t", {name: [plain(value) for value in part[name]] for name in kinds}, kinds)
        answer = database.query(model.to_sql("t", "p", dialect=database.dialect))
        found = {int(line[0]): float(line[-1]) for line in answer}
        np.testing.assert_allclose([found[k] for k in range(400)], model.predict("p", data=part), rtol=0, atol=1e-9)
