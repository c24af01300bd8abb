"""The masks of fitted blocks on a frame: each column is looked at once, and many conditions share one pass."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from multivalid.errors import InputError
from multivalid.groups.arrays import ArrayColumns
from multivalid.groups.blocks import Block, Holds, evaluate
from multivalid.groups.frames import open_frame, row_count
from multivalid.groups.items import Mask

_TOGETHER = 32  # conditions per pass, which bounds the memory for their answers


@dataclass(frozen=True)
class Span:
    """Groups given as boolean arrays: a run of their columns."""

    start: int
    size: int


@dataclass(frozen=True)
class Kept:
    """A block and the codes of its groups that are kept."""

    block: Block | Span
    codes: tuple[int, ...]


@dataclass(frozen=True)
class Sources:
    """Where group membership is read from: a frame, arrays, or both, with the number of rows."""

    frame: nw.DataFrame[Any] | None
    arrays: ArrayColumns
    rows: int

    @classmethod
    def of(cls, data: Any, columns: Sequence[str], arrays: ArrayColumns, rows: int | None) -> Sources:
        """Check that the columns are there and that everything has the same number of rows."""
        frame = None
        lengths = {"n_rows": rows, "the boolean arrays": arrays.rows}
        if data is not None:
            frame = open_frame(data, columns) if columns else None
            lengths["data"] = row_count(data)
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
        return cls(frame, arrays, next(iter(known.values())))


def masks_of(kept: Sequence[Kept], sources: Sources) -> Iterator[Mask]:
    """One mask per kept group, in order."""
    for single, run in itertools.groupby((one for one in kept if one.codes), key=lambda one: isinstance(one.block, Holds)):
        if single:
            yield from _conditions([one.block for one in run if isinstance(one.block, Holds)], sources)
        else:
            for one in run:
                yield from _codes(one, sources)


def _conditions(blocks: Sequence[Holds], sources: Sources) -> Iterator[Mask]:
    assert sources.frame is not None
    for start in range(0, len(blocks), _TOGETHER):
        yield from evaluate(blocks[start : start + _TOGETHER], sources.frame)


def _codes(one: Kept, sources: Sources) -> Iterator[Mask]:
    if isinstance(one.block, Span):
        yield from sources.arrays.masks([one.block.start + code for code in one.codes])
        return
    assert sources.frame is not None
    codes = one.block.codes(sources.frame)
    for code in one.codes:
        yield codes == code
