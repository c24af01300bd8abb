"""A learner whose every acknowledged round is in a SQLite file.

A call that returns has been committed; a call that raises has changed nothing, on disk or in memory. The file holds the settings,
one row per round, and now and then a snapshot, so that opening learns the rounds since again, not the whole history; all of it is read,
and held against rules and a checksum. `state_file` says what survives which accident, `settled` what an interrupt leaves.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from multivalid.errors import InputError, ModelFileError
from multivalid.online.draws import Draws
from multivalid.online.engine import Play
from multivalid.online.learner import OnlineMulticalibrator
from multivalid.online.settled import Settled, in_one_piece, settled_first
from multivalid.online.setups import AnySetup, make_setup, setup_from_json
from multivalid.online.state import restore, state_of
from multivalid.online.state_file import StateFile, StorageError
from multivalid.properties.base import Property

KIND, VERSION = "multivalid.online.durable", 3
SNAPSHOT_EVERY = 20_000
TOLD = "SELECT id, groups, play, y, weight FROM rounds WHERE told IS NOT NULL ORDER BY told"
RULES = {
    "an outcome needs a finite y": "told IS NOT NULL AND NOT COALESCE(typeof(y) = 'real' AND y > -9e999 AND y < 9e999, 0)",
    "its weight must lie in [0, 1]": "told IS NOT NULL AND NOT COALESCE(typeof(weight) = 'real' AND weight >= 0 AND weight <= 1, 0)",
    "it has an outcome, but not its place among the outcomes": "told IS NULL AND (y IS NOT NULL OR weight IS NOT NULL)",
    "its outcome has no place": "told IS NOT NULL AND (typeof(told) != 'integer' OR told < 1 OR forgotten != 0)",
    "its groups have another width": "typeof(groups) != 'blob' OR length(groups) != {width}",
    "its number is negative": "id < 0",
    "it must be forgotten or not": "forgotten NOT IN (0, 1)",
    "its draws must be counted": "typeof(draws) != 'integer' OR draws < 0",
}
SCHEMA = """
CREATE TABLE rounds (
    id INTEGER PRIMARY KEY, groups BLOB NOT NULL, play TEXT NOT NULL, key TEXT,
    told INTEGER UNIQUE, y REAL, weight REAL, forgotten INTEGER NOT NULL DEFAULT 0, draws INTEGER NOT NULL);
