"""Files in and out: CSV and Parquet through DuckDB, and outputs that appear whole or not at all."""

from __future__ import annotations

import csv
import glob
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from multivalid.cli.exits import bad_data, one_line, usage

PARQUET, CSV = (".parquet", ".pq"), (".csv", ".csv.gz", ".tsv")
TAB = "\\t"
HELD = "mv_held_out"


@dataclass
class Store:
    """A DuckDB connection with a memory limit and a folder of its own for what does not fit."""

    memory: str = "1GB"
    folder: Path = field(default_factory=Path)
    connection: Any = None

    def open(self, paths: list[str], *, numbers: Sequence[str | None] = (), share: float | None = None, seed: int = 0) -> Any:
        """The rows of all files as one relation; `numbers` must be numeric, and with `share` a boolean column marks rows held out."""
        files = expand(paths)
        if files[0].lower().endswith(CSV):
            files = [self._as_parquet(files, [name for name in numbers if name is not None])]
        names = [name.replace("'", "''") for name in files]
        source = "read_parquet([" + ", ".join(f"'{name}'" for name in names) + "]"
        try:
            if share is None:
                return self.connection.sql(f"SELECT * FROM {source})")
            # A row is known by its file and its place in it, so every query sees the same rows held out.
            mark = f"hash(parse_filename(filename), file_row_number, {seed}) % 1000000 < {round(share * 1_000_000)}"
            query = f"SELECT * EXCLUDE (filename, file_row_number), {mark} AS {HELD} FROM {source}, filename=true, file_row_number=true)"
            return self.connection.sql(query)
        except Exception as error:
            raise bad_data(f"{files[0]} cannot be read: {one_line(error)[:300]}") from None

    def _as_parquet(self, files: list[str], numbers: list[str]) -> str:
        """Text is read once, checked to the last row, and kept as Parquet for the passes that follow."""
        for name in files:
            if os.path.getsize(name) == 0:
                raise bad_data(f"{name} is empty.")
        target = str(self.folder / "rows.parquet")
        listed = ", ".join("'" + name.replace("'", "''") + "'" for name in files)
        try:
            mark = TAB if files[0].lower().endswith(".tsv") else ","
            read = f"read_csv([{listed}], header=true, delim='{mark}', null_padding=false)"
            self.connection.execute(f"COPY (SELECT * FROM {read}) TO '{target}' (FORMAT parquet)")
        except Exception as error:
            raise bad_data(_csv_problem(files[0], str(error))) from None
        for name in numbers:
            self._numeric(files[0] if len(files) == 1 else "the files", target, name)
        return target

    def _numeric(self, source: str, target: str, name: str) -> None:
        """A column that a stray text has made a text column: say where."""
        rows = self.connection.sql(f"SELECT * FROM read_parquet('{target}', file_row_number=true)")
        kinds = dict(zip(rows.columns, map(str, rows.types), strict=True))
        if kinds.get(name) != "VARCHAR":
            return
        column = '"' + name.replace('"', '""') + '"'
        bad = f"SELECT file_row_number, {column} FROM rows WHERE {column} IS NOT NULL AND TRY_CAST({column} AS DOUBLE) IS NULL"
        found = self.connection.sql(f"{bad} ORDER BY 1 LIMIT 1").fetchall()
        if found:
            raise bad_data(
                f"{source}, line {found[0][0] + 2}: column {name!r} holds {str(found[0][1])[:40]!r}, which is not a number."
            )


@contextmanager
def store(memory: str = "1GB") -> Iterator[Store]:
    """A store that cleans up behind itself."""
    try:
        import duckdb
    except ImportError:
        raise usage("the command line needs DuckDB: pip install 'multivalid[cli]'.") from None
    with tempfile.TemporaryDirectory(prefix="multivalid_") as folder:
        connection = duckdb.connect()
        try:
            connection.execute(f"SET memory_limit='{memory}'")
        except Exception:
            raise usage(f"--memory {memory!r} is not an amount such as 1GB or 500MB.") from None
        connection.execute(f"SET temp_directory='{folder}'")
        connection.execute("SET enable_progress_bar=false")
        yield Store(memory, Path(folder), connection)
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
        if os.path.isdir(path):
            found = sorted(str(p) for p in Path(path).rglob("*") if str(p).lower().endswith((*PARQUET, *CSV)))
            if not found:
                raise bad_data(f"{path} is a folder without .parquet or .csv files.")
            files += found
        elif any(mark in path for mark in "*?["):
            found = sorted(glob.glob(path, recursive=True))
            if not found:
                raise bad_data(f"no file matches {path}.")
            files += found
        elif not os.path.exists(path):
            raise bad_data(f"{path} does not exist.")
        else:
            files.append(path)
    kinds = {_kind(name) for name in files}
    if len(kinds) > 1:
        raise bad_data("the files are of different kinds; give only .parquet or only .csv.")
    return files


def _kind(name: str) -> str:
    if name.lower().endswith(PARQUET):
        if os.path.getsize(name) == 0:
            raise bad_data(f"{name} is empty.")
        return "parquet"
    if name.lower().endswith(CSV):
        return "csv"
    raise bad_data(f"{name} is neither .parquet nor .csv; convert it first.")


def _csv_problem(name: str, message: str) -> str:
    line = re.search(r"on Line: (\d+)", message)
    reason = re.search(
        r"(Expected Number of Columns: \d+ Found: \d+|Could not convert [^\n]*|Error when converting [^\n]*)", message
    )
    if line and reason:
        return f"{name}, line {line.group(1)}: {reason.group(1).strip().lower().rstrip('.')}."
    return _odd_row(name) or f"{name} cannot be read as CSV: {one_line(message)[:250]}"


def _odd_row(name: str) -> str | None:
    """The first row with more or fewer fields than the header; looked for only when the engine could make nothing of the file."""
    if name.lower().endswith(".gz"):
        return None
    with open(name, encoding="utf-8", errors="replace", newline="") as file:
        reader = csv.reader(file, delimiter="\t" if name.lower().endswith(".tsv") else ",")
        head = len(next(reader, []))
        for row in reader:
            if row and len(row) != head:
                return f"{name}, line {reader.line_num}: {len(row)} fields where the header has {head}."
    return None


def check_output(path: Path | None, *suffixes: str) -> None:
    """Refuse an output before any work is done: wrong suffix, a folder, or a place that cannot be written to."""
    if path is None:
        return
    if suffixes and not str(path).lower().endswith(suffixes):
        raise usage(f"{path} must end in {' or '.join(suffixes)}.")
    if path.is_dir():
        raise usage(f"cannot write {path}: it is a folder.")
    parent = path.parent
    if not parent.is_dir():
        raise usage(f"cannot write {path}: the folder {parent} does not exist.")
    if path.exists() and not os.access(path, os.W_OK):
        raise usage(f"cannot write {path}: permission denied.")
    try:  # trying is the only way to know: read-only mounts and special folders answer os.access as if they could be written
        tempfile.TemporaryFile(dir=parent).close()
    except OSError as error:
        raise usage(f"cannot write {path}: {(error.strerror or str(error)).lower()}.") from None


def write(relation: Any, path: Path) -> None:
    """A relation to CSV or Parquet by suffix, through a temporary name beside the target."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        if str(path).lower().endswith(PARQUET):
            relation.write_parquet(str(temporary), compression="zstd")
        else:
            relation.write_csv(str(temporary), header=True)
        os.replace(temporary, path)
    except OSError as error:
        raise usage(f"cannot write {path}: {error.strerror or error}.") from None
    finally:
        temporary.unlink(missing_ok=True)
