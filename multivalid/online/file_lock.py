"""One writer per file, whatever the file is called: the lock is on the file itself, not on a name beside it.

A lock file with a name of its own lets a second writer in when somebody removes it, or comes through a symbolic link. The kernel's lock
on the file's own inode does neither, and goes when the process dies.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FAR = 1 << 40  # Windows locks bytes: one far behind any that SQLite reads or locks
_guard = threading.Lock()
_here: set[tuple[int, int]] = set()  # files locked in this process


class Locked(Exception):
    """Somebody else writes to the file."""


class FileLock:
    """An exclusive lock on `path`, which is made if it does not exist.

    Notes
    -----
    Opening and closing a file drops every POSIX lock that the same process holds on it, SQLite's among them. So a second attempt in one
    process is refused by a list of what is locked here, before the file is touched.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "state.db"
    >>> lock = FileLock(path)
    >>> FileLock(path)
    Traceback (most recent call last):
    multivalid.online.file_lock.Locked: is in use by another writer; close it there first (copy_state works meanwhile)
    >>> lock.release()
    >>> FileLock(path).release()
    >>> folder.cleanup()
    """

    def __init__(self, path: Path) -> None:
        self._handle: int | None = None
        with _guard:
            if path.exists() and _identity(os.stat(path)) in _here:
                raise Locked(BUSY)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
            try:
                _lock(handle)
                found = os.fstat(handle)
                if found.st_nlink > 1:
                    raise Locked("has several names (hard links), and side files would go by one of them; leave one name")
            except BaseException:
                os.close(handle)
                raise
            self._handle, self._file = handle, _identity(found)
            _here.add(self._file)

    def holds(self, path: Path) -> bool:
        """Whether `path` still is the file that was locked."""
        try:
            return self._handle is not None and _identity(os.stat(path)) == self._file
        except OSError:
            return False

    def release(self) -> None:
        """Let the next writer in; twice does no harm."""
        with _guard:
            if self._handle is not None:
                handle, self._handle = self._handle, None
                _here.discard(self._file)
                with contextlib.suppress(OSError):
                    os.close(handle)


BUSY = "is in use by another writer; close it there first (copy_state works meanwhile)"


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _lock(handle: int) -> None:
    try:
        if sys.platform == "win32":
            os.lseek(handle, FAR, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise Locked(BUSY) from error
