"""What a person at a terminal sees while a stream runs: a bar that fills, a spinner, and nothing of either in a pipe."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pty = pytest.importorskip("pty")
ROUNDS = 10_000


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path / "s.csv"
    rows = np.stack([rng.random(ROUNDS) < 0.5, rng.random(ROUNDS), rng.integers(0, 2, ROUNDS)], axis=1)
    np.savetxt(path, rows, delimiter=",", header="y,p,g", comments="", fmt="%g")
    return path


def at_a_terminal(*words: str) -> tuple[str, str]:
    """Standard output, and what standard error shows on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "multivalid.cli.main", *words], stdout=subprocess.PIPE, stderr=theirs, stdin=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"}, text=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the other end was closed
                break
            if not part:
                break
            shown += part
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(ours)
    assert process.returncode == 0, shown.decode()
    return out, shown.decode()


def test_the_bar_of_a_replay_fills(stream: Path) -> None:
    out, shown = at_a_terminal("online", "replay", str(stream), "--label", "y", "-p", "p", "--groups", "g == 1")
    bars = [(len(full), len(rest), int(done.replace(",", ""))) for full, rest, done in
            re.findall(r"\r\[(#*)(\.*)\] ([\d,]+)/10,000 rounds, error \d\.\d\de", shown)]  # fmt: skip
    assert [done for *_, done in bars] == [4096, 8192, 10_000]
    assert all(full + rest == 30 and full == 30 * done // ROUNDS for full, rest, done in bars)
    after = shown[shown.index("\r[#") :]
    assert "\x1b" not in after  # no spinner writes over it
    assert "10,000 rounds" in out


def test_a_monitor_shows_that_it_is_at_work(stream: Path) -> None:
    out, shown = at_a_terminal("monitor", str(stream), "--label", "y", "--prediction", "p", "--property", "quantile:0.5")
    assert "watching …" in shown
    assert shown.rstrip().endswith("\x1b[2K")  # and takes it away again
    assert "monitor of" in out


def test_nothing_of_it_in_a_pipe(stream: Path) -> None:
    words = [sys.executable, "-m", "multivalid.cli.main", "online", "replay", str(stream), "--label", "y"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr == ""
