"""One writer whatever the file is called, and content that no learner or monitor can have written is refused."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import multivalid as mv
from multivalid.errors import ModelFileError
from multivalid.online import OnlineMulticalibrator, StorageError, copy_state

OPEN = """
import sys, multivalid as mv
from multivalid.online import StorageError
try:
    getattr(mv, sys.argv[1]).open(sys.argv[2])
except StorageError as error:
    sys.exit(str(error))
"""


def other_process(kind: str, path: Path) -> str:
    done = subprocess.run([sys.executable, "-c", OPEN, kind, str(path)], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("kind", ["OnlineMulticalibrator", "Monitor"])
def test_links_and_removed_files_let_nobody_in(tmp_path: Path, kind: str) -> None:
    path, link = tmp_path / "s.db", tmp_path / "link.db"
    link.symlink_to(path)
    first = getattr(mv, kind).open(link, "mean", 1)
    assert path.exists()
    for side in tmp_path.iterdir():  # nothing beside the file holds the lock: there is no lock file to remove
        if "lock" in side.name:
            side.unlink()
    for name in (path, link):
        with pytest.raises(StorageError, match="another writer"):
            getattr(mv, kind).open(name)
        assert "another writer" in other_process(kind, name)
    copy_state(link, tmp_path / "copy.db")  # and copying did not let go of the lock
    assert "another writer" in other_process(kind, path)
    first.close()
    assert other_process(kind, path) == ""
    with getattr(mv, kind).open(link) as again:
        assert again.rounds == 0


@pytest.mark.skipif(not hasattr(os, "link"), reason="needs hard links")
def test_a_second_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    mv.Monitor.open(path, "mean", 1).close()
    os.link(path, tmp_path / "second.db")
    with pytest.raises(StorageError, match="several names"):
        mv.Monitor.open(path)


def test_a_file_that_was_replaced_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    monitor = mv.Monitor.open(path, "mean", 1)
    monitor.update([True], 0.5, 1)
    path.rename(tmp_path / "elsewhere.db")
    with pytest.raises(StorageError, match="removed or replaced"):
        monitor.update([True], 0.5, 1)
    assert monitor.rounds == 1
    (tmp_path / "elsewhere.db").rename(path)
    monitor.update([True], 0.5, 1)
    monitor.close()


def change(path: Path, statement: str, *values: Any) -> None:
    db = sqlite3.connect(path)
    with db:
        db.execute(statement, values)
    db.close()


@pytest.mark.parametrize("snapshot", [True, False])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE rounds SET weight = 2.0 WHERE id = 3",
        "UPDATE rounds SET weight = -0.5 WHERE id = 3",
        "UPDATE rounds SET weight = NULL WHERE id = 3",
        "UPDATE rounds SET y = NULL WHERE id = 3",
        "UPDATE rounds SET y = 9e999 WHERE id = 3",
        "UPDATE rounds SET y = 'much' WHERE id = 3",
        "UPDATE rounds SET told = NULL WHERE id = 3",
        "UPDATE rounds SET told = 99 WHERE id = 3",
        "UPDATE rounds SET forgotten = 1 WHERE id = 3",
        "UPDATE rounds SET forgotten = 7 WHERE id = 3",
        "UPDATE rounds SET draws = -1 WHERE id = 3",
        "UPDATE rounds SET groups = x'ffff' WHERE id = 3",
        "UPDATE rounds SET groups = x'80' WHERE id = 3",
        "UPDATE rounds SET play = '[]' WHERE id = 3",
        "UPDATE rounds SET play = 'x' WHERE id = 3",
        "UPDATE rounds SET play = replace(play, '[0', '[77') WHERE id = 3",
        "DELETE FROM rounds WHERE id = 3",
        "DELETE FROM rounds WHERE id = 9",
    ],
)
@pytest.mark.parametrize("options", [{"labels": (0, 1)}, {"algorithm": "B", "m": 5, "seed": 1}])
def test_rounds_that_cannot_be(tmp_path: Path, statement: str, snapshot: bool, options: dict[str, Any]) -> None:
    path = tmp_path / "s.db"
    learner = OnlineMulticalibrator.open(path, "mean", 2, **options)
    for i in range(10):
        learner.learn_one([True, i % 2 == 0], i / 10)
    if snapshot:
        learner.close()
    learner._release()
    if statement.endswith("id = 9") and not snapshot:
        pytest.skip("a file without its last round is the file of a shorter stream")
    change(path, statement)
    with pytest.raises(ModelFileError, match="damaged"):
        OnlineMulticalibrator.open(path)


def test_outcomes_changed_behind_a_snapshot_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with OnlineMulticalibrator.open(path, "mean", 1, labels=(0, 1)) as learner:
        for _ in range(5):
            learner.learn_one([True], 0.5)
    change(path, "UPDATE rounds SET y = 0.6 WHERE id = 2")
    with pytest.raises(ModelFileError, match="checksum"):
        OnlineMulticalibrator.open(path)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE updates SET data = substr(data, 1, 30) WHERE id = 2", "checksum"),
        ("DELETE FROM updates WHERE id = 2", "update 2 is missing"),
        ("UPDATE meta SET value = '{}' WHERE key = 'setup'", "damaged"),
        ("UPDATE meta SET value = '9' WHERE key = 'version'", "version"),
        ("INSERT INTO meta VALUES ('snapshot', '{\"updates\": 0, \"state\": {}}')", "damaged"),
    ],
)
def test_updates_that_cannot_be(tmp_path: Path, statement: str, says: str) -> None:
    path = tmp_path / "s.db"
    monitor = mv.Monitor.open(path, "mean", 1)
    for _ in range(3):
        monitor.update([True], 0.5, 1)
    monitor._file.close()  # as after a kill
    change(path, statement)
    with pytest.raises(ModelFileError, match=says):
        mv.Monitor.open(path)


def test_a_monitor_with_other_settings_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    mv.Monitor.open(path, "mean", 1, delta=0.1).close()
    with pytest.raises(ModelFileError, match=r"delta \(0.1 in the file, 0.05 now\)"):
        mv.Monitor.open(path, "mean", 1)
    with pytest.raises(ModelFileError, match="property"):
        mv.Monitor.open(path, "quantile:0.5", 1, delta=0.1)
    OnlineMulticalibrator.open(tmp_path / "l.db", "mean", 1).close()
    with pytest.raises(ModelFileError, match=r"holds 'multivalid\.online\.durable'"):
        mv.Monitor.open(tmp_path / "l.db")
