"""The first look at a lazy frame: as its rows pass by in this process where keys are whole numbers, else by queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw

from multivalid.atoms.frame_columns import Look, as_given
from multivalid.atoms.join_keys import WHOLE
from multivalid.atoms.names import HELD, WEIGHT
from multivalid.atoms.seen import Seen
from multivalid.groups.family import Groups
from multivalid.groups.lazy import COUNT
from multivalid.groups.remote import Frame, fetch
from multivalid.sources.first_look import Reader, look_passing
from multivalid.sources.guesses import Guesses
from multivalid.sources.passing_rows import Copies
from multivalid.sources.tally import FEWEST_EACH, MOST_TALLIED, columns_asked, to_tally

TOGETHER = 64  # combinations up to which one look gives totals and counts: many sums over many combinations cost more than two


@dataclass(frozen=True)
class Opening:
    """A frame with fixed names, without rows of no weight; what was seen of all rows and of these, by whether they are held out."""

    frame: Frame
    all_rows: Seen
    used: dict[bool, Seen]
    guesses: Guesses
    copies: Copies = field(default_factory=dict)

    @property
    def seen(self) -> Seen:
        """What was seen of the rows with weight."""
        return Seen().plus(self.used[False]).plus(self.used.get(True, Seen()))


@dataclass(frozen=True)
class Given:
    """A frame, and what its columns are called."""

    frame: Frame
    y_true: Any
    y_pred: Any
    sample_weight: Any


def first_look(given: Given, opened: Frame, spec: Groups | None, *, copying: bool) -> Opening:
    """Look at a frame with fixed names, which may say of each row whether it is held out."""
    held = HELD in opened.collect_schema().names()
    return _passing(given, opened, spec, held, copying) or _asking(opened, spec, held, given.sample_weight is None)


def _passing(given: Given, opened: Frame, spec: Groups | None, held: bool, copying: bool) -> Opening | None:
    """None where rows do not pass by, or combinations of keys are too many to be worth counting."""
    schema, known = opened.collect_schema(), opened.implementation
    keys = () if spec is None else columns_asked(spec, schema.names())
    if not keys or not (known.is_duckdb() or known.is_polars()) or any(schema.get(name) not in WHOLE for name in keys):
        return None
    slim = opened.select(
        *as_given(given.frame, given.y_true, given.y_pred, given.sample_weight),
        *(_narrow(name, schema) for name in [*keys, *([HELD] if held else [])]),
    )
    reader = Reader(keys, plain=given.sample_weight is None, held=held, copying=copying, most=MOST_TALLIED)
    found = look_passing(slim, reader, {name: schema[name] for name in keys})
    if found is None or len(found.tallied) * FEWEST_EACH > sum(seen.rows for seen in found.used.values()):
        return None
    made = Opening(
        _weighing(opened, found.all_rows), found.all_rows, found.used, Guesses(opened, 0, tallied=found.tallied), found.copies
    )
    return replace(made, guesses=replace(made.guesses, rows=int(made.seen.rows)))


def _narrow(name: str, schema: Any) -> nw.Expr:
    """Truth values as whole numbers: they come several times faster than bits."""
    return (nw.col(name).cast(nw.Int8) if schema[name] == nw.Boolean else nw.col(name)).alias(name)


def _asking(opened: Frame, spec: Groups | None, held: bool, plain: bool) -> Opening:
    guesses, keys = to_tally(opened, spec)
    together = keys if keys and guesses.combinations(keys) <= TOGETHER else ()
    look = Look.at(opened, [*together, *([HELD] if held else [])], plain=plain)
    all_rows = look.seen()
    if all_rows.weightless:
        opened = _weighing(opened, all_rows)
        look = Look.at(opened, [*together, *([HELD] if held else [])], plain=plain)
    if keys:
        guesses.tallied = look.counted(keys) if together else _tally(opened, keys)
    used = {out: look.seen(out) for out in (False, True)} if held else {False: look.seen()}
    made = Opening(opened, all_rows, used, guesses)
    return replace(made, guesses=replace(guesses, rows=int(made.seen.rows), _known={}))


def _weighing(opened: Frame, seen: Seen) -> Frame:
    """A row of weight 0 is not there."""
    return opened.filter(nw.col(WEIGHT) > 0) if seen.weightless else opened


def _tally(opened: Frame, keys: Sequence[str]) -> nw.DataFrame[Any]:
    """The combinations of keys, and how many rows have each."""
    lines = fetch(opened.select(*keys).group_by(list(keys)).agg(nw.len().alias(COUNT)))
    return lines.with_columns(nw.col(COUNT).cast(nw.Int64))
