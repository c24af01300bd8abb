"""On a real Spark session: rows stay on the cluster, atoms come to the driver."""

from __future__ import annotations

from typing import Any

import pytest

import multivalid as mv
from tests.engines.conftest import rows

GROUPS = ["site", mv.bins("age", 4)]


@pytest.fixture
def frame(spark: Any) -> Any:
    given = rows()
    return spark.createDataFrame(list(given.itertuples(index=False, name=None)), schema=list(given.columns))


def test_predictions_stay_lazy_and_the_table_is_broadcast(frame: Any) -> None:
    made = mv.multicalibrate("y", "p", groups=GROUPS, data=frame, mode="paper", alpha=0.05, grid=mv.Grid(range(0, 100, 4)))
    better = made.predict("p", data=frame, output="better")
    assert type(better) is type(frame)
    assert better.columns == [*frame.columns, "better"]
    plan = better._jdf.queryExecution().executedPlan().toString()
    assert "Broadcast" in plan
    assert "Exchange hashpartitioning" not in plan  # the rows themselves are not shuffled


def test_a_saved_model_scores_on_spark(frame: Any, tmp_path: Any) -> None:
    made = mv.multicalibrate("y", "p", groups=GROUPS, data=frame, property="quantile:0.9")
    made.save(tmp_path / "m.json")
    again = mv.load(tmp_path / "m.json").predict("p", data=frame, output="better")
    first = [row["better"] for row in again.collect()]
    assert first == [row["better"] for row in made.predict("p", data=frame, output="better").collect()]