CREATE INDEX outstanding ON rounds (id) WHERE told IS NULL AND forgotten = 0;
"""
INSERT = "INSERT INTO rounds (id, groups, play, key, told, y, weight, draws) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


CHANGES = ("predict_one", "learn_one", "ask", "tell", "forget", "predict_many", "learn_many", "replay")
READS = (
    "outstanding",
    "open_tickets",
    "rounds",
    "error",
    "bound",
    "alarm",
    "table",
    "summary",
    "save",
    "history",
    "export",
    "copy",
)


@in_one_piece(*CHANGES)
@settled_first(*READS)
class DurableMulticalibrator(Settled, OnlineMulticalibrator):
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
    _file: StateFile
    _seed: int
    _told: int  # outcomes kept
    _digest: int  # of the rounds told, in their order
    _before: tuple[int, int, Any, Any, int] | None = None  # what the call under way started from

    # ---- keeping ---------------------------------------------------------------------------------------------------
    def copy(self, path: str | Path) -> None:
        """A consistent copy of the file as it is now; the learner stays in use."""
        self._file.copy(path)

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
        if self._file.db is None:
            return
        try:
            self._settle()
            with contextlib.suppress(StorageError), self._file.transaction() as db:
                self._snapshot(db)
        finally:
            self._release()

    def __enter__(self) -> DurableMulticalibrator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the events ------------------------------------------------------------------------------------------------
    def _record_rounds(self, plays: list[Play], labels: list[float], weights: list[float]) -> None:
        used = self._draws.used
        rows = [
            (self._next + i, self._pack(p), self._written(p), None, self._told + 1 + i, float(y), float(w), used)
            for i, (p, y, w) in enumerate(zip(plays, labels, weights, strict=True))
        ]
        with self._file.transaction() as db:
            db.executemany(INSERT, rows)
            # A snapshot is the state before these rounds: it is taken from memory, which learns only after the commit.
            if self._told // SNAPSHOT_EVERY != (self._told + len(rows)) // SNAPSHOT_EVERY:
                self._snapshot(db)
        self._committed = True
        for number, groups, play, _, _, y, weight, _ in rows:
            self._count(number, groups, play, y, weight)

    def _record_ask(self, number: int, play: Play, key: str | int | None) -> None:
        named = None if key is None else json.dumps(key)
        with self._file.transaction() as db:
            db.execute(INSERT, (number, self._pack(play), self._written(play), named, None, None, None, self._draws.used))
        self._committed = True

    def _record_tell(self, number: int, y: float, weight: float) -> None:
        with self._file.transaction() as db:
            db.execute(
                "UPDATE rounds SET told = ?, y = ?, weight = ?, draws = ? WHERE id = ?",
                (self._told + 1, float(y), float(weight), self._draws.used, number),
            )
            if (self._told + 1) % SNAPSHOT_EVERY == 0:
                self._snapshot(db)
        self._committed = True
        self._count(number, self._pack(self._open[number]), self._written(self._open[number]), float(y), float(weight))

    def _record_forget(self, number: int) -> None:
        with self._file.transaction() as db:
            db.execute("UPDATE rounds SET forgotten = 1 WHERE id = ?", (number,))
        self._committed = True

    # ---- inside ----------------------------------------------------------------------------------------------------
    def _safely(self, change: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        self._settle()
        self._before = (self._told, self._next, self._pending, self._pending_many, self._draws.used)
        return super()._safely(change, *arguments, **options)

    def _roll_back(self) -> None:
        self._file.roll_back()

    def _reload(self) -> None:
        self._prepare(self.setup, Draws(self._seed))
        self._resume(self._connection())
        before = self._before
        if before is not None and before[:2] == (self._told, self._next):
            # Nothing of the call was kept: what had been predicted and not yet learned is as it was before it.
            self._pending, self._pending_many = before[2:4]
            self._draws.rewind(before[4])
        self._settled = True

    def _connection(self) -> sqlite3.Connection:
        return self._file.connection()

    def _written(self, play: Play) -> str:
        return json.dumps(self._engine.play_to_json(play))

    def _pack(self, play: Play) -> bytes:
        bits = np.zeros(len(self.groups), dtype=bool)
        bits[play.active] = True
        return np.packbits(bits).tobytes()

    def _unpack(self, blob: bytes) -> np.ndarray[Any, np.dtype[np.intp]]:
        return np.flatnonzero(np.unpackbits(np.frombuffer(blob, dtype=np.uint8), count=len(self.groups)))

    def _count(self, number: int, groups: bytes, play: str, y: float, weight: float) -> None:
        """One more outcome is in the file."""
        text = f"{number} {groups.hex()} {play} {y!r} {weight!r}"
        self._digest = zlib.crc32(text.encode(), self._digest)
        self._told += 1

    def _snapshot(self, db: sqlite3.Connection) -> None:
        state = {**state_of(self), "open": {}, "keys": {}, "pending": None, "told": self._told, "digest": self._digest}
        db.execute("INSERT OR REPLACE INTO meta VALUES ('snapshot', ?)", (json.dumps(state),))

    def _resume(self, db: sqlite3.Connection) -> None:
        """Snapshot, then the outcomes since in the order they came, then the tickets still open."""
        check_rounds(db, (len(self.groups) + 7) // 8)
        found = db.execute("SELECT value FROM meta WHERE key = 'snapshot'").fetchone()
        self._told = self._digest = 0
        state = {"told": 0, "digest": 0} if found is None else json.loads(found[0])
        if found is not None:
            restore(self, state)
            if self._engine.rounds != state["told"]:
                raise ValueError(f"the snapshot holds {self._engine.rounds} outcomes and says {state['told']}")
        for number, groups, play, y, weight in db.execute(TOLD):
            if self._told >= state["told"]:
                self._engine.settle(self._play(groups, play), y, weight)
            self._count(number, groups, play, y, weight)
            if self._told == state["told"] and self._digest != state["digest"]:
                raise ValueError("rounds were changed after they were kept: their checksum does not match")
        if self._told < state["told"]:
            raise ValueError(f"{state['told'] - self._told} rounds are missing")
        self._resume_tickets(db)

    def _resume_tickets(self, db: sqlite3.Connection) -> None:
        waiting = db.execute("SELECT id, groups, play, key FROM rounds WHERE told IS NULL AND forgotten = 0 ORDER BY id").fetchall()
        self._open = {number: self._play(groups, play) for number, groups, play, _ in waiting}
        self._key_of = {number: json.loads(key) for number, _, _, key in waiting if key is not None}
        self._keys = {key: number for number, key in self._key_of.items()}
        self._engine.reopen(self._open.values())
        self._next = db.execute("SELECT COALESCE(MAX(id) + 1, 0) FROM rounds").fetchone()[0]
        # Every event stores how many random numbers had been used; they only grow. Ends of both orders hold the latest.
        last = "SELECT draws FROM rounds WHERE id = (SELECT MAX(id) FROM rounds) OR told = (SELECT MAX(told) FROM rounds)"
        self._draws.rewind(max([row[0] for row in db.execute(last)], default=0))

    def _play(self, groups: bytes, text: str) -> Any:
        play = self._engine.play_from_json(json.loads(text))
        if self._pack(play) != groups:
            raise ValueError("the groups of a round contradict each other")
        return play

    def _release(self) -> None:
        self._file.close()


def open_durable(
    path: str | Path, property: Property | str | None, groups: Any, *, sync: str = "normal", seed: int | None = None, **options: Any
) -> DurableMulticalibrator:
    """Open or make the file; `property` and `groups` may be left out for one that exists, and must agree with it when given."""
    given = None if property is None or groups is None else make_setup(property, groups, **options)
    if given is None and options:
        raise InputError(f"{', '.join(options)}: give property and groups as well, or none of them, to open {path}.")
    # A property without a name must not leave a file behind: its settings are written down first.
    settings = None if given is None else {"setup": json.dumps(given.to_json()), "seed": str(Draws(seed).seed)}
    learner = DurableMulticalibrator.__new__(DurableMulticalibrator)
    learner._file = file = StateFile(path, KIND, VERSION, SCHEMA, settings, sync)
    try:
        setup, learner._seed = setup_from_json(json.loads(file.read("setup") or "")), int(file.read("seed") or "")
        _compare(file.path, setup, given, learner._seed, seed)
        learner.setup = setup
        learner._reload()
    except BaseException as error:
        file.close()
        if not isinstance(error, Exception) or isinstance(error, (ModelFileError, StorageError)):
            raise
        if isinstance(error, sqlite3.Error):
            raise file.problem(error) from error
        raise ModelFileError(f"{file.path} is not the file of an online learner, or is damaged: {error}.") from error
    return learner


def check_rounds(db: sqlite3.Connection, width: int) -> None:
    """Refuse rounds that no learner can have written: nulls, weights, outcomes and counts."""
    for rule, wrong in RULES.items():
        found = db.execute(f"SELECT id FROM rounds WHERE {wrong.format(width=width)} LIMIT 1").fetchone()
        if found is not None:
            raise ValueError(f"round {found[0]}: {rule}")
    rounds, last, told, latest = db.execute("SELECT COUNT(*), MAX(id), COUNT(told), MAX(told) FROM rounds").fetchone()
    if rounds and (last != rounds - 1 or (latest or 0) != told):
        raise ValueError(f"{rounds} rounds up to number {last}, {told} outcomes up to number {latest}: some are missing")


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
