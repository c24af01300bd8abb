"""A discovery as a page for a colleague, with its numbers beside it as JSON, and as a table for a notebook."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multivalid.report import files
from multivalid.report.origin import made_with
from multivalid.report.page import TEMPLATES, environment

if TYPE_CHECKING:
    from multivalid.discover.discovery import Discovery

_HOW_TO_READ = (
    "Groups were searched on one part of the rows and tested on the other: the numbers are those of the other part, which had no say "
    "in the choice. The gap is what predictions are off by on average, above zero where they are too high; the intervals hold "
    "together with probability 95 %. A group names where predictions are off, not why."
)


def numbers(found: Discovery) -> dict[str, Any]:
    """Everything the page says, as plain data."""
    table = {name: _plain(column) for name, column in found.table.items() if name != "place"}
    return {
        "kind": "multivalid.discovery",
        "version": 1,
        "property": repr(found.target),
        "summary": found.summary().splitlines(),
        "groups": found.groups,
        "table": table,
        "candidates": {name: _plain(column) for name, column in found.candidates.items() if name != "place"},
        "rows": {"searched": found.searched, "tested": found.tested},
        "smallest": found.smallest if np.isfinite(found.smallest) else None,
        "notes": found.notes,
    }


def write(found: Discovery, path: str | os.PathLike[str], title: str | None, settings: Mapping[str, Any]) -> Path:
    """The page at `path` and the JSON file beside it, each whole or not at all."""
    shown = {"property": repr(found.target), **found.origin, **settings, **made_with()}
    content = {**numbers(found), "title": title or "Groups that nobody named", "settings": shown}
    return files.write(content, path, lambda made: page(made, found))


def page(content: dict[str, Any], found: Discovery) -> str:
    """One self-contained page."""
    template = environment().get_template("discovery.html.j2")
    style = (TEMPLATES / "report.css").read_text("utf-8")
    verdict, *lines = found.summary().splitlines()
    said = [line.removeprefix("- ") for line in lines]
    return str(
        template.render(report=content, style=style, verdict=verdict, said=said, table=table(found), how_to_read=_HOW_TO_READ)
    )


def fragment(found: Discovery) -> str:
    """Summary, table and notes for a notebook; every text escaped."""
    first, *_ = found.summary().splitlines()
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in found.notes)
    return f"<p>{html.escape(first)}</p>{table(found)}" + (f"<ul>{notes}</ul>" if notes else "")


def table(found: Discovery) -> str:
    """The groups found with their numbers; nothing where there are none."""
    if not len(found.table["name"]):
        return ""
    names = [name for name in found.table if name != "place"]
    head = "".join(f'<th scope="col">{html.escape(name.replace("_", " "))}</th>' for name in names)
    rows = ["".join(f"<td>{_cell(found.table[name][i])}</td>" for name in names) for i in range(len(found.table["name"]))]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<table class="data"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return f"<code>{html.escape(value)}</code>"
    return f"{value:,}" if isinstance(value, (int, np.integer)) else f"{value:.4g}"


def _plain(column: Any) -> list[Any]:
    return [None if isinstance(value, float) and not np.isfinite(value) else value for value in column.tolist()]
