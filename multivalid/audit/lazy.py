"""The audit of rows that stay where they are: the same numbers from grouped sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from multivalid.atoms import probe
from multivalid.atoms.lazy import LazyRows
from multivalid.atoms.select import Rows
from multivalid.audit.audit import DEFAULT_LEVELS, MAX_LEVELS_AS_GIVEN, Audit, _assemble
from multivalid.audit.cells import tabulate
from multivalid.audit.solve import cell_values, from_moments, group_values
from multivalid.audit.statistics import CellStatistics
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.groups.membership import Bits, Membership, unpack
from multivalid.properties import Property
from multivalid.properties.base import Array


def audit_lazy(rows: LazyRows, prop: Property, grid: Grid | None = None, *, beyond: bool = False, values: bool = True) -> Audit:
    """Two queries: sums per (groups, level), and, where order matters and `values` are wanted, the labels per (groups, level)."""
    notes = []
    if grid is None:
        grid, note = probe.default_levels(rows, MAX_LEVELS_AS_GIVEN, DEFAULT_LEVELS)
        notes.append(note)
    elif not isinstance(grid, Grid):
        raise InputError(f"grid must be a Grid, got {grid!r}; use for example Grid.uniform(0, 1, 20).")
    if not beyond:
        rows.check(grid)
    found = probe.cells(rows, prop, grid)
    sums = tabulate(found.bits, found.numbers[0], found.sums, len(grid), len(rows.groups))
    whole = sums[:, 0].sum(axis=0)
    kurtosis = whole[6] * whole[3] / whole[4] ** 2 if whole[4] > 0 else 3.0
    cell = CellStatistics.from_sums(tuple(np.moveaxis(sums[..., :6], 2, 0)), rows.totals.weight, float(kurtosis))
    moments = np.concatenate([sums[..., 1:2], sums[..., 8:]], axis=2)
    if prop.solve_moments(np.ones((1, moments.shape[2]))) is not None:
        stand_in = _rows(rows, found.bits, found.sums[:, 0], found.sums[:, 1])
        solved, actual = from_moments(prop, moments), from_moments(prop, moments.sum(axis=0))
    elif not values:
        stand_in = _rows(rows, found.bits, found.sums[:, 0], found.sums[:, 1])
        solved, actual = np.full(sums.shape[:2], np.nan), np.full(sums.shape[1], np.nan)
    else:
        law = probe.laws(rows, grid)
        notes.append(law.note)
        stand_in = _rows(rows, law.bits, law.labels, law.weights)
        solved = cell_values(prop, law.labels, law.weights, law.level, stand_in.membership, len(grid))
        actual = group_values(prop, law.labels, law.weights, stand_in.membership)
    made = _assemble(stand_in, prop, grid, cell, solved, actual)
    # The mean score cannot be read off the bundles, so it is set from the engine's own sum; single rows are never seen here.
    vars(made).update(score=float(whole[7] / whole[1]), fingerprint=None)
    if any(notes):
        made.groups = replace(made.groups, notes=[*made.groups.notes, *(note for note in notes if note)])
    return made


def _rows(rows: LazyRows, bits: Bits, labels: Array, weights: Array) -> Rows:
    """Bundles of rows in place of rows: all that the rest of the audit asks is their weight, labels and groups."""
    members = Membership.from_dense(unpack(bits, len(rows.groups))[:, 1:] > 0)
    return Rows(labels, np.zeros_like(labels), weights, rows.groups, members, None)
