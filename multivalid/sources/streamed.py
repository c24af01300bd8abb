"""What an audit asks of a batch of rows: sums over (level × group), and over (level × label bin × group) where order matters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multivalid.cells.tabulate import tabulate
from multivalid.grid import Grid
from multivalid.groups.membership import Membership, everyone
from multivalid.properties import Property
from multivalid.properties.base import Array
from multivalid.sources.laws import Laws, laws_of_rows
from multivalid.sources.memory import MemorySource


@dataclass(frozen=True)
class BinTerms:
    """Rows → Σ per (level, label bin, group) of w and w·y."""

    grid: Grid
    edges: Array

    def __call__(self, rows: MemorySource) -> Array:
        bins = self.edges.size + 1
        at = self.grid.round(rows.predictions) * bins + np.searchsorted(self.edges, rows.labels, side="left")
        sums = np.column_stack([rows.weights, rows.weights * rows.labels])
        table = tabulate(rows.membership.by_row(), at, sums, len(self.grid) * bins, rows.membership.groups)
        return table.reshape(len(self.grid), bins, rows.membership.groups, 2)


def law_rows(prop: Property, table: Array, note: str) -> Laws:
    """Γ of every (level, group) and of every group, from the weight and the mean label of each bin."""
    levels, bins, groups, _ = table.shape
    level = np.repeat(np.arange(levels), bins)
    alone = Membership.of([everyone(level.size)], level.size)
    cells, whole = np.empty((1, levels, groups)), np.empty((1, groups))
    for g in range(groups):
        weight, total = table[:, :, g].reshape(-1, 2).T
        labels = np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)
        if not weight.any():
            cells[:, :, g], whole[:, g] = np.nan, np.nan
            continue
        found = laws_of_rows(prop, labels, labels[:, None], weight, alone, level, levels)
        cells[:, :, g], whole[:, g] = found.cells[:, :, 0], found.groups[:, 0]
    return Laws(cells, whole, note)
