"""A SQLite file that one writer at a time keeps a state in: locked, checked on opening, whole after any death of the process.

The file is in write-ahead mode. With sync="normal" (the default) a commit is handed to the operating system: it survives the death of
the process by any signal; a power failure or a crash of the machine may lose the last moments, but leaves a consistent earlier state.
With sync="full" each commit waits for the disk and survives those too, at the disk's speed.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from multivalid.errors import InputError, ModelFileError, MultivalidError
from multivalid.online.file_lock import FileLock, Locked


class StorageError(MultivalidError, OSError):
    """The file behind a durable learner or monitor cannot be used: locked by another writer, full disk, damaged, closed.

    Examples
    --------
    >>> from multivalid.online import copy_state
    >>> copy_state("no such file", "copy.db")
    Traceback (most recent call last):
    multivalid.online.state_file.StorageError: no such file does not exist.
    """


class StateFile:
    """An open file of one kind, with its settings; nobody else writes to it until it is closed.

    Parameters
    ----------
    path : path
        A symbolic link leads to the file that it names.
    kind, version, schema : str, int, str
        What is kept, and the tables beside `meta`.
    settings : dict, optional
        For a file that does not exist yet; None opens one that does.
    sync : "normal" or "full"
    """

    def __init__(self, path: str | Path, kind: str, version: int, schema: str, settings: dict[str, Any] | None, sync: str) -> None:
        if sync not in ("normal", "full"):
            raise InputError(f"sync must be 'normal' or 'full', got {sync!r}.")
        self.path = Path(path)
        self.db: sqlite3.Connection | None = None
        if settings is None and not self.path.exists():
            raise InputError(f"{self.path} does not exist yet: property and groups are needed to make it.")
        self._lock = _locked(self.path)
        try:
            self.db = db = sqlite3.connect(self.path.resolve(), isolation_level=None, check_same_thread=False)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute(f"PRAGMA synchronous = {sync.upper()}")
            # A process that died while making the file may have left one without tables.
            if settings is not None and db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0] == 0:
                _create(db, schema, {"kind": kind, "version": str(version), **settings})
            self._check_kind(db, kind, version)
        except BaseException as error:
            self.close()
            if isinstance(error, sqlite3.Error):
                raise self.problem(error) from error
            raise

    def problem(self, error: Exception) -> MultivalidError:
        """What went wrong on opening, as the library's own error."""
        if isinstance(error, sqlite3.OperationalError):
            return StorageError(f"{self.path} cannot be opened: {error}.")
        return ModelFileError(f"{self.path} is not a file that this library wrote, or is damaged: {error}.")

    def _check_kind(self, db: sqlite3.Connection, kind: str, version: int) -> None:
        try:
            found, number = self.read("kind"), self.read("version")
        except sqlite3.DatabaseError as error:
            raise ModelFileError(f"{self.path} is not a file of kind {kind!r}: {error}.") from None
        if found != kind or number != str(version):
            raise ModelFileError(f"{self.path} holds {found!r} version {number!r}; here {kind!r} version {version} is needed.")
        damage = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if damage != "ok":
            raise ModelFileError(f"{self.path} is damaged: {damage}.")

    # ---- use -------------------------------------------------------------------------------------------------------
    def connection(self) -> sqlite3.Connection:
        """The open database."""
        if self.db is None:
            raise StorageError(f"{self.path} is closed; open it again.")
        return self.db

    def read(self, key: str) -> str | None:
        """A setting, or None."""
        found = self.connection().execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if found is None else str(found[0])

    def write(self, key: str, value: Any) -> None:
        """Keep a value as JSON; inside a transaction."""
        self.connection().execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value, allow_nan=False)))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing; a failure to write becomes a `StorageError`."""
        db = self.connection()
        self.roll_back()
        if not self._lock.holds(self.path):
            raise StorageError(
                f"{self.path} was removed or replaced while in use; nothing has changed. Put it back, or open another."
            )
        try:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        except BaseException as error:
            self.roll_back()
            if isinstance(error, sqlite3.Error):
                message = f"{self.path} could not be written ({error}); nothing has changed. Free some space or check the file."
                raise StorageError(message) from error
            raise

    def roll_back(self) -> None:
        """Undo a transaction that an interrupt left open."""
        if self.db is not None and self.db.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                self.db.execute("ROLLBACK")

    def copy(self, target: str | Path) -> None:
        """A consistent copy as it is now."""
        backup(self.connection(), Path(target))

    def close(self) -> None:
        """Let the next writer in."""
        # The lock goes last: closing another descriptor of the file first would let go of SQLite's own locks.
        if self.db is not None:
            self.db.close()
            self.db = None
        self._lock.release()


def copy_state(source: str | Path, target: str | Path) -> None:
    """A consistent copy of the file of a durable learner or monitor, also while another process writes to it.

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
        backup(db, Path(target))


def backup(db: sqlite3.Connection, target: Path) -> None:
    """Copy an open database under a temporary name, then rename."""
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


def _locked(path: Path) -> FileLock:
    try:
        return FileLock(path)
    except Locked as error:
        raise StorageError(f"{path} {error}.") from None
    except OSError as error:
        raise StorageError(f"{path} cannot be opened: {error.strerror or error}.") from None


def _create(db: sqlite3.Connection, schema: str, facts: dict[str, Any]) -> None:
    db.execute("BEGIN IMMEDIATE")
    db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
    for statement in filter(str.strip, schema.split(";")):
        db.execute(statement)
    db.executemany("INSERT INTO meta VALUES (?, ?)", facts.items())
    db.execute("COMMIT")
