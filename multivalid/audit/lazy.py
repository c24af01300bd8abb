"""The audit of rows that stay where they are: the same numbers from grouped sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from multivalid.atoms import probe
from multivalid.atoms.lazy import Crowded, LazyRows
from multivalid.atoms.partitions import fold
from multivalid.atoms.select import Rows
from multivalid.audit.audit import DEFAULT_LEVELS, MAX_LEVELS_AS_GIVEN, Audit, _assemble
from multivalid.audit.cells import tabulate
from multivalid.audit.solve import cell_values, from_moments, group_values
from multivalid.audit.statistics import CellStatistics
from multivalid.audit.streamed import BinTerms, CellTerms, values_of
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.groups.membership import Membership, unpack
from multivalid.properties import Property
from multivalid.properties.base import Array


def audit_lazy(rows: LazyRows, prop: Property, grid: Grid | None = None, *, beyond: bool = False, values: bool = True) -> Audit:
    """Two queries: sums per (groups, level), and, where order matters and `values` are wanted, the labels per (groups, level).

    Where combinations of groups are too many to bring to the driver, two passes over the rows in batches instead; the same numbers.
    """
    notes = []
    if grid is None:
        grid, note = probe.default_levels(rows, MAX_LEVELS_AS_GIVEN, DEFAULT_LEVELS)
        notes.append(note)
    elif not isinstance(grid, Grid):
        raise InputError(f"grid must be a Grid, got {grid!r}; use for example Grid.uniform(0, 1, 20).")
    if not beyond:
        rows.check(grid)
    sums = _cells(rows, prop, grid)
    whole = sums[:, 0].sum(axis=0)
    kurtosis = whole[6] * whole[3] / whole[4] ** 2 if whole[4] > 0 else 3.0
    cell = CellStatistics.from_sums(tuple(np.moveaxis(sums[..., :6], 2, 0)), rows.totals.weight, float(kurtosis))
    moments = np.concatenate([sums[..., 1:2], sums[..., 8:]], axis=2)
    if prop.solve_moments(np.ones((1, moments.shape[2]))) is not None:
        solved, actual = from_moments(prop, moments), from_moments(prop, moments.sum(axis=0))
    elif not values:
        solved, actual = np.full(sums.shape[:2], np.nan), np.full(sums.shape[1], np.nan)
    else:
        solved, actual, note = _values(rows, prop, grid)
        notes.append(note)
    made = _assemble(_no_rows(rows), prop, grid, cell, solved, actual)
    # The mean score is set from the engine's own sum; single rows are never seen here.
    vars(made).update(score=float(whole[7] / whole[1]), fingerprint=None)
    if any(notes):
        made.groups = replace(made.groups, notes=[*made.groups.notes, *(note for note in notes if note)])
    return made


def _cells(rows: LazyRows, prop: Property, grid: Grid) -> Array:
    """Sums over (level, group): from one GROUP BY, or batch by batch where it would bring back too much."""
    try:
        found = probe.cells(rows, prop, grid)
    except Crowded:
        return fold(rows.frame, rows.groups, CellTerms(prop, grid))
    return tabulate(found.bits, found.numbers[0], found.sums, len(grid), len(rows.groups))


def _values(rows: LazyRows, prop: Property, grid: Grid) -> tuple[Array, Array, str]:
    """Γ of every (level, group) and of every group, and a note where that is not exact."""
    try:
        law = probe.laws(rows, grid)
    except Crowded:
        edges, note = probe.label_edges(rows, len(grid) * len(rows.groups))
        return *values_of(prop, fold(rows.frame, rows.groups, BinTerms(grid, edges))), note
    members = Membership.from_dense(unpack(law.bits, len(rows.groups))[:, 1:] > 0)
    solved = cell_values(prop, law.labels, law.weights, law.level, members, len(grid))
    return solved, group_values(prop, law.labels, law.weights, members), law.note


def _no_rows(rows: LazyRows) -> Rows:
    """The rest of the audit works on sums; of the rows it only asks which groups there are."""
    nothing = np.zeros(0)
    return Rows(
        nothing, nothing, nothing, rows.groups, Membership.from_dense(np.zeros((0, len(rows.groups) - 1), dtype=bool)), None
    )
