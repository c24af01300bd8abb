"""A discovery as a page for a colleague, with its numbers beside it as JSON, and as a table for a notebook."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multivalid.errors import InputError
from multivalid.report.page import numbers_beside
from multivalid.storage import refuse_model, write_text

if TYPE_CHECKING:
    from multivalid.discover.discovery import Discovery

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b}"
    "table{border-collapse:collapse;width:100%}th,td{padding:.35rem .6rem;border-bottom:1px solid #ddd;text-align:right}"
    "th:first-child,td:first-child{text-align:left}code{white-space:normal}"
)
_HOW_TO_READ = (
    "Groups were searched on one part of the rows and tested on the other: the numbers are those of the other part, which had no say "
    "in the choice. The gap is what predictions are off by on average, above zero where they are too high; the intervals hold "
    "together with probability 95 %. A group names where predictions are off, not why."
)


def content(found: Discovery) -> dict[str, Any]:
    """Everything the page says, as plain data."""
    table = {name: _plain(column) for name, column in found.table.items() if name != "place"}
    return {
        "property": repr(found.target),
        "summary": found.summary().splitlines(),
        "groups": found.groups,
        "table": table,
        "candidates": {name: _plain(column) for name, column in found.candidates.items() if name != "place"},
        "rows": {"searched": found.searched, "tested": found.tested},
        "smallest": found.smallest if np.isfinite(found.smallest) else None,
        "notes": found.notes,
    }


def write(found: Discovery, path: str | os.PathLike[str], title: str | None) -> Path:
    """The page at `path` and the JSON file beside it, each whole or not at all."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm", ".json"):
        raise InputError(f"path must end in .html or .json, got {os.fspath(path)!r}.")
    refuse_model(target)
    alone = target.suffix.lower() == ".json"
    numbers = json.dumps(content(found), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    write_text(target if alone else numbers_beside(target), numbers)
    if not alone:
        write_text(target, page(found, title or "Groups that nobody named"))
    return target


def page(found: Discovery, title: str) -> str:
    """One self-contained page."""
    heading = html.escape(title)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{heading}</title><style>{_STYLE}</style></head><body>'
        f"<h1>{heading}</h1>{fragment(found)}<h2>How to read this</h2><p>{html.escape(_HOW_TO_READ)}</p></body></html>\n"
    )


def fragment(found: Discovery) -> str:
    """Summary, table and notes; every text escaped."""
    first, *_ = found.summary().splitlines()
    parts = [f"<p>{html.escape(first)}</p>"]
    if len(found.table["name"]):
        names = [name for name in found.table if name != "place"]
        head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in names)
        rows = ["".join(f"<td>{_cell(found.table[name][i])}</td>" for name in names) for i in range(len(found.table["name"]))]
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>")
    if found.notes:
        parts.append("<ul>" + "".join(f"<li>{html.escape(note)}</li>" for note in found.notes) + "</ul>")
    return "".join(parts)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return f"<code>{html.escape(value)}</code>"
    return f"{value:,}" if isinstance(value, (int, np.integer)) else f"{value:.4g}"


def _plain(column: Any) -> list[Any]:
    return [None if isinstance(value, float) and not np.isfinite(value) else value for value in column.tolist()]
