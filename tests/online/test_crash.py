"""Killed at any moment: every acknowledged round is there, none twice, and the state is that of a replay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import multivalid as mv
from multivalid.online import OnlineMulticalibrator

from .streams import same

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


def killed(folder: Path, mode: str, kills: int, seed: int = 1) -> list[int]:
    """Numbers of the rounds that writers had acknowledged before they were killed."""
    from . import crash_child

    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, crash_child.__file__, str(folder / "s.db"), mode, str(kills), str(seed)],
        capture_output=True, text=True, check=True, env=environment, timeout=300,
    )  # fmt: skip
    acknowledged: list[int] = json.loads(done.stdout)
    assert len(acknowledged) >= kills // 2
    assert len(set(acknowledged)) == len(acknowledged)
    return acknowledged


@pytest.mark.parametrize(("mode", "kills"), [("at once", 30), ("later", 20)])
def test_killed_learners_lose_nothing(tmp_path: Path, mode: str, kills: int) -> None:
    from . import crash_child

    path, acknowledged = tmp_path / "s.db", killed(tmp_path, mode, kills)
    with OnlineMulticalibrator.open(path) as kept:
        history = list(kept.history())
        told = {number: order for number, _, _, order, _, _ in history if order is not None}
        assert set(acknowledged) <= set(told)
        assert len(told) == kept.rounds
        assert sorted(told.values()) == list(range(1, kept.rounds + 1))
        # At most one round per kill may have been kept without its acknowledgement having been read.
        assert kept.rounds - len(acknowledged) <= kills
        for number, _, _, order, y, _ in history:
            assert order is None or y == crash_child.LABELS[number]

        fresh = OnlineMulticalibrator.open(tmp_path / "fresh.db", "quantile:0.9", 7, m=10, seed=3)
        if mode == "at once":  # nothing of the interruptions may show: a run without kills gives the same predictions
            for number, _, play, *_ in history:
                assert fresh.predict_one(crash_child.ROWS[number]) == json.loads(play)[1][0]
                fresh.learn_one(crash_child.ROWS[number], float(crash_child.LABELS[number]))
            assert same(fresh, kept)
        else:
            kept._snapshot(kept._connection())  # then once more from nothing but the rounds
            before = kept._engine.state()
            kept._connection().execute("DELETE FROM meta WHERE key = 'snapshot'")
            kept._release()
            with OnlineMulticalibrator.open(path) as replayed:
                assert replayed._engine.state() == before
        fresh.close()


@pytest.mark.parametrize("kills", [50])
def test_killed_monitors_lose_nothing(tmp_path: Path, kills: int) -> None:
    from . import crash_child

    acknowledged = killed(tmp_path, "monitor", kills)
    plain = mv.Monitor("mean", 7, window=50)
    with mv.Monitor.open(tmp_path / "s.db") as kept:
        assert len(acknowledged) <= kept.rounds <= len(acknowledged) + kills
        rows, labels = crash_child.ROWS[: kept.rounds], crash_child.LABELS[: kept.rounds]
        plain.update_many(rows, labels, labels > 0.6)
        assert kept.to_json() == plain.to_json()
