"""A learner whose every acknowledged round is in a SQLite file.

A call that returns has been committed; a call that raises has changed nothing, on disk or in memory. The file holds the settings,
one row per round, and now and then a snapshot, so that opening costs a snapshot and the rounds since, not the whole history.

Synchronisation. The file is in write-ahead mode. With sync="normal" (the default) a commit is handed to the operating system: it
survives the death of the process by any signal; a power failure or a crash of the machine may lose the last moments, but leaves a
consistent earlier state. With sync="full" each commit waits for the disk and survives those too, at the disk's speed.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from multivalid.errors import InputError, ModelFileError, MultivalidError
from multivalid.online.draws import Draws
from multivalid.online.engine import Play
from multivalid.online.learner import OnlineMulticalibrator
from multivalid.online.setups import AnySetup, make_setup, setup_from_json
from multivalid.online.state import restore, state_of
from multivalid.properties.base import Property

KIND, VERSION = "multivalid.online.durable", 2
SNAPSHOT_EVERY = 20_000
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE rounds (
    id INTEGER PRIMARY KEY, groups BLOB NOT NULL, play TEXT NOT NULL, key TEXT,
    told INTEGER UNIQUE, y REAL, weight REAL, forgotten INTEGER NOT NULL DEFAULT 0, draws INTEGER NOT NULL);
CREATE INDEX outstanding ON rounds (id) WHERE told IS NULL AND forgotten = 0;
"""
INSERT = "INSERT INTO rounds (id, groups, play, key, told, y, weight, draws) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class StorageError(MultivalidError, OSError):
    """The file behind a durable learner cannot be used: locked by another writer, full disk, damaged, closed.

    Examples
    --------
    >>> from multivalid.online import copy_state
    >>> copy_state("no such file", "copy.db")
    Traceback (most recent call last):
    multivalid.online.durable.StorageError: no such file does not exist.
    """


