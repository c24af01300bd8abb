"""A page and its numbers, each written whole or not at all: every report goes through here."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from multivalid.errors import InputError
from multivalid.storage import refuse_model, write_text


def write(content: dict[str, Any], path: str | os.PathLike[str], render: Callable[[dict[str, Any]], str]) -> Path:
    """Write the page to `path` and its numbers beside it, to NAME.report.json; or only the numbers, to `path`, when it ends in .json.

    Returns the path written.
    """
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm", ".json"):
        raise InputError(f"path must end in .html or .json, got {os.fspath(path)!r}.")
    for file in files_of(target):
        refuse_model(file)
    page = None if target.suffix.lower() == ".json" else render(content)
    numbers = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    write_text(target if page is None else numbers_beside(target), numbers)
    if page is not None:
        write_text(target, page)
    return target


def files_of(path: Path) -> list[Path]:
    """All files that a report to this path writes."""
    return [path] if path.suffix.lower() == ".json" else [path, numbers_beside(path)]


def numbers_beside(page: Path) -> Path:
    """Where the numbers of a page go: not to NAME.json, which may well be the model.

    Examples
    --------
    >>> numbers_beside(Path("a.html")).name
    'a.report.json'
    """
    return page.with_suffix(".report.json")
