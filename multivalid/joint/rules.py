"""The rule of the printed Algorithm 2 inside Algorithm 3: a threshold for each cell, the level of least |V| as destination."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multivalid.batch.rules import Curves, PrintedRule, violation
from multivalid.properties.base import Array


@dataclass(frozen=True)
class PrintedCellRule:
    """Move cells with p·v² ≥ threshold to the level of least |V|.

    Where that is the cell's own level, or would not lower the score, the printed loop repeats for ever; here the cell is blocked.
    """

    threshold: float

    def priority(self, mass: Array, identification: Array) -> Array:
        size = violation(mass, identification)
        return np.where(size >= self.threshold, size, -1.0)

    def satisfied(self, mass: Array, identification: Array) -> bool:
        return False  # the priorities say it all

    def destination(self, cell: Curves, level: int) -> int | None:
        return PrintedRule(self.threshold).destination(cell, level)
