"""Rows in an engine as a source: the same verbs as in memory, answered by queries whose results are small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from multivalid.atoms.partitions import Kernel, fold
from multivalid.atoms.response import Response, response
from multivalid.sources.engine_atoms import bundled_atoms, score_sums
from multivalid.sources.engine_cells import EngineCells
from multivalid.sources.engine_laws import largest_residual, laws_of
from multivalid.sources.engine_sample import draw_rows

if TYPE_CHECKING:
    from multivalid.atoms.table import Atoms
    from multivalid.grid import Grid
    from multivalid.properties.base import Array, Property
    from multivalid.properties.target import Target
    from multivalid.sources.laws import Laws
    from multivalid.sources.memory import MemorySource


@dataclass(frozen=True)
class EngineSource(EngineCells):
    """Columns of a lazy frame, and the groups fitted on it; see `EngineRows`."""

    # ---- labels by level and group -----------------------------------------------------------------------------------
    def laws(self, target: Target, grids: Sequence[Grid]) -> Laws:
        """Γ of the labels of every (level, group) and of every group, with a note where that is not exact."""
        return laws_of(self, target.coordinates[0].predicted, grids[0])

    def largest_residual(self, prop: Property, grid: Grid) -> float:
        """The largest |V| at the outermost levels of any label."""
        return largest_residual(self, prop, grid)

    # ---- atoms ---------------------------------------------------------------------------------------------------------
    def response(self, prop: Property, grid: Grid) -> Response:
        """How the property answers on the grid; by sums of moments, or the property was refused."""
        return response(prop, grid, np.array([self.totals.least, self.totals.most]))

    def atoms(self, prop: Property, grid: Grid, answer: Response) -> Atoms:
        """Rows that no algorithm can tell apart, bundled by the engine."""
        return bundled_atoms(self, prop, grid, answer)

    def score_sums(self, prop: Property, answer: Response) -> tuple[float, float]:
        """Σw of the score's constant and of the best possible score, by a pass of their own."""
        return score_sums(self.frame, prop, answer)

    # ---- rows in memory ------------------------------------------------------------------------------------------------
    def sample(self, rows: int, seed: int) -> tuple[MemorySource, bool]:
        """About so many rows in memory, all where there are no more, and whether they were drawn at random."""
        return draw_rows(self, rows, seed)

    def fold(self, kernel: Kernel) -> Array:
        """The sum of what `kernel` makes of batches of rows that pass by."""
        return fold(self.frame, self.groups, kernel)
