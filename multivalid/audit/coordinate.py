"""What was found for one coordinate: a table of groups, and the cells by the level of its own prediction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.audit.text import Units, units_of, verdict_line
from multivalid.cells import inference, measures
from multivalid.cells.chance import Evidence, Findings, evidence, findings
from multivalid.cells.statistics import CellStatistics
from multivalid.cells.sums import CellSums
from multivalid.grid import Grid
from multivalid.sources.laws import Laws, laws_of_moments
from multivalid.sources.open import Opened

if TYPE_CHECKING:
    from multivalid.properties.target import Coordinate, Target

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
    source: Opened
    coordinate: Coordinate
    evidence: Evidence
    findings: Findings
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

    @cached_property
    def units(self) -> Units:
        """How gaps are written: points of a share, or the label's own unit."""
        return units_of(self.property, self.evidence)

    @property
    def property(self) -> Any:  # last: it hides the decorator
        """What is predicted."""
        return self.coordinate.predicted


class Tabulated(NamedTuple):
    """What an audit is made of: for every column of the predictions its levels and its sums, and what predictions should have been."""

    grids: tuple[Grid, ...]
    sums: tuple[CellSums, ...]
    laws: tuple[Laws | None, ...]  # one per column, one for all of a pair; None where they follow from the moments among the sums


def audit_columns(source: Opened, target: Target, read: Tabulated) -> tuple[CoordinateAudit, ...]:
    """The audit of every column on its own levels; tests and intervals hold for all of them together."""
    parts = list(zip(target.coordinates, read.grids, read.sums, strict=True))
    rows = [evidence_of(source, *part) for part in parts]
    made = []
    for part, laws, said, one in zip(parts, read.laws, findings(rows), rows, strict=True):
        coordinate, _, sums = part
        if laws is None:
            assert sums.moments is not None
            laws = laws_of_moments(coordinate.predicted, sums.moments)
        made.append(audit_coordinate(source, *part, laws, said, one))
    return tuple(made)


def audit_coordinate(
    source: Opened, coordinate: Coordinate, grid: Grid, sums: CellSums, laws: Laws, said: Findings, rows: Evidence
) -> CoordinateAudit:
    """The audit of a single coordinate, from its sums on its own levels."""
    cell = CellStatistics.of(sums)
    mass, mean, filled = cell.mass, cell.mean, cell.weight > 0
    group_weight = cell.weight.sum(axis=0)
    solved = laws.cells[0]
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
        **chance_columns(said, rows),
        "prediction": cell.group_prediction,
        "value": laws.groups[0],
    }
    cells = cell.columns(table["name"], grid.points) | {"value": solved[filled]} | cell_columns(rows, filled)
    return CoordinateAudit(grid, table, cells, sums, source, coordinate, rows, said)


def chance_columns(said: Findings, rows: Evidence) -> Columns:
    """What is said about chance, group by group."""
    statistic, freedom = rows.test.chi_square
    return {
        "chi2": statistic,
        "dof": freedom,
        "p_value": said.p_value,
        "p_adjusted": said.p_adjusted,
        "gap": said.gap,
        "gap_low": said.gap_low,
        "gap_high": said.gap_high,
        "rms": said.rms,
        "rms_low": said.rms_low,
        "rms_high": said.rms_high,
        "detectable": said.detectable,
    }


def cell_columns(rows: Evidence, filled: NDArray[np.bool_]) -> Columns:
    """Of every cell that has rows: the standard error of its mean V, and how surprising that mean is, as a normal deviate."""
    weight = rows.sums["weight"]
    spread = np.sqrt(np.maximum(rows.cell_variance(), 0.0)) * rows.scale
    with np.errstate(divide="ignore", invalid="ignore"):
        return {"standard_error": (spread / weight)[filled], "z": (rows.cell_z() / np.sqrt(rows.stretch))[filled]}


def evidence_of(source: Opened, coordinate: Coordinate, grid: Grid, sums: CellSums) -> Evidence:
    """What the rows say about a coordinate, from the sums on its own levels."""
    assert sums.law is not None
    assert sums.chance is not None
    return evidence(sums.law, sums.chance, scale=sums.scale, clusters=source.clusters(coordinate, grid, sums))
