"""A whole job on a Spark cluster of two worker processes, run as a program of its own: a session can have one master only.

Prints what the test beside it compares: answers, how many workers took part, and what the plan of the predictions moves between them.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import multivalid as mv
from tests.engines.conftest import rows

GROUPS = ["site", mv.bins("age", 4)]
MASTER = "local-cluster[2,1,1024]"  # two workers, each a Java process with one core and 1 GB


def session_of(master: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config("spark.executor.memory", "600m")
    session = builder.config("spark.executorEnv.PYTHONPATH", os.pathsep.join(sys.path)).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def main() -> None:
    session = session_of(MASTER)
    given = rows()
    made = session.createDataFrame(list(given.itertuples(index=False, name=None)), schema=list(given.columns))
    frame = made.repartition(6).cache()
    workers = set(session.sparkContext.parallelize(range(40), 8).map(lambda _: os.getppid()).collect())
    audit = mv.audit("y", "p", groups=GROUPS, data=frame, grid=mv.Grid(range(0, 100, 4)))
    model = mv.multicalibrate("y", "p", groups=GROUPS, data=frame, mode="paper", alpha=0.05, grid=mv.Grid(range(0, 100, 4)))
    better = model.predict("p", data=frame, output="better")
    plan = better._jdf.queryExecution().executedPlan().toString()
    frame.createOrReplaceTempView("scores")
    by_text = session.sql(model.to_sql("scores", "p", dialect="spark", output="better"))
    print(
        json.dumps(
            {
                "workers": len(workers),
                "error": audit.error,
                "patches": [list(patch) for patch in model.patches],
                "total": sum(row["better"] for row in better.select("better").collect()),
                "total by SQL": sum(row["better"] for row in by_text.select("better").collect()),
                "broadcast": "Broadcast" in plan,
                "shuffled": "Exchange hashpartitioning" in plan.split("InMemoryTableScan")[0],
            }
        )
    )
    session.stop()


if __name__ == "__main__":
    main()
