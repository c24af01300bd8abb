"""Sums over the rows that share their groups and some whole numbers: one GROUP BY of an engine, whose result comes to the driver."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from multivalid.atoms.keys import Digits, Index, packed_bits
from multivalid.atoms.names import LABEL, PREDICTION
from multivalid.errors import InputError
from multivalid.groups.membership import Bits, Membership
from multivalid.groups.remote import draw, fetch, schema_of
from multivalid.properties.base import Array
from multivalid.sources.guesses import PROBE, expected_distinct

if TYPE_CHECKING:
    from multivalid.sources.engine_rows import EngineRows

MOST_ENTRIES = 10_000_000  # (pattern, level, label bin) triples that the driver takes: about 1 GB
SAFE_ROWS = 2_000_000  # with so few rows nothing needs to be guessed


class Crowded(InputError):
    """There are too many combinations of groups to bring to the driver."""


@dataclass(frozen=True)
class Grouped:
    """What a GROUP BY brought back: bits of the groups, further whole numbers, labels where asked for, and sums."""

    bits: Bits
    numbers: list[Index]
    sums: Array
    labels: Array | None = None


def bundle(
    rows: EngineRows,
    numbers: Sequence[tuple[nw.Expr, int]],
    sums: Sequence[nw.Expr],
    *,
    labels: bool = False,
    crowded: bool = False,
) -> Grouped:
    """Sums over the rows that share their groups and the given whole numbers (each with its size), and the label if asked.

    Where the columns that the groups use take few values together, rows are grouped by these columns and the groups are
    worked out afterwards, once per combination; else, or if that is known to be `crowded`, every row's groups are packed into keys
    by the engine.
    """
    sizes = math.prod(size for _, size in numbers)
    plain = not crowded and rows.guesses.combinations(rows.groups.columns) * sizes <= MOST_ENTRIES
    flags = [] if plain else rows.groups.expressions(schema_of(rows.frame))[1:]
    digits = Digits((2,) * len(flags) + tuple(size for _, size in numbers))
    keys = digits.pack([*flags, *(number for number, _ in numbers)]) + ([nw.col(LABEL)] if labels else [])
    unsure = len(rows) > SAFE_ROWS and (labels or plain or (1 << len(flags)) * sizes > MOST_ENTRIES)
    if unsure and (labels or not plain):
        _affordable(rows, keys)
    columns = list(rows.groups.columns) if plain else []
    names = [f"__k{i}" for i in range(len(keys))]
    slim = rows.frame.select(
        *columns,
        *(key.alias(name) for name, key in zip(names, keys, strict=True)),
        *(term.alias(f"__s{i}") for i, term in enumerate(sums)),
    )
    bundles = slim.group_by([*columns, *names]).agg(nw.col(f"__s{i}").sum() for i in range(len(sums)))
    made = fetch(bundles.head(MOST_ENTRIES + 1) if unsure else bundles)
    if unsure and len(made) > MOST_ENTRIES:  # the guess was wrong, but no more has come than was let in
        if plain and not labels:
            return bundle(rows, numbers, sums, crowded=True)
        raise _crowded(rows, f"over {MOST_ENTRIES:,}", "after all")
    fetched = [np.asarray(made[name].to_numpy()) for name in names]
    unpacked = digits.unpack(fetched[: len(digits.split)])
    totals = [np.asarray(made[f"__s{i}"].to_numpy(), dtype=np.float64) for i in range(len(sums))]
    bits = _bits(rows, made) if plain else packed_bits(unpacked[: len(flags)], len(made))
    return Grouped(bits, unpacked[len(flags) :], np.stack(totals, axis=1), fetched[-1] if labels else None)


def _bits(rows: EngineRows, made: nw.DataFrame[Any]) -> Bits:
    columns = list(rows.groups.columns)
    data = made.select(columns).to_native() if columns else None
    return Membership.from_masks(rows.groups.masks(data, n_rows=len(made)), len(made)).by_row()


def _affordable(rows: EngineRows, keys: Sequence[nw.Expr]) -> None:
    """Refuse before the driver runs out of memory."""
    needed = list(dict.fromkeys([LABEL, PREDICTION, *rows.groups.columns]))
    drawn, _ = draw(rows.frame.select(needed), PROBE, len(rows))
    probe = drawn.select(*(key.alias(f"__k{i}") for i, key in enumerate(keys)))
    often = np.asarray(probe.group_by(probe.columns).agg(nw.len().alias("__rows"))["__rows"].to_numpy())
    expected = expected_distinct(often, len(rows))
    if expected > MOST_ENTRIES:
        raise _crowded(rows, f"about {expected:,.0f}", f"{often.size:,} among {int(often.sum()):,} rows looked at")


def _crowded(rows: EngineRows, how_many: str, seen: str) -> Crowded:
    return Crowded(
        f"these {len(rows):,} rows fall into {how_many} different combinations of groups, level and label bin ({seen}), more than "
        f"the {MOST_ENTRIES:,} that the driver takes; use fewer or coarser groups (bins in place of values, fewer crossings), fewer "
        f'levels (m=), or mode="theorem" with batched=True (--mode theorem --batched), which reads the rows once per round of updates.'
    )
