"""Which of the fitted groups stay: every name once, no group empty, too small, or with the rows of another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from multivalid.errors import InputError
from multivalid.groups.arrays import ArrayColumns
from multivalid.groups.blocks import Block
from multivalid.groups.evaluation import Kept, Sources, Span, masks_of
from multivalid.groups.fitting import Fitter
from multivalid.groups.items import Entry, Flags, Mask
from multivalid.groups.nodes import render

EVERYONE = "everyone"


@dataclass(frozen=True)
class Family:
    """What fitting found: names with the population first, the kept groups, the number of array columns, notes."""

    names: tuple[str, ...]
    kept: tuple[Kept, ...]
    arrays: int
    notes: list[str]


def fit_family(entries: Sequence[Entry], min_size: int, data: Any, rows: int | None) -> Family:
    """Fit every entry, then choose."""
    fitter = Fitter(data)
    flags = [entry.item for entry in entries if isinstance(entry.item, Flags)]
    arrays = ArrayColumns(flags)
    fitted, candidates = [], []
    for block, names in _blocks(entries, fitter):
        fitted.append(Kept(block, tuple(range(block.size))))
        candidates += names
    columns = _columns(fitted)
    notes = fitter.notes
    reasons: Iterator[str | None]
    if data is None and rows is None and not flags:
        reasons = _reasons_without_rows(fitted, candidates)
    else:
        sources = Sources.of(data, columns, arrays, rows)
        if sources.rows == 0:
            raise InputError("groups cannot be fitted on empty data: at least one row is needed.")
        reasons = _reasons(masks_of(fitted, sources), candidates, sources.rows, min_size)
    chosen, kept = _kept(fitted, candidates, reasons, notes)
    return Family(chosen, kept, len(arrays), notes)


def _blocks(entries: Sequence[Entry], fitter: Fitter) -> Iterator[tuple[Block | Span, list[str]]]:
    columns = numbered = 0
    for entry in entries:
        if not isinstance(entry.item, Flags):
            yield fitter.fit(entry.item, entry.label)
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


def _columns(fitted: Sequence[Kept]) -> tuple[str, ...]:
    used = (one.block.columns for one in fitted if not isinstance(one.block, Span))
    return tuple(dict.fromkeys(name for names in used for name in names))


def _reasons(masks: Iterator[Mask], names: Sequence[str], rows: int, min_size: int) -> Iterator[str | None]:
    """Per group, why it is left out, or None."""
    seen = {_digest(np.ones(rows, dtype=np.bool_)): EVERYONE}
    for name, mask in zip(names, masks, strict=True):
        size = int(np.count_nonzero(mask))
        if size == 0:
            yield "has no rows"
        elif size < min_size:
            yield f"has {size:,} row{'s' if size > 1 else ''}, below min_size={min_size}"
        elif (other := seen.setdefault(_digest(mask), name)) is not name:
            yield f"has the same rows as {other!r}"
        else:
            yield None


def _reasons_without_rows(fitted: Sequence[Kept], names: Sequence[str]) -> Iterator[str | None]:
    seen: dict[str, str] = {}
    conditions = (one.block.condition(code) for one in fitted if not isinstance(one.block, Span) for code in one.codes)
    for name, condition in zip(names, conditions, strict=True):
        other = seen.setdefault(render(condition), name)
        yield None if other is name else f"is the same condition as {other!r}"


def _digest(mask: Mask) -> bytes:
    # A digest, not the bits: thousands of groups on millions of rows would not fit beside the data.
    return hashlib.blake2b(np.packbits(mask).data, digest_size=16).digest()


def _kept(
    fitted: Sequence[Kept], names: Sequence[str], reasons: Iterator[str | None], notes: list[str]
) -> tuple[tuple[str, ...], tuple[Kept, ...]]:
    chosen: dict[str, None] = {EVERYONE: None}
    remaining = iter(names)
    kept = []
    for one in fitted:
        codes = []
        for code in one.codes:
            name, reason = next(remaining), next(reasons)
            if reason is None:
                codes.append(code)
                chosen[_unused(name, chosen)] = None
            else:
                notes.append(f"group {name!r} {reason}: left out")
        kept.append(Kept(one.block, tuple(codes)))
    return tuple(chosen), tuple(kept)


def _unused(name: str, taken: dict[str, None]) -> str:
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name} ({number})"
    return candidate
