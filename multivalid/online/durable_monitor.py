"""A monitor whose every update is in a SQLite file: a call that returns has been kept, one that raises has changed nothing.

The file holds the settings, a snapshot of the state now and then, and the updates since: like the monitor's memory, it does not grow with
the number of rounds.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from multivalid.errors import InputError, ModelFileError, MultivalidError
from multivalid.online import monitor_state
from multivalid.online.monitor import Monitor, MonitorSetup
from multivalid.online.rows import Rows, make_rows
from multivalid.online.settled import Settled, settled_first
from multivalid.online.state_file import StateFile
from multivalid.properties.base import Property
from multivalid.properties.pairs.base import Pair

KIND, VERSION = "multivalid.monitor.durable", 1
SCHEMA = "CREATE TABLE updates (id INTEGER PRIMARY KEY, data BLOB NOT NULL)"
SNAPSHOT_UPDATES, SNAPSHOT_ROUNDS = 2_000, 20_000  # whichever comes first
READS = ("rounds", "alarms", "table", "summary", "report", "to_json", "save")


@settled_first(*READS)
class DurableMonitor(Settled, Monitor):
    """A `Monitor` that lives in a file; made with `Monitor.open`.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Monitor.open(folder.name + "/watch.db", "mean", 1) as monitor:
    ...     monitor.update([True], 0.3, 1)
    >>> with Monitor.open(folder.name + "/watch.db") as monitor:
    ...     monitor.update([False], 0.3, 0)
    ...     monitor.rounds
    2
    >>> folder.cleanup()
    """

    _file: StateFile
    _updates: int  # number of the last update that memory holds
    _kept: tuple[int, int]  # updates and rounds at the snapshot

    # ---- keeping ---------------------------------------------------------------------------------------------------
    def copy(self, path: str | Path) -> None:
        """A consistent copy of the file as it is now; the monitor stays in use."""
        self._file.copy(path)

    def close(self) -> None:
        """Take a snapshot, close the file, let another writer in. Closing twice does no harm."""
        if self._file.db is None:
            return
        try:
            self._settle()
            if self._updates > self._kept[0]:
                with self._file.transaction():
                    self._snapshot()
        finally:
            self._file.close()

    def __enter__(self) -> DurableMonitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- inside ----------------------------------------------------------------------------------------------------
    def _checked(self, rows: Rows) -> Rows:
        self._settle()
        return super()._checked(rows)

    def _add(self, rows: Rows) -> None:
        if rows.count:
            self._safely(self._keep, rows)

    def _keep(self, rows: Rows) -> None:
        due = self._updates - self._kept[0] >= SNAPSHOT_UPDATES or self._rounds - self._kept[1] >= SNAPSHOT_ROUNDS
        with self._file.transaction() as db:
            if due:
                self._snapshot()
            db.execute("INSERT INTO updates VALUES (?, ?)", (self._updates + 1, pack(rows)))
        self._committed = True
        if due:
            self._kept = (self._updates, self._rounds)
        super()._add(rows)
        self._updates += 1

    def _snapshot(self) -> None:
        """Keep memory as it is, and drop the updates that it holds."""
        self._file.write("snapshot", {"updates": self._updates, "state": monitor_state.state_of(self)})
        self._file.connection().execute("DELETE FROM updates WHERE id <= ?", (self._updates,))

    def _roll_back(self) -> None:
        self._file.roll_back()

    def _reload(self) -> None:
        db = self._file.connection()
        self._prepare(self.setup)
        self._updates = 0
        found = self._file.read("snapshot")
        if found is not None:
            kept = json.loads(found)
            self._updates = monitor_state.whole(kept["updates"])
            monitor_state.restore(self, kept["state"])
        self._kept = (self._updates, self._rounds)
        for number, data in db.execute("SELECT id, data FROM updates ORDER BY id").fetchall():
            if number != self._updates + 1:
                raise ValueError(f"update {self._updates + 1} is missing")
            super()._add(super()._checked(unpack(self.setup, data)))
            self._updates = number
        self._settled = True


def open_monitor(
    path: str | Path, property: Property | Pair | str | None, groups: Any, *, sync: str = "normal", **options: Any
) -> DurableMonitor:
    """Open or make the file; `property` and `groups` may be left out for one that exists, and must agree with it when given."""
    given = None
    if property is not None and groups is not None:
        given = Monitor(property, groups, **options).setup
    elif options or property is not None or groups is not None:
        raise InputError(f"give property and groups both, with any settings, or none of them, to open {path}.")
    settings = None if given is None else {"setup": json.dumps(given.to_json())}
    monitor = DurableMonitor.__new__(DurableMonitor)
    monitor._file = file = StateFile(path, KIND, VERSION, SCHEMA, settings, sync)
    try:
        stored = Monitor(**monitor_state.settings(json.loads(file.read("setup") or "")))
        _compare(file.path, stored.setup, given)
        monitor._prepare(stored.setup)
        monitor._reload()
    except BaseException as error:
        file.close()
        if isinstance(error, MultivalidError) or not isinstance(error, Exception):
            raise
        if isinstance(error, sqlite3.Error):
            raise file.problem(error) from error
        raise ModelFileError(f"{file.path} is damaged: {error}.") from error
    return monitor


def pack(rows: Rows) -> bytes:
    """Rows as bytes, with a checksum."""
    head = json.dumps([rows.count, rows.member.shape[1], rows.predictions.shape[1], rows.kind]).encode()
    numbers = np.concatenate([rows.predictions.ravel(), rows.y, rows.time]).astype("<f8")
    data = head + b"\n" + np.packbits(rows.member, axis=None).tobytes() + numbers.tobytes()
    return zlib.crc32(data).to_bytes(4, "little") + data


def unpack(setup: MonitorSetup, data: bytes) -> Rows:
    """The rows that `pack` wrote, checked like new ones."""
    if zlib.crc32(data[4:]) != int.from_bytes(data[:4], "little"):
        raise ValueError("the checksum of an update does not match")
    head, _, body = data[4:].partition(b"\n")
    count, groups, width, kind = json.loads(head)
    if groups != len(setup.members.names):
        raise ValueError(f"an update has {groups} groups, the monitor {len(setup.members.names)}")
    bits = (count * groups + 7) // 8
    member = np.unpackbits(np.frombuffer(body[:bits], dtype=np.uint8), count=count * groups).reshape(count, groups).astype(bool)
    if not member[:, 0].all():
        raise ValueError("an update has rows that are not in the whole population")
    numbers = np.frombuffer(body[bits:], dtype="<f8").astype(np.float64)
    if numbers.size != count * (width + 2):
        raise ValueError("an update is cut short")
    predictions, y, time = numbers[: count * width].reshape(count, width), numbers[count * width : -count], numbers[-count:]
    rows = make_rows(setup, member, predictions, y, None if kind is None else time)
    return Rows(rows.member, rows.predictions, rows.y, rows.values, rows.time, kind)


def _compare(path: Path, stored: MonitorSetup, given: MonitorSetup | None) -> None:
    differing = [] if given is None else monitor_state.differences(stored, given)
    if differing:
        raise ModelFileError(
            f"{path} was made with other settings: {'; '.join(differing)}. Open it without settings, or use another file."
        )
