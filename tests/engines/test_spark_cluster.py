"""The same answers from a cluster of more than one worker process as from memory; and what such a job moves between them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import multivalid as mv
from tests.engines.conftest import rows

GROUPS = ["site", mv.bins("age", 4)]
GRID = mv.Grid(range(0, 100, 4))


def test_spark_cluster_of_two_workers_gives_the_answers_of_memory() -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed: make test-spark installs it and runs this")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed, Spark cannot start")
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.engines.cluster_job"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])

    given = rows()
    model = mv.multicalibrate("y", "p", groups=GROUPS, data=given, mode="paper", alpha=0.05, grid=GRID)
    assert told["workers"] == 2
    assert told["error"] == mv.audit("y", "p", groups=GROUPS, data=given, grid=GRID).error
    assert told["patches"] == [list(patch) for patch in model.patches]
    assert told["total"] == told["total by SQL"] == model.predict("p", data=given).sum()
    assert told["broadcast"]
    assert not told["shuffled"]
