"""Which rows fitted blocks hold on a frame: each column is looked at once, and many conditions share one pass."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from multivalid.errors import InputError
from multivalid.groups.arrays import ArrayColumns
from multivalid.groups.blocks import Holds, evaluate
from multivalid.groups.columns import Columns
from multivalid.groups.kept import Kept, Span
from multivalid.groups.kinds import unknown_column
from multivalid.groups.membership import Coded, Membership, Part, everyone, pack_masks

_TOGETHER = 32  # conditions per pass, which bounds the memory for their answers


def membership_on(
    kept: Sequence[Kept], columns: Sequence[str], expected: int, data: Any, arrays: Any, rows: int | None
) -> Membership:
    """Everyone and the kept groups on other rows: a frame with `columns`, boolean arrays with `expected` columns, or both."""
    given = ArrayColumns.of(arrays)
    if len(given) != expected:
        raise InputError(
            f"groups were fitted with {expected} boolean array columns, got {len(given)}; pass the same ones as arrays=."
        )
    return members_of(kept, columns, None if data is None else Columns(data), given, rows)


def members_of(
    kept: Sequence[Kept], columns: Sequence[str], data: Columns | None, arrays: ArrayColumns, rows: int | None
) -> Membership:
    """Everyone, and the rows of the kept groups block by block: codes, or bits where groups may overlap.

    The `columns` that groups use must be there, and everything must have the same number of rows.
    """
    number = _rows(columns, data, arrays, rows)
    parts: list[Part] = [everyone(number)]
    for single, run in itertools.groupby((one for one in kept if one.codes), key=lambda one: isinstance(one.block, Holds)):
        blocks = list(run)
        if single:
            assert data is not None
            parts.append(_conditions([one.block for one in blocks if isinstance(one.block, Holds)], data))
            continue
        for one in blocks:
            if isinstance(one.block, Span):
                parts.append(pack_masks(arrays.masks([one.block.start + code for code in one.codes]), number))
                continue
            assert data is not None
            part = Coded(data.codes(one.block).astype(np.uint16) + np.uint16(1), one.block.size)  # none of them, -1, becomes 0
            parts.append(part if len(one.codes) == part.size else part.choose(one.codes))
    return Membership.of(parts, number)


def _rows(columns: Sequence[str], data: Columns | None, arrays: ArrayColumns, rows: int | None) -> int:
    """The number of rows, on which a frame, arrays and the caller must agree."""
    lengths = {"n_rows": rows, "the boolean arrays": arrays.rows, "data": None if data is None else data.rows}
    if data is not None:
        for name in columns:
            if name not in data.names:
                raise unknown_column(name, data.names)
    elif columns:
        raise InputError(
            f"groups use the column{'s' if len(columns) > 1 else ''} {', '.join(map(repr, columns))}; "
            f"pass the frame that has them as data=."
        )
    known = {name: length for name, length in lengths.items() if length is not None}
    if not known:
        raise InputError("groups: the number of rows is not known; pass data=, arrays= or n_rows=.")
    if len(set(known.values())) > 1:
        shown = ", ".join(f"{name}: {length}" for name, length in known.items())
        raise InputError(f"groups: the numbers of rows differ ({shown}); all must describe the same rows.")
    return next(iter(known.values()))


def _conditions(blocks: Sequence[Holds], data: Columns) -> Part:
    frame = data.frame([name for block in blocks for name in block.columns])
    return pack_masks(
        (mask for start in range(0, len(blocks), _TOGETHER) for mask in evaluate(blocks[start : start + _TOGETHER], frame)),
        data.rows,
    )
