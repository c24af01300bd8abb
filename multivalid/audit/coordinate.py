"""What was found for one coordinate: a table of groups, and the cells by the level of its own prediction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid.audit.text import verdict_line
from multivalid.cells import inference, measures
from multivalid.cells.statistics import CellStatistics
from multivalid.cells.sums import CellSums
from multivalid.grid import Grid
from multivalid.sources.laws import Laws
from multivalid.sources.open import Source

if TYPE_CHECKING:
    from multivalid.properties.target import Coordinate

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class CoordinateAudit:
    """What was found for one column of the predictions, with the fields that a report and its figures read.

    Attributes
    ----------
    table : dict of arrays
        One row per group.
    cells : dict of arrays
        One row per non-empty (group, level of this prediction).
    """

    grid: Grid
    table: Columns
    cells: Columns
    sums: CellSums
    source: Source
    coordinate: Coordinate
    alone: bool = True  # not judged together with other coordinates

    @cached_property
    def score(self) -> float | None:
        """Mean score of the predictions; None for a coordinate that is judged together with others."""
        if not self.alone:
            return None
        if self.sums.score is None:
            return self.source.mean_score(self.coordinate)
        return float(self.sums.score[:, 0].sum() / self.sums.weight[:, 0].sum())

    @cached_property
    def fingerprint(self) -> str | None:
        """SHA-256 of the rows; None for rows that stayed in their engine."""
        return self.source.fingerprint()

    @property
    def verdict(self) -> str:
        """How many groups are off beyond chance."""
        return verdict_line(self.table)

    @property
    def property(self) -> Any:  # last: it hides the decorator
        """What is predicted."""
        return self.coordinate.predicted


def audit_coordinate(source: Source, coordinate: Coordinate, grid: Grid, sums: CellSums, laws: Laws) -> CoordinateAudit:
    """The audit of a single coordinate, from its sums on its own levels."""
    cell = CellStatistics.of(sums)
    mass, mean, filled = cell.mass, cell.mean, cell.weight > 0
    group_weight = cell.weight.sum(axis=0)
    solved = laws.cells[0]
    test = tests(cell)
    table: Columns = {
        "name": np.array(source.groups.names),
        "rows": cell.rows.sum(axis=0).astype(np.int64),
        "weight": group_weight,
        "error": cell.errors,
        "gamma_error": measures.l2(mass, np.where(filled, cell.prediction - solved, 0.0)),
        "l1": measures.l1(mass, mean),
        "linf": measures.linf(mass, mean),
        "worst_level": np.where(group_weight > 0, grid.points[np.argmax(mass * mean**2, axis=0)], np.nan),
        "debiased": inference.debiased(mass, mean, cell.variance, cell.rows),
        "chi2": test.statistic,
        "dof": test.freedom,
        "p_value": test.p_value,
        "p_adjusted": inference.holm(test.p_value),
        "prediction": cell.group_prediction,
        "value": laws.groups[0],
    }
    cells = cell.columns(table["name"], grid.points) | {"value": solved[filled]}
    return CoordinateAudit(grid, table, cells, sums, source, coordinate)


def tests(cell: CellStatistics) -> inference.ChiSquare:
    """χ² of the mean V of every group."""
    return inference.chi_square(cell.mass, cell.mean, cell.steady, cell.effective, cell.kurtosis)
