"""The audit of rows that stay where they are: the same numbers from grouped sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from multivalid.atoms import probe
from multivalid.atoms.lazy import LazyRows
from multivalid.atoms.select import Rows
from multivalid.atoms.symbols import symbols
from multivalid.audit.audit import DEFAULT_LEVELS, MAX_LEVELS_AS_GIVEN, Audit, _assemble
from multivalid.audit.cells import tabulate
from multivalid.audit.solve import cell_values
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.groups.membership import Membership, unpack
from multivalid.properties import Property
from multivalid.properties.base import Array


def audit_lazy(rows: LazyRows, prop: Property, grid: Grid | None = None, *, beyond: bool = False) -> Audit:
    """Two queries: sums per (groups, level), and, where order matters, the labels per (groups, level)."""
    notes = []
    if grid is None:
        grid, note = probe.default_levels(rows, MAX_LEVELS_AS_GIVEN, DEFAULT_LEVELS)
        notes.append(note)
    elif not isinstance(grid, Grid):
        raise InputError(f"grid must be a Grid, got {grid!r}; use for example Grid.uniform(0, 1, 20).")
    if not beyond:
        rows.check(grid)
    found = probe.cells(rows, prop, grid)
    groups, levels = len(rows.groups), len(grid)
    sums = tabulate(found.bits, found.numbers[0], found.sums, levels, groups)
    solve = symbols(prop).solve
    if solve is not None:
        stand_in = _rows(rows, found.bits, found.sums[:, 0], found.sums[:, 1])
        moments = np.concatenate([sums[..., 1:2], sums[..., 7:]], axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            solved, values = solve(moments), solve(moments.sum(axis=0))
    else:
        law = probe.laws(rows, grid)
        notes.append(law.note)
        stand_in = _rows(rows, law.bits, law.labels, law.weights)
        solved = cell_values(prop, law.labels, law.weights, law.level, stand_in.membership, levels)
        values = None
    made = _assemble(stand_in, prop, grid, sums[..., :7], solved)
    if values is not None:
        made.table["value"] = values
    if any(notes):
        made.groups = replace(made.groups, notes=[*made.groups.notes, *(note for note in notes if note)])
    return made


def _rows(rows: LazyRows, bits: Array, labels: Array, weights: Array) -> Rows:
    """Bundles of rows in place of rows: all that the rest of the audit asks is their weight, labels and groups."""
    members = Membership.from_dense(unpack(bits, len(rows.groups))[:, 1:] > 0)
    return Rows(labels, np.zeros_like(labels), weights, rows.groups, members, None)
