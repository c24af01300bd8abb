"""The columns that a fit looks at, copied as the rows pass by for the first time: later looks read them from a file, without an engine.

What is kept of a row is its label and prediction in the types that they came in, its weight, and one code for the columns of its groups:
about ten bytes. The file has no name, so it is gone when nobody reads it any more, however the process ends.
"""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.sources.key_codes import Digits
from multivalid.sources.lanes import in_lanes

Columns = Sequence[NDArray[Any]]  # label, prediction, weight where weights differ, code


class Run(NamedTuple):
    """Rows that came together: where they are, the types of their columns, and what their codes mean."""

    start: int
    rows: int
    types: tuple[np.dtype[Any], ...]
    digits: Digits


@dataclass
class Copied:
    """Rows in a file, run after run."""

    keys: tuple[str, ...]  # the columns that the codes are of
    runs: list[Run] = field(default_factory=list)
    rows: int = 0
    _file: Any = field(default_factory=lambda: tempfile.TemporaryFile(prefix="multivalid_", buffering=0))  # noqa: SIM115
    _lock: Any = field(default_factory=threading.Lock)
    _end: int = 0

    def __post_init__(self) -> None:
        weakref.finalize(self, self._file.close)

    def append(self, columns: Columns, digits: Digits) -> bool:
        """Write a run at the end; whether there was room."""
        rows = columns[0].size
        if not rows:
            return True
        run = Run(self._end, rows, tuple(column.dtype for column in columns), digits)
        try:
            for column in columns:
                left = memoryview(np.ascontiguousarray(column).view(np.uint8).data)
                self._end += len(left)
                while left:
                    left = left[self._file.write(left) :]
        except OSError:
            return False
        self.runs.append(run)
        self.rows += rows
        return True

    def read(self, run: Run) -> list[NDArray[Any]]:
        """The columns of a run."""
        buffer = np.empty(sum(run.rows * kind.itemsize for kind in run.types), dtype=np.uint8)
        left = memoryview(buffer.data)
        with self._lock:
            self._file.seek(run.start)
            while left:
                left = left[self._file.readinto(left) :]
        ends = np.cumsum([0, *(run.rows * kind.itemsize for kind in run.types)])
        return [buffer[a:b].view(kind) for a, b, kind in zip(ends, ends[1:], run.types, strict=False)]


def draw(copies: Sequence[Copied], rows: int, seed: int) -> Iterator[tuple[Run, list[NDArray[Any]]]]:
    """About so many rows of all copies, at random, run by run; all where there are no more."""
    rng, of = np.random.default_rng(seed), sum(copied.rows for copied in copies)
    drawn = (
        (copied, run, _some(run.rows, rows / of, rng) if rows < of else slice(None)) for copied in copies for run in copied.runs
    )
    return in_lanes(drawn, lambda lane, part: (part[1], [column[part[2]] for column in part[0].read(part[1])]))


def _some(rows: int, share: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """Each of the rows with the same chance, through the gaps between those taken."""
    expected = rows * share
    places = np.cumsum(rng.geometric(share, int(expected + 8 * np.sqrt(expected) + 16))) - 1
    return np.asarray(places[: np.searchsorted(places, rows)], dtype=np.intp)
