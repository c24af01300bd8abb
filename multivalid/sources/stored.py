"""Rows that are dear to work out, written to a file once and read from there: a share of the rows is drawn by a sort of all of them."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path

from multivalid.groups.remote import Frame, schema_of, write

FEWEST = 1_000_000  # rows below which a query is quick to ask again


class Folder:
    """A temporary folder that is removed when nobody holds it any more, or when Python ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="multivalid_"))
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def stored(frame: Frame, columns: Sequence[str], rows: int) -> tuple[Frame, Folder | None]:
    """These columns as a Parquet file, and the folder of it, which is to be held as long as the file is read.

    The frame itself and None where it is small, its engine does not work in this process or may not write files, or a type would not
    come back as it was.
    """
    known = frame.implementation
    if rows < FEWEST or not (known.is_duckdb() or known.is_polars()):
        return frame, None
    folder, slim = Folder(), frame.select(*columns)
    made = write(slim, folder.path / "rows.parquet")
    if made is None or schema_of(made) != schema_of(slim):
        folder.remove()
        return frame, None
    return made, folder
