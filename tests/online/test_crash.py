"""Killed at any moment: every acknowledged round is there, none twice, and the state is that of a replay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from multivalid.online import OnlineMulticalibrator

from .streams import same

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


@pytest.mark.parametrize(("mode", "kills"), [("at once", 30), ("later", 20)])
def test_kill(tmp_path: Path, mode: str, kills: int) -> None:
    from . import crash_child

    path = tmp_path / "s.db"
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, crash_child.__file__, str(path), mode, str(kills), "1"],
        capture_output=True, text=True, check=True, env=environment, timeout=120,
    )  # fmt: skip
    acknowledged = json.loads(done.stdout)
    assert len(acknowledged) > 3 * kills
    assert len(set(acknowledged)) == len(acknowledged)

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
