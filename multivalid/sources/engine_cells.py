"""What rows in an engine say of every (level × group), by queries whose results are small: levels, residuals and sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from multivalid.sources import engine_scores
from multivalid.sources.engine_cluster_terms import sums_of_clusters
from multivalid.sources.engine_rows import EngineRows
from multivalid.sources.engine_tables import tabulate_cells, tabulate_terms
from multivalid.sources.engine_values import values_of

if TYPE_CHECKING:
    from multivalid.cells.clusters import ClusterSums
    from multivalid.cells.sums import CellSums
    from multivalid.grid import Grid
    from multivalid.levels import LevelPolicy
    from multivalid.properties.base import Array
    from multivalid.properties.target import Coordinate, Target
    from multivalid.sources.predicting import Predicting, Terms


@dataclass(frozen=True)
class EngineCells(EngineRows):
    """Rows in an engine that are summed over levels and groups."""

    def check(self, *grids: Grid) -> None:
        """Refuse predictions outside the grid's range."""
        (grid,) = grids
        grid.check_ends(self.totals.lowest, self.totals.highest)

    def levels(self, policy: LevelPolicy) -> tuple[Grid, ...]:
        """Levels of the predictions, as the policy chooses them; from a sample where a predictor makes them and rows are many."""
        return (policy.choose(values_of(self)),)

    def cells(self, target: Target, grids: Sequence[Grid]) -> tuple[CellSums, ...]:
        """The sums of the coordinate over (level × group)."""
        coordinate, grid = target.coordinates[0], grids[0]
        known = (repr(coordinate.predicted), grid.points.tobytes(), grid.boundaries.tobytes())
        if known not in self.remembered:
            self.remembered[known], *before = tabulate_cells(self, coordinate, grid)
            if before and self.origin is not None:
                self.origin.source.remembered[known] = before[0]
        made = self.remembered[known]
        if not np.isfinite(made.residual).all():
            raise engine_scores.infinite_residuals(self, coordinate)
        return (made,)

    def clusters(self, coordinate: Coordinate, grid: Grid, sums: CellSums) -> ClusterSums | None:
        """Sums over the clusters of each group, on a few blocks of the levels; None where rows are independent."""
        if self.cluster is None or sums.chance is None:
            return None
        return sums_of_clusters(self, coordinate, grid, sums)

    def mean_score(self, coordinate: Coordinate) -> float:
        """Mean score of the predictions, by a pass of its own."""
        return engine_scores.mean_score(self, coordinate)

    def group_sums(self, predictor: Predicting, terms: Terms) -> Array:
        """Σ of every term over the rows of each group: (groups, terms); the terms know what a predictor makes of the rows."""
        return tabulate_terms(self, predictor, terms)
