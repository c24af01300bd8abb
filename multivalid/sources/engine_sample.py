"""A sample of rows in an engine, brought into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from multivalid.atoms.names import LABEL, PREDICTION, WEIGHT
from multivalid.atoms.partitions import rows_of
from multivalid.groups.remote import draw
from multivalid.sources.passing_rows import OutOfCopies

if TYPE_CHECKING:
    from multivalid.sources.engine_rows import EngineRows
    from multivalid.sources.memory import MemorySource


def draw_rows(source: EngineRows, rows: int, seed: int) -> tuple[MemorySource, bool]:
    """About so many rows, all where there are no more, and whether they were drawn at random."""
    passing = source.passing()
    if isinstance(passing, OutOfCopies):
        return passing.sample(source.groups, rows, seed), True
    needed = list(dict.fromkeys([LABEL, PREDICTION, WEIGHT, *source.groups.columns]))
    side = source.side
    shared = None if side is None else side.draws.draw(needed, rows, len(source), side.held, seed)
    drawn, at_random = shared or draw(source.frame.select(needed), rows, len(source), seed)
    return rows_of(drawn, source.groups), at_random
