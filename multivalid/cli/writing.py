"""Files out: all that a command writes appears together when its work is done, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from multivalid.cli import signals
from multivalid.cli.exits import usage
from multivalid.cli.reading import PARQUET
from multivalid.errors import InputError
from multivalid.report.files import files_of
from multivalid.storage import refuse_model


def check_output(path: Path | None, *suffixes: str) -> None:
    """Refuse an output before any work is done: wrong suffix, a folder, or a place that cannot be written to."""
    if path is None:
        return
    if suffixes and not str(path).lower().endswith(suffixes):
        raise usage(f"{path} must end in {' or '.join(suffixes)}.")
    if path.is_dir():
        raise usage(f"cannot write {path}: it is a folder.")
    parent = Path(os.path.realpath(path)).parent
    if not parent.is_dir():
        raise usage(f"cannot write {path}: the folder {parent if path.is_symlink() else path.parent} does not exist.")
    if path.exists() and not os.access(path, os.W_OK):
        raise usage(f"cannot write {path}: permission denied.")
    try:  # trying is the only way to know: read-only mounts and special folders answer os.access as if they could be written
        tempfile.TemporaryFile(dir=parent).close()
    except OSError as error:
        raise usage(f"cannot write {path}: {(error.strerror or str(error)).lower()}.") from None


def check_report(path: Path | None) -> None:
    """The same for a page or its numbers, which must not take the place of a model."""
    check_output(path, ".html", ".json")
    for file in [] if path is None else files_of(path):
        try:
            refuse_model(file)
        except InputError as error:
            raise usage(str(error)) from None


def check_apart(report: Path | None, option: str, path: Path | None) -> None:
    """Refuse a report that would take the place of another file of the command, with its page or with the numbers beside it."""
    if report is None or path is None:
        return
    for file in files_of(report):
        if os.path.realpath(file) == os.path.realpath(path):
            raise usage(f"--report {report} would write {file}, which is also the {option}; rename one of them.")


class Outputs:
    """Names to write to now, in hidden folders beside the files that they become at the end."""

    def __init__(self) -> None:
        self._folders: list[tuple[tempfile.TemporaryDirectory[str], Path]] = []

    def place(self, path: Path) -> Path:
        """Where to write what shall become `path` (or, through a link, the file that it points to), and files named after it."""
        target = Path(os.path.realpath(path))
        folder = signals.current.folder(".multivalid_", target.parent)
        self._folders.append((folder, target.parent))
        return Path(folder.name) / target.name

    def commit(self) -> None:
        """Put everything in its place; a signal that came before stops it, one that comes later does not."""
        with signals.current.deferred():
            signals.current.check()
            for folder, parent in self._folders:
                for made in sorted(Path(folder.name).iterdir()):
                    target = Path(os.path.realpath(parent / made.name))
                    if target.exists():
                        made.chmod(target.stat().st_mode & 0o777)
                    os.replace(made, target)
            if self._folders:
                signals.current.finish()

    def clear(self) -> None:
        """Remove the hidden folders."""
        for folder, _ in self._folders:
            signals.current.remove(folder)


@contextmanager
def outputs() -> Iterator[Outputs]:
    """Files that appear when the block ends well."""
    made = Outputs()
    try:
        yield made
        made.commit()
    except OSError as error:
        raise usage(f"cannot write the output: {(error.strerror or str(error)).lower()}.") from None
    finally:
        made.clear()


def write_rows(relation: Any, path: Path) -> None:
    """A relation to CSV or Parquet, by suffix."""
    if str(path).lower().endswith(PARQUET):
        relation.write_parquet(str(path), compression="zstd")
    else:
        relation.write_csv(str(path), header=True)
