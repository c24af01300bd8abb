"""What Algorithms 1 and 2 leave behind: the moves they made, and the cells that no move improves."""

from __future__ import annotations

from typing import NamedTuple


class Patch(NamedTuple):
    """Rows of `group` that stand at level `source` move to level `target`."""

    group: int
    source: int
    target: int


class Blocked(NamedTuple):
    """A cell that violates the goal but that no level improves: where V jumps, no prediction is calibrated."""

    group: int
    level: int
    weight: float
    identification: float
    lipschitz: float
    jump: float
