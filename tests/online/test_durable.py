"""The learner in a file: exact, exclusive, copied while in use, unharmed by a full disk."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from multivalid.errors import InputError, ModelFileError
from multivalid.online import DurableMulticalibrator, OnlineMulticalibrator, StorageError, copy_state, durable
from multivalid.online.state import state_of
from multivalid.properties.base import Property

from .streams import run, same


def opened(path: Path, **options: object) -> DurableMulticalibrator:
    return OnlineMulticalibrator.open(path, "quantile:0.8", 7, m=9, seed=4, **options)


@pytest.mark.parametrize("every", [50, 10**9])
def test_reopened_equals_uninterrupted(tmp_path: Path, every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "SNAPSHOT_EVERY", every)
    plain = OnlineMulticalibrator("quantile:0.8", 7, m=9, seed=4)
    expected = [p for _, p, _ in run(plain, "iid", 300, seed=1)]
    rng, got = np.random.default_rng(1), []
    kept = opened(tmp_path / "s.db")
    for t in range(300):
        if t % 67 == 0:
            kept._release()  # as after a kill: no snapshot on the way out
            kept = OnlineMulticalibrator.open(tmp_path / "s.db")
        x = rng.random(7) < 0.4
        got.append(kept.predict_one(x))
        kept.learn_one(x, float(0.6 * x.mean() + 0.4 * rng.random()))
    assert got == expected
    assert same(plain, kept)
    kept.close()
    kept.close()
    with pytest.raises(StorageError, match="closed"):
        kept.learn_one(x, 0.5)
    with opened(tmp_path / "s.db") as again:
        assert same(plain, again)


def test_tickets_batches_and_jitter_survive(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    plain = OnlineMulticalibrator("quantile:0.8", 7, m=9, seed=4, jitter=0.1, algorithm="B")
    kept = opened(path, jitter=0.1, algorithm="B")
    rng = np.random.default_rng(0)
    rows = rng.random((40, 7)) < 0.5
    y = rng.random(40)
    for learner in (plain, kept):
        tickets = [learner.ask(x) for x in rows[:10]]
        for i in (3, 9, 1):
            learner.tell(tickets[i], float(y[i]), 0.5)
        learner.forget(tickets[0])
        learner.predict_many(rows[10:])
        learner.learn_many(rows[10:], y[10:])
        learner.tell(tickets[5], float(y[5]))
    kept._release()
    again = OnlineMulticalibrator.open(path)
    assert again.outstanding == plain.outstanding == (2, 4, 6, 7, 8)
    assert same(plain, again)
    with pytest.raises(InputError, match="already"):
        again.tell(0, 0.5)
    for learner in (plain, again):
        learner.tell(2, 0.3)
        learner.predict_one(rows[0])
    assert state_of(plain)["draws"] == state_of(again)["draws"]
    again.close()


def test_second_writer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    first = opened(path)
    first.learn_one([True] * 7, 0.5)
    with pytest.raises(StorageError, match="another writer"):
        opened(path)
    code = "import sys; from multivalid.online import OnlineMulticalibrator; OnlineMulticalibrator.open(sys.argv[1])"
    other = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert other.returncode != 0
    assert "another writer" in other.stderr
    first.learn_one([True] * 7, 0.5)
    first.close()
    with opened(path) as next_writer:
        assert next_writer.rounds == 2


def test_copy_while_in_use(tmp_path: Path) -> None:
    with opened(tmp_path / "s.db") as learner:
        for _ in run(learner, "iid", 50, seed=1):
            pass
        ticket = learner.ask([True] * 7)
        learner.copy(tmp_path / "a.db")
        copy_state(tmp_path / "s.db", tmp_path / "b.db")
        learner.tell(ticket, 0.5)
        for name in ("a.db", "b.db"):
            with OnlineMulticalibrator.open(tmp_path / name) as twin:
                assert twin.rounds == 50
                twin.tell(ticket.id, 0.5)
                assert same(twin, learner)
    with pytest.raises(StorageError, match="does not exist"):
        copy_state(tmp_path / "nowhere.db", tmp_path / "c.db")
    with opened(tmp_path / "s.db") as learner, pytest.raises(StorageError, match="failed"):
        learner.copy(tmp_path / "no folder" / "c.db")


def test_full_disk_changes_nothing(tmp_path: Path) -> None:
    learner = opened(tmp_path / "s.db")
    ticket = learner.ask([True] * 7)
    db = learner._connection()
    db.execute(f"PRAGMA max_page_count = {db.execute('PRAGMA page_count').fetchone()[0] + 1}")
    before = state_of(learner)

    def fill() -> None:
        nonlocal before
        for _ in range(2000):
            before = state_of(learner)
            learner.learn_one([False] * 7, 0.5)

    with pytest.raises(StorageError, match="full"):
        fill()
    assert state_of(learner) == before
    with pytest.raises(StorageError):
        learner.learn_many(np.zeros((500, 7), dtype=bool), np.full(500, 0.5))
    assert state_of(learner) == before
    db.execute("PRAGMA max_page_count = 1000000")
    learner.tell(ticket, 0.5)
    learner.learn_one([False] * 7, 0.5)
    learner._release()
    with opened(tmp_path / "s.db") as again:
        assert same(again, learner)


def test_other_settings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    opened(path).close()
    for options in ({"m": 10}, {"delta": 0.5}, {"seed": 5}, {"algorithm": "A"}):
        settings = {"m": 9, "seed": 4, **options}
        with pytest.raises(ModelFileError, match=next(iter(options))):
            OnlineMulticalibrator.open(path, "quantile:0.8", 7, **settings)
    with pytest.raises(InputError):
        OnlineMulticalibrator.open(path, m=9)
    with pytest.raises(InputError):
        OnlineMulticalibrator.open(path, sync="never")
    with pytest.raises(InputError, match="needed"):
        OnlineMulticalibrator.open(tmp_path / "new.db")
    with pytest.raises(StorageError):
        OnlineMulticalibrator.open(tmp_path / "no folder" / "s.db", "mean", 1)
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix == ".db") == ["s.db"]


def test_foreign_and_damaged_files(tmp_path: Path) -> None:
    text = tmp_path / "text.db"
    text.write_text("not a database at all, but long enough to have a header of a hundred bytes" * 20)
    with pytest.raises(ModelFileError):
        OnlineMulticalibrator.open(text)
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()
    with pytest.raises(ModelFileError):
        OnlineMulticalibrator.open(foreign)
    path = tmp_path / "s.db"
    opened(path).close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'snapshot'", (json.dumps({"told": 0}),))
    db.close()
    with pytest.raises(ModelFileError, match="damaged"):
        OnlineMulticalibrator.open(path)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = '99' WHERE key = 'version'")
    db.close()
    with pytest.raises(ModelFileError, match="version"):
        OnlineMulticalibrator.open(path)


def test_half_made_files_are_finished(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")  # as after a kill right here
    db.close()
    with pytest.raises(ModelFileError):
        OnlineMulticalibrator.open(path)
    with opened(path) as learner:
        learner.learn_one([True] * 7, 0.5)
    nameless = Property.from_identification(lambda g, y: (y <= g) - 0.35)
    with pytest.raises(InputError, match="register"):
        OnlineMulticalibrator.open(tmp_path / "other.db", nameless, 1)
    assert not (tmp_path / "other.db").exists()


def test_export(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    with OnlineMulticalibrator.open(tmp_path / "s.db", "mean", ["age >= 18"], m=5, seed=1) as learner:
        first = learner.ask({"age": 30})
        second = learner.ask({"age": 3})
        learner.forget(learner.ask({"age": 4}))
        learner.learn_one({"age": 50}, 0.25, 0.5)
        learner.tell(first, 1.0)
        learner.export(tmp_path / "t.parquet")
        rows = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert [r["id"] for r in rows] == [0, 1, 3]
    assert [r["told"] for r in rows] == [2, None, 1]
    assert [r["y"] for r in rows] == [1.0, None, 0.25]
    assert rows[2]["weight"] == 0.5
    assert rows[1]["prediction"] == second.prediction
    assert rows[0]["groups"] == ["everyone", "age >= 18"]
    assert sorted(p.name for p in tmp_path.iterdir() if "part" in p.name) == []


def test_full_synchronisation_works(tmp_path: Path) -> None:
    with opened(tmp_path / "s.db", sync="full") as learner:
        learner.learn_one([True] * 7, 0.5)
        assert learner._connection().execute("PRAGMA synchronous").fetchone()[0] == 2
