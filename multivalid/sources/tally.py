"""Which combinations of values are worth counting when a lazy frame is opened."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals as nw

from multivalid.errors import PredicateError
from multivalid.groups.family import Groups
from multivalid.groups.items import Bins, Cross, Flags
from multivalid.groups.nodes import columns
from multivalid.groups.predicate import Predicate, parse
from multivalid.groups.remote import Frame, fetch
from multivalid.sources.guesses import Guesses
from multivalid.sources.looked_up import TALLIED

MOST_TALLIED = 1_000_000  # combinations that come to the driver
FEWEST_EACH = 4  # rows that a combination must stand for, on average, to be worth it


def to_tally(opened: Frame, spec: Groups | None) -> tuple[Guesses, tuple[str, ...]]:
    """The columns whose combinations are worth counting, if they are few, and the sample that told so."""
    schema = opened.collect_schema()
    columns = () if spec is None else columns_asked(spec, schema.names())
    rows = int(fetch(opened.select(nw.len().alias("n")))["n"].item()) if columns else 0
    guesses = Guesses(opened, rows, columns)
    if not rows or not all(name in schema and schema[name] in TALLIED for name in columns):
        return guesses, ()
    return guesses, columns if guesses.combinations(columns) <= min(MOST_TALLIED, rows / FEWEST_EACH) else ()


def columns_asked(groups: Groups, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that items mention, each once; none where an item cannot be understood, which whoever fits it will say."""
    parts = [part for entry in groups.entries for part in (entry.item.parts if isinstance(entry.item, Cross) else (entry.item,))]
    found: list[str] = []
    try:
        for part in parts:
            if isinstance(part, Flags):
                return ()
            if isinstance(part, Bins) or part in names:
                found.append(part.column if isinstance(part, Bins) else str(part))
            else:
                found += columns(part.condition if isinstance(part, Predicate) else parse(part).condition)
    except PredicateError:
        return ()
    return tuple(dict.fromkeys(found))
