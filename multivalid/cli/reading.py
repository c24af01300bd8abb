"""Files in: CSV and Parquet through DuckDB, as one relation."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from multivalid.cli import csv_files, signals
from multivalid.cli.csv_files import Layout
from multivalid.cli.engine_names import file_name, literal, unused
from multivalid.cli.exits import bad_data, one_line, usage

PARQUET, CSV = (".parquet", ".pq"), (".csv", ".csv.gz", ".tsv", ".tsv.gz")


@dataclass(frozen=True)
class Data:
    """What a command is asked to read: files, folders or patterns, how text files are laid out, and memory for the engine."""

    paths: list[str]
    layout: Layout = field(default_factory=Layout)
    memory: str = "1GB"

    @property
    def settings(self) -> dict[str, str]:
        """What a report says of its data: the files as they were given."""
        return {"data": ", ".join(self.paths)}

    @contextmanager
    def open(self, numbers: Sequence[str | None] = ()) -> Iterator[Store]:
        """The rows of all files while the block lasts; `numbers` are columns that must be numeric."""
        with _folder() as folder, _connection(self.memory, folder) as connection:
            files = expand(self.paths)
            if files[0].lower().endswith(CSV):
                named = [name for name in numbers if name is not None]
                files = [csv_files.as_parquet(connection, files, self.layout, named, folder / "rows.parquet")]
            yield Store(connection, files)


@dataclass(frozen=True)
class Store:
    """Parquet files and the connection that reads them."""

    connection: Any
    files: list[str]

    @property
    def rows(self) -> Any:
        """All rows, as a relation."""
        return self._read("SELECT * FROM {source}")

    def marked(self, share: float, seed: int) -> tuple[Any, str]:
        """All rows with a boolean column that marks a random share of them, and the name of that column.

        A row is known by its file and its place in it, so every query sees the same rows marked.
        """
        columns = self.rows.columns
        name, file = unused("held_out", columns), unused("file", columns)
        limit = min(round(share * 2.0**64), 2**64 - 1)
        if "file_row_number" in columns:  # a name that the engine keeps for itself: count the rows instead
            place, options, extra = "row_number() OVER ()", "", file
        else:
            place, options, extra = "file_row_number", ", file_row_number=true", f"{file}, file_row_number"
        mark = f"hash(parse_filename({file}), {place}, {seed}) < {limit}::UBIGINT"  # a remainder would cost twice as much
        query = f"SELECT * EXCLUDE ({extra}), {mark} AS {name} FROM {{source}}"
        return self._read(query, f", filename='{file}'{options}"), name

    def _read(self, query: str, options: str = "") -> Any:
        listed = ", ".join(file_name(name) for name in self.files)
        try:
            return self.connection.sql(query.format(source=f"read_parquet([{listed}]{options})"))
        except Exception as error:
            raise bad_data(f"{self.files[0]} cannot be read: {one_line(error)[:300]}") from None


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder for copies of the rows, which are gone when the command ends, however it ends."""
    folder = signals.current.folder("multivalid_")
    try:
        yield Path(folder.name)
    finally:
        signals.current.remove(folder)


@contextmanager
def _connection(memory: str, folder: Path) -> Iterator[Any]:
    """A DuckDB connection with a memory limit, which puts what does not fit into the folder."""
    with signals.current.deferred():  # a signal in the middle of its import ends the whole process, with a message of its own
        import duckdb
    signals.current.check()
    connection = duckdb.connect()
    signals.current.connections.append(connection)
    try:
        try:
            connection.execute(f"SET memory_limit={literal(memory)}")
        except duckdb.Error:
            raise usage(f"--memory {memory!r} is not an amount such as 1GB or 500MB.") from None
        connection.execute(f"SET temp_directory={literal(str(folder))}")
        connection.execute("SET enable_progress_bar=false")
        yield connection
    finally:
        signals.current.connections.remove(connection)
        connection.close()


def expand(paths: list[str]) -> list[str]:
    """Files behind names, folders and patterns; all of one kind.

    Examples
    --------
    >>> expand(["nothing-*.csv"])
    Traceback (most recent call last):
    multivalid.cli.exits.Stop: no file matches nothing-*.csv.
    """
    files: list[str] = []
    for path in paths:
        files += _files(path)
    kinds = {_kind(name) for name in files}
    if len(kinds) > 1:
        raise bad_data("the files are of different kinds; give only .parquet or only .csv.")
    return files


def _files(path: str) -> list[str]:
    if os.path.isdir(path):
        found = sorted(str(p) for p in Path(path).rglob("*") if str(p).lower().endswith((*PARQUET, *CSV)))
        if not found:
            raise bad_data(f"{path} is a folder without .parquet or .csv files.")
        return found
    if os.path.exists(path):  # first, because a name such as x[1].csv is a file before it is a pattern
        return [path]
    if not any(mark in path for mark in "*?["):
        raise bad_data(f"{path} does not exist.")
    found = sorted(glob.glob(path, recursive=True))
    if not found:
        raise bad_data(f"no file matches {path}.")
    return found


def _kind(name: str) -> str:
    if name.lower().endswith((*PARQUET, *CSV)):
        if os.path.getsize(name) == 0:
            raise bad_data(f"{name} is empty.")
        return "parquet" if name.lower().endswith(PARQUET) else "csv"
    raise bad_data(f"{name} is neither .parquet nor .csv; convert it first.")