class DurableMulticalibrator(OnlineMulticalibrator):
    """An `OnlineMulticalibrator` that lives in a file; made with `OnlineMulticalibrator.open`.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with OnlineMulticalibrator.open(folder.name + "/state.db", "mean", 1) as learner:
    ...     ticket = learner.ask([True])
    ...     learner.learn_one([False], 0.25)
    >>> with OnlineMulticalibrator.open(folder.name + "/state.db") as learner:
    ...     learner.tell(ticket.id, 0.75)
    ...     learner.rounds
    2
    >>> folder.cleanup()
    """

    _keeps_rounds = True
    _db: sqlite3.Connection | None
    _lock: sqlite3.Connection | None
    _told: int

    # ---- keeping ---------------------------------------------------------------------------------------------------
    def copy(self, path: str | Path) -> None:
        """A consistent copy of the file as it is now; the learner stays in use."""
        _backup(self._connection(), Path(path))

    def export(self, path: str | Path) -> None:
        """Write the transcript as Parquet: one row per round with groups, prediction, outcome, weight, order of outcomes."""
        from multivalid.online.export import write_parquet

        write_parquet(self, path)

    def history(self) -> Iterator[tuple[Any, ...]]:
        """(id, packed groups, the play as JSON, told, y, weight) of every round that was not forgotten, in the order asked."""
        yield from self._connection().execute(
            "SELECT id, groups, play, told, y, weight FROM rounds WHERE forgotten = 0 ORDER BY id"
        )

    def close(self) -> None:
        """Take a snapshot, close the file, let another writer in. Closing twice does no harm."""
        if self._db is None:
            return
        with contextlib.suppress(StorageError), self._commit() as db:
            self._snapshot(db)
        self._release()

    def __enter__(self) -> DurableMulticalibrator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the events ------------------------------------------------------------------------------------------------
    def _record_rounds(self, plays: list[Play], labels: list[float], weights: list[float]) -> None:
        used = self._draws.used
        rows = [
            (self._next + i, self._pack(p), self._written(p), None, self._told + 1 + i, y, w, used)
            for i, (p, y, w) in enumerate(zip(plays, labels, weights, strict=True))
        ]
        with self._commit() as db:
            db.executemany(INSERT, rows)
            # A snapshot is the state before these rounds: it is taken from memory, which learns only after the commit.
            if self._told // SNAPSHOT_EVERY != (self._told + len(rows)) // SNAPSHOT_EVERY:
                self._snapshot(db)
        self._told += len(rows)

    def _record_ask(self, number: int, play: Play, key: str | int | None) -> None:
        named = None if key is None else json.dumps(key)
        with self._commit() as db:
            db.execute(INSERT, (number, self._pack(play), self._written(play), named, None, None, None, self._draws.used))

    def _record_tell(self, number: int, y: float, weight: float) -> None:
        with self._commit() as db:
            db.execute(
                "UPDATE rounds SET told = ?, y = ?, weight = ?, draws = ? WHERE id = ?",
                (self._told + 1, y, weight, self._draws.used, number),
            )
            if (self._told + 1) % SNAPSHOT_EVERY == 0:
                self._snapshot(db)
        self._told += 1

    def _record_forget(self, number: int) -> None:
        with self._commit() as db:
            db.execute("UPDATE rounds SET forgotten = 1 WHERE id = ?", (number,))

    # ---- inside ----------------------------------------------------------------------------------------------------
    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            raise StorageError("this learner is closed; open its file again.")
        return self._db

    @contextlib.contextmanager
    def _commit(self) -> Iterator[sqlite3.Connection]:
        db = self._connection()
        try:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        except BaseException as error:
            with contextlib.suppress(sqlite3.Error):
                if db.in_transaction:
                    db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                message = f"the round could not be kept ({error}); nothing has changed. Free some space or check the file."
                raise StorageError(message) from error
            raise

    def _written(self, play: Play) -> str:
        return json.dumps(self._engine.play_to_json(play))

    def _pack(self, play: Play) -> bytes:
        bits = np.zeros(len(self.groups), dtype=bool)
        bits[play.active] = True
        return np.packbits(bits).tobytes()

    def _unpack(self, blob: bytes) -> np.ndarray[Any, np.dtype[np.intp]]:
        return np.flatnonzero(np.unpackbits(np.frombuffer(blob, dtype=np.uint8), count=len(self.groups)))

    def _snapshot(self, db: sqlite3.Connection) -> None:
        state = {**state_of(self), "open": {}, "keys": {}, "pending": None, "told": self._told}
        db.execute("INSERT OR REPLACE INTO meta VALUES ('snapshot', ?)", (json.dumps(state),))

    def _resume(self, db: sqlite3.Connection) -> None:
        """Snapshot, then the outcomes since in the order they came, then the tickets still open."""
        found = db.execute("SELECT value FROM meta WHERE key = 'snapshot'").fetchone()
        self._told = 0
        if found is not None:
            state = json.loads(found[0])
            restore(self, state)
            self._told = int(state["told"])
        query = "SELECT play, y, weight, told FROM rounds WHERE told > ? ORDER BY told"
        for play, y, weight, told in db.execute(query, (self._told,)):
            self._engine.settle(self._engine.play_from_json(json.loads(play)), y, weight)
            self._told = told
        waiting = db.execute("SELECT id, play, key FROM rounds WHERE told IS NULL AND forgotten = 0 ORDER BY id").fetchall()
        self._open = {number: self._engine.play_from_json(json.loads(play)) for number, play, _ in waiting}
        self._key_of = {number: json.loads(key) for number, _, key in waiting if key is not None}
        self._keys = {key: number for number, key in self._key_of.items()}
        self._engine.reopen(self._open.values())
        self._next = db.execute("SELECT COALESCE(MAX(id) + 1, 0) FROM rounds").fetchone()[0]
        # Every event stores how many random numbers had been used; they only grow. Ends of both orders hold the latest.
        last = "SELECT draws FROM rounds WHERE id = (SELECT MAX(id) FROM rounds) OR told = (SELECT MAX(told) FROM rounds)"
        self._draws.rewind(max([row[0] for row in db.execute(last)], default=0))

    def _release(self) -> None:
        for connection in (self._db, self._lock):
            if connection is not None:
                connection.close()
        self._db = self._lock = None


