"""What Spark SQL makes of a model is what the model predicts, row for row: the models and rows of the other databases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from multivalid.sql.statement import statement
from tests.sql import models
from tests.sql.test_statement import MAKERS, drawn, plain

TYPES = {"int": "bigint", "float": "double", "text": "string", "bool": "boolean"}


def enter(spark: Any, data: pd.DataFrame, kinds: dict[str, str]) -> None:
    """Rows as the view `scores`."""
    from pyspark.sql import types

    named = {"bigint": types.LongType(), "double": types.DoubleType(), "string": types.StringType(), "boolean": types.BooleanType()}
    schema = types.StructType([types.StructField(name, named[TYPES[kind]]) for name, kind in kinds.items()])
    columns = [[plain(value) for value in data[name]] for name in kinds]
    spark.createDataFrame(list(zip(*columns, strict=True)), schema=schema).createOrReplaceTempView("scores")


# Spark compiles the statement of a pair for a minute: one draw of each.
CASES = [(name, seed) for name in MAKERS for seed in ((0,) if "pair" in name else (0, 1))]


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_spark_predicts_the_same(spark: Any, name: str, seed: int) -> None:
    data, groups, predictor, expected, columns = drawn(name, 300, seed)
    enter(spark, data, models.KINDS)
    outputs = ["calibrated", "second"][: len(columns)]
    answer = spark.sql(statement(predictor, groups, "scores", columns, outputs, "spark")).collect()
    by_row = {int(line[0]): [float(value) for value in line[len(models.KINDS) :]] for line in answer}
    found = np.array([by_row[row] for row in range(len(data))])
    assert np.abs(found - expected).max() <= 1e-9 * max(1.0, np.abs(expected).max())


def test_spark_keeps_missing_predictions_missing(spark: Any) -> None:
    data, groups, predictor, _, _ = drawn("log-odds", 20, 0)
    data.loc[3, "p"] = np.nan
    enter(spark, data, models.KINDS)
    answer = spark.sql(statement(predictor, groups, "scores", ["p"], ["calibrated"], "spark")).collect()
    assert sorted(int(line[0]) for line in answer if line[-1] is None) == [3]


def test_spark_runs_found_trees(spark: Any) -> None:
    rng = np.random.default_rng(5)
    n = 12_000
    data = pd.DataFrame({"age": rng.integers(18, 90, n), "x": rng.normal(size=n), "site": rng.choice(list("abcdefgh"), n)})
    data.loc[rng.random(n) < 0.1, "x"] = np.nan
    off = 1.5 * np.sin(2 * data["x"].fillna(0.5)) * (data["age"] - 54) / 18 + 0.8 * data["site"].isin(["a", "c"])
    z = rng.normal(size=n)
    data["p"], data["y"] = 1 / (1 + np.exp(-z)), (rng.random(n) < 1 / (1 + np.exp(-z - off))).astype(float)
    model = mv.multicalibrate("y", "p", groups=["site"], data=data, features=["age", "x", "site"])
    assert model.predictor.forest is not None
    part = data.head(200).assign(row=range(200))
    enter(spark, part, {"row": "int", "age": "int", "x": "float", "site": "text", "p": "float"})
    found = {line["row"]: line["calibrated"] for line in spark.sql(model.to_sql("scores", "p", dialect="spark")).collect()}
    np.testing.assert_allclose([found[k] for k in range(200)], model.predict("p", data=part), rtol=0, atol=1e-9)
