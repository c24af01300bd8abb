"""Real databases for the tests of SQL: a table goes in, the rows of a statement come out."""

from __future__ import annotations

import math
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import duckdb

Table = dict[str, list[Any]]


class Duck:
    """DuckDB, in this process."""

    dialect = "duckdb"
    types: ClassVar = {
        "int": "BIGINT",
        "float": "DOUBLE",
        "text": "VARCHAR",
        "bool": "BOOLEAN",
        "date": "DATE",
        "time": "TIMESTAMP",
    }

    def __init__(self) -> None:
        self.connection = duckdb.connect()

    def load(self, name: str, table: Table, kinds: dict[str, str]) -> None:
        self.connection.execute(f"DROP TABLE IF EXISTS {name}")
        self.connection.execute(created(name, kinds, self.types))
        marks = ", ".join("?" * len(kinds))
        self.connection.executemany(f"INSERT INTO {name} VALUES ({marks})", list(zip(*table.values(), strict=True)))

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement).fetchall()


class Lite:
    """SQLite, in this process."""

    dialect = "sqlite"
    types: ClassVar = {"int": "INTEGER", "float": "REAL", "text": "TEXT", "bool": "BOOLEAN", "date": "TEXT", "time": "TEXT"}

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")

    def load(self, name: str, table: Table, kinds: dict[str, str]) -> None:
        self.connection.execute(f"DROP TABLE IF EXISTS {name}")
        self.connection.execute(created(name, kinds, self.types))
        marks = ", ".join("?" * len(kinds))
        self.connection.executemany(f"INSERT INTO {name} VALUES ({marks})", list(zip(*table.values(), strict=True)))

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement).fetchall()


class Postgres:
    """A PostgreSQL server of its own, on a socket in a temporary folder, talked to through psql."""

    dialect = "postgres"
    types: ClassVar = {
        "int": "BIGINT",
        "float": "DOUBLE PRECISION",
        "text": "TEXT",
        "bool": "BOOLEAN",
        "date": "DATE",
        "time": "TIMESTAMP",
        "instant": "TIMESTAMPTZ",
    }

    def __init__(self) -> None:
        binaries = server_binaries()
        if binaries is None:
            raise FileNotFoundError("no PostgreSQL server is installed (Debian: apt-get install postgresql)")
        self.folder = Path(tempfile.mkdtemp(prefix="mvpg"))
        if os.geteuid() == 0:  # the server refuses to run as root
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        self._control = str(binaries / "pg_ctl")
        data = str(self.folder / "data")
        self._run([str(binaries / "initdb"), "-D", data, "-A", "trust", "-U", "tester", "-E", "UTF8", "--no-locale", "-N"])
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off"
        self._run([self._control, "-D", data, "-w", "-l", str(self.folder / "log"), "-o", options, "start"])

    def _run(self, command: Sequence[str]) -> None:
        prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        subprocess.run([*prefix, *command], check=True, capture_output=True, cwd=self.folder, timeout=120)

    def stop(self) -> None:
        self._run([self._control, "-D", str(self.folder / "data"), "-m", "immediate", "stop"])
        shutil.rmtree(self.folder, ignore_errors=True)

    def load(self, name: str, table: Table, kinds: dict[str, str]) -> None:
        lines = "\n".join("\t".join(_copied(value) for value in row) for row in zip(*table.values(), strict=True))
        script = f"DROP TABLE IF EXISTS {name};\n{created(name, kinds, self.types)};\nCOPY {name} FROM STDIN;\n{lines}\n\\.\n"
        self._psql(script)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Rows of text (None for null); numbers come with all their digits."""
        answer = self._psql(statement + ";\n")
        return [tuple(None if cell == "\\N" else cell for cell in line.split("\x1f")) for line in answer.splitlines()]

    def _psql(self, script: str) -> str:
        command = ["psql", "-X", "-q", "-A", "-t", "-F", "\x1f", "-P", "null=\\N", "-v", "ON_ERROR_STOP=1",
                   "-h", str(self.folder), "-U", "tester", "-d", "postgres"]  # fmt: skip
        done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise AssertionError(done.stderr[:2000])
        return done.stdout


def server_binaries() -> Path | None:
    """Where the server's programs are; Debian keeps them off the path."""
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin")) if Path("/usr/lib/postgresql").is_dir() else []
    return folders[-1] if folders and shutil.which("psql") else None


def created(name: str, kinds: dict[str, str], types: dict[str, str]) -> str:
    columns = ", ".join('"' + column.replace('"', '""') + '" ' + types[kind] for column, kind in kinds.items())
    return f"CREATE TABLE {name} ({columns})"


def _copied(value: Any) -> str:
    """A value in the text format of COPY."""
    if value is None:
        return "\\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value).replace("inf", "Infinity")
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