def open_durable(
    path: str | Path, property: Property | str | None, groups: Any, *, sync: str = "normal", seed: int | None = None, **options: Any
) -> DurableMulticalibrator:
    """Open or make the file; `property` and `groups` may be left out for one that exists, and must agree with it when given."""
    if sync not in ("normal", "full"):
        raise InputError(f"sync must be 'normal' or 'full', got {sync!r}.")
    path = Path(path)
    learner = DurableMulticalibrator.__new__(DurableMulticalibrator)
    learner._db, learner._lock = None, None
    given = None if property is None or groups is None else make_setup(property, groups, **options)
    if given is not None:
        given.to_json()  # a property without a name must not leave a file behind
    elif not path.exists():
        raise InputError(f"{path} does not exist yet: property and groups are needed to make it.")
    if given is None and options:
        raise InputError(f"{', '.join(options)}: give property and groups as well, or none of them, to open {path}.")
    try:
        learner._lock = _exclusive(path)
        learner._db = db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA synchronous = {sync.upper()}")
        # A process that died while making the file may have left one without tables.
        if given is not None and db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0] == 0:
            _create(db, given, Draws(seed).seed)
        setup, stored_seed = _settings(db, path)
        _compare(path, setup, given, stored_seed, seed)
        learner._prepare(setup, Draws(stored_seed))
        learner._resume(db)
    except (sqlite3.Error, KeyError, TypeError, ValueError, IndexError) as error:
        learner._release()
        if isinstance(error, MultivalidError):
            raise
        if isinstance(error, sqlite3.OperationalError):
            raise StorageError(f"{path} cannot be opened: {error}.") from error
        raise ModelFileError(f"{path} is not the file of an online learner, or is damaged: {error}.") from error
    except BaseException:
        learner._release()
        raise
    return learner


def copy_state(source: str | Path, target: str | Path) -> None:
    """A consistent copy of a durable learner's file, also while another process writes to it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from multivalid.online import OnlineMulticalibrator
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with OnlineMulticalibrator.open(folder / "a.db", "mean", groups=1) as learner:
    ...     learner.learn_one([True], 1.0)
    ...     copy_state(folder / "a.db", folder / "b.db")
    >>> with OnlineMulticalibrator.open(folder / "b.db") as copied:
    ...     copied.rounds
    1
    """
    source = Path(source)
    if not source.exists():
        raise StorageError(f"{source} does not exist.")
    try:
        db = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise StorageError(f"{source} cannot be opened: {error}.") from error
    with contextlib.closing(db):
        _backup(db, Path(target))


def _backup(db: sqlite3.Connection, target: Path) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with contextlib.closing(sqlite3.connect(temporary)) as other:
            db.backup(other)
            # One file without side files: the copy must be whole when it gets its name.
            other.execute("PRAGMA journal_mode = DELETE")
        temporary.replace(target)
    except (sqlite3.Error, OSError) as error:
        raise StorageError(f"the copy to {target} failed: {error}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def _exclusive(path: Path) -> sqlite3.Connection:
    # A second database whose only use is its lock: it works on every system and the kernel drops it when the process dies.
    lock = sqlite3.connect(path.with_name(path.name + ".lock"), isolation_level=None, timeout=0.2, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if "locked" in str(error):
            raise StorageError(f"{path} is in use by another writer; close it there first (copy_state works meanwhile).") from None
        raise
    return lock


def _create(db: sqlite3.Connection, setup: AnySetup, seed: int) -> None:
    facts = {"kind": KIND, "version": str(VERSION), "setup": json.dumps(setup.to_json()), "seed": str(seed)}
    db.execute("BEGIN IMMEDIATE")
    for statement in filter(str.strip, SCHEMA.split(";")):
        db.execute(statement)
    db.executemany("INSERT INTO meta VALUES (?, ?)", facts.items())
    db.execute("COMMIT")


def _settings(db: sqlite3.Connection, path: Path) -> tuple[AnySetup, int]:
    try:
        meta = dict(db.execute("SELECT key, value FROM meta WHERE key != 'snapshot'").fetchall())
    except sqlite3.DatabaseError as error:
        raise ModelFileError(f"{path} is not the file of an online learner: {error}.") from None
    if meta.get("kind") != KIND or meta.get("version") != str(VERSION):
        found = f"{meta.get('kind')!r} version {meta.get('version')!r}"
        raise ModelFileError(f"{path} holds {found}; this library reads {KIND!r} version {VERSION}.")
    return setup_from_json(json.loads(meta["setup"])), int(meta["seed"])


def _compare(path: Path, stored: AnySetup, given: AnySetup | None, stored_seed: int, seed: int | None) -> None:
    if given is None:
        return
    mine, theirs = given.to_json(), stored.to_json()
    differing = [f"{k} ({theirs.get(k)} in the file, {mine[k]} now)" for k in mine if mine[k] != theirs.get(k)]
    if seed is not None and seed != stored_seed:
        differing.append(f"seed ({stored_seed} in the file, {seed} now)")
    if differing:
        raise ModelFileError(
            f"{path} was made with other settings: {'; '.join(differing)}. Open it without settings, or use another file."
        )
