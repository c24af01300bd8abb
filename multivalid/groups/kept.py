"""The groups that are kept: a block, or a run of boolean arrays, and which of its groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multivalid.groups.blocks import Block

EVERYONE = "everyone"
MOST_GROUPS = 10_000  # of one column: more are identifiers rather than categories


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
