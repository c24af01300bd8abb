"""Which of the fitted groups stay: every name once, no group empty, too small, or with the rows of another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from multivalid.errors import InputError
from multivalid.groups.arrays import ArrayColumns
from multivalid.groups.blocks import Block
from multivalid.groups.columns import Columns
from multivalid.groups.evaluation import members_of
from multivalid.groups.fitting import Fitter
from multivalid.groups.items import Cross, Entry, Flags
from multivalid.groups.kept import EVERYONE, Kept, Span
from multivalid.groups.membership import Membership
from multivalid.groups.nodes import render

NAMED = 3  # groups named in a note about many


class TooFew(str):
    """The reason that many groups can have in common, so that they share a note."""

    limit: int

    def __new__(cls, size: int, limit: int) -> TooFew:
        made = super().__new__(cls, f"has {size:,} row{'s' if size > 1 else ''}, below min_size={limit}")
        made.limit = limit
        return made


@dataclass(frozen=True)
class Family:
    """What fitting found: names with the population first, the kept groups, the number of array columns, notes."""

    names: tuple[str, ...]
    kept: tuple[Kept, ...]
    arrays: int
    notes: list[str]
    membership: Membership | None  # of the rows that were fitted on, where there are any


def fit_family(entries: Sequence[Entry], min_size: int, missing: bool, data: Any, rows: int | None) -> Family:
    """Fit every entry, then choose."""
    columns = None if data is None else Columns(data)
    fitter = Fitter(columns, [] if columns is None else columns.names, missing)
    flags = [entry.item for entry in entries if isinstance(entry.item, Flags)]
    arrays, given = ArrayColumns(flags), sum(len(item.names) for item in flags)
    fitted, candidates = [], []
    for block, names in _blocks(entries, fitter):
        fitted.append(Kept(block, tuple(range(block.size))))
        candidates += names
    notes = fitter.notes
    if data is None and rows is None and not flags:
        chosen, kept = _kept(fitted, candidates, _reasons_without_rows(fitted, candidates), notes)
        return Family(chosen, kept, given, notes, None)
    # Columns that are not there were refused when items met data.
    used = [name for one in fitted if not isinstance(one.block, Span) for name in one.block.columns] if columns is None else []
    members = members_of(fitted, list(dict.fromkeys(used)), columns, arrays, rows)
    if members.rows == 0:
        raise InputError("groups cannot be fitted on empty data: at least one row is needed.")
    reasons = list(_reasons(members, candidates, min_size))
    chosen, kept = _kept(fitted, candidates, iter(reasons), notes)
    left = [0, *(g for g, reason in enumerate(reasons, 1) if reason is None)]
    return Family(chosen, kept, given, notes, members if len(left) == len(candidates) + 1 else members.choose(left))


def _blocks(entries: Sequence[Entry], fitter: Fitter) -> Iterator[tuple[Block | Span, list[str]]]:
    columns = numbered = 0
    for entry in entries:
        if not isinstance(entry.item, Flags):
            yield fitter.cross(entry.item, entry.label) if isinstance(entry.item, Cross) else fitter.fit(entry.item, entry.label)
            continue
        size = len(entry.item.names)
        names = []
        for index, name in enumerate(entry.item.names):
            numbered += entry.label is None and name is None
            names.append(name or _array_name(entry.label, index, size, numbered))
        yield Span(columns, size), names
        columns += size


def _array_name(label: str | None, index: int, size: int, numbered: int) -> str:
    if label is None:
        return f"group {numbered}"
    return label if size == 1 else f"{label} {index + 1}"


def _reasons(members: Membership, names: Sequence[str], min_size: int) -> Iterator[str | None]:
    """Per group, why it is left out, or None."""
    twins = members.twins()
    for group, size in enumerate(members.sizes()[1:], 1):
        if size == 0:
            yield "has no rows"
        elif size < min_size:
            yield TooFew(size, min_size)
        elif twins[group] != group:
            yield f"has the same rows as {(EVERYONE, *names)[twins[group]]!r}"
        else:
            yield None


def _reasons_without_rows(fitted: Sequence[Kept], names: Sequence[str]) -> Iterator[str | None]:
    seen: dict[str, str] = {}
    conditions = (one.block.condition(code) for one in fitted if not isinstance(one.block, Span) for code in one.codes)
    for name, condition in zip(names, conditions, strict=True):
        other = seen.setdefault(render(condition), name)
        yield None if other is name else f"is the same condition as {other!r}"


def _kept(
    fitted: Sequence[Kept], names: Sequence[str], reasons: Iterator[str | None], notes: list[str]
) -> tuple[tuple[str, ...], tuple[Kept, ...]]:
    chosen: dict[str, None] = {EVERYONE: None}
    remaining = iter(names)
    kept = []
    small: list[tuple[str, TooFew]] = []
    for one in fitted:
        codes = []
        for code in one.codes:
            name, reason = next(remaining), next(reasons)
            if reason is None:
                codes.append(code)
                chosen[_unused(name, chosen) if name in chosen else name] = None
            elif isinstance(reason, TooFew):
                small.append((name, reason))
            elif (note := f"group {name!r} {reason}: left out") not in notes:
                notes.append(note)
        kept.append(Kept(one.block, tuple(codes)))
    if small:
        notes.append(_small_note(small))
    return tuple(chosen), tuple(kept)


def _small_note(small: Sequence[tuple[str, TooFew]]) -> str:
    """One line, however many groups are too small."""
    if len(small) == 1:
        return f"group {small[0][0]!r} {small[0][1]}: left out"
    named = ", ".join(repr(name) for name, _ in small[:NAMED]) + (", …" if len(small) > NAMED else "")
    return f"{len(small):,} groups have fewer rows than min_size={small[0][1].limit}: left out ({named})"


def _unused(name: str, taken: dict[str, None]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name} ({number})"
    return candidate
