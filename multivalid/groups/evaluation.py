"""Which rows fitted blocks hold on a frame: each column is looked at once, and many conditions share one pass."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from multivalid.errors import InputError
from multivalid.groups.arrays import ArrayColumns
from multivalid.groups.blocks import Holds, evaluate
from multivalid.groups.columns import Columns
from multivalid.groups.kept import Kept, Span
from multivalid.groups.kinds import unknown_column
from multivalid.groups.membership import Coded, Membership, Part, everyone, flagged

_TOGETHER = 32  # conditions per pass, which bounds the memory for their answers


@dataclass(frozen=True)
class Sources:
    """Where group membership is read from: a frame, arrays, or both, with the number of rows."""

    columns: Columns | None
    arrays: ArrayColumns
    rows: int

    @classmethod
    def of(cls, data: Columns | None, columns: Sequence[str], arrays: ArrayColumns, rows: int | None) -> Sources:
        """Check that the columns are there and that everything has the same number of rows."""
        lengths = {"n_rows": rows, "the boolean arrays": arrays.rows}
        if data is not None:
            for name in columns:
                if name not in data.names:
                    raise unknown_column(name, data.names)
            lengths["data"] = len(data)
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
        return cls(data, arrays, next(iter(known.values())))

    def membership(self, kept: Sequence[Kept]) -> Membership:
        """Everyone, and the rows of the kept groups block by block: codes, or bits where groups may overlap."""
        parts: list[Part] = [everyone(self.rows)]
        for single, run in itertools.groupby((one for one in kept if one.codes), key=lambda one: isinstance(one.block, Holds)):
            if single:
                parts.append(_conditions([one.block for one in run if isinstance(one.block, Holds)], self))
            else:
                parts += [_block(one, self) for one in run]
        return Membership.of(parts, self.rows)


def membership_on(
    kept: Sequence[Kept], columns: Sequence[str], expected: int, data: Any, arrays: Any, rows: int | None
) -> Membership:
    """Everyone and the kept groups on other rows: a frame with `columns`, boolean arrays with `expected` columns, or both."""
    given = ArrayColumns.of(arrays)
    if len(given) != expected:
        raise InputError(
            f"groups were fitted with {expected} boolean array columns, got {len(given)}; pass the same ones as arrays=."
        )
    return Sources.of(None if data is None else Columns(data), columns, given, rows).membership(kept)


def _conditions(blocks: Sequence[Holds], sources: Sources) -> Part:
    assert sources.columns is not None
    frame = sources.columns.frame([name for block in blocks for name in block.columns])
    return flagged(
        (mask for start in range(0, len(blocks), _TOGETHER) for mask in evaluate(blocks[start : start + _TOGETHER], frame)),
        sources.rows,
    )


def _block(one: Kept, sources: Sources) -> Part:
    if isinstance(one.block, Span):
        return flagged(sources.arrays.masks([one.block.start + code for code in one.codes]), sources.rows)
    assert sources.columns is not None
    codes = sources.columns.codes(one.block).astype(np.uint16) + np.uint16(1)  # none of them, -1, becomes 0
    part = Coded(codes, one.block.size)
    return part if len(one.codes) == part.size else part.choose(one.codes)
