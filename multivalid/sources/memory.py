"""Rows in memory as a source: all that audits and fits ask of rows, wherever they live."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from multivalid.atoms.response import Response, response
from multivalid.atoms.table import Atoms, build
from multivalid.cells.tabulate import tabulate_groups
from multivalid.evaluators import Arrays, DenseMembers
from multivalid.grid import Grid
from multivalid.properties.base import Array
from multivalid.sources.laws import Laws, laws_of_rows
from multivalid.sources.memory_cells import MemoryCells
from multivalid.sources.memory_rows import Index

if TYPE_CHECKING:
    from multivalid.properties import Property, Target
    from multivalid.sources.predicting import Predicting, Terms


@dataclass(frozen=True)
class MemorySource(MemoryCells):
    """Labels, predictions and weights of every row, and the groups it belongs to; see `MemoryRows`."""

    def fingerprint(self) -> str:
        """SHA-256 of labels, predictions, weights and groups: equal for equal data."""
        digest = hashlib.sha256()
        for part in (self.labels, self.predictions, self.weights, self.membership.bits):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    # ---- laws of labels --------------------------------------------------------------------------------------------------
    def laws(self, target: Target, grids: Sequence[Grid]) -> Laws:
        """Γ of the labels of every (place, group) and of every group."""
        return self.laws_at(target, *self.place(grids))

    def laws_at(self, target: Target, place: Index, places: int) -> Laws:
        """Γ solved from the labels at given places of the rows."""
        return laws_of_rows(target, self.labels, self.columns, self.weights, self.membership, place, places)

    # ---- atoms, and sums of any kind -------------------------------------------------------------------------------------
    def response(self, prop: Property, grid: Grid) -> Response:
        """How the property answers on the grid for these labels."""
        return response(prop, grid, self.labels)

    def atoms(self, prop: Property, grid: Grid, answer: Response) -> Atoms:
        """Rows that no algorithm can tell apart, bundled."""
        bins, moments = answer.encode(self.labels)
        sums = moments * self.weights[:, None]
        table, row_atom = build(self.membership.by_row(), grid.round(self.predictions), bins, sums, self.membership.groups)
        return Atoms(table, row_atom, *self.score_sums(prop, answer))

    def score_sums(self, prop: Property, answer: Response) -> tuple[float, float]:
        """Σw of the score's constant and of the best possible score."""
        best = prop.score(prop.solve_points(self.labels), self.labels)
        return float(self.weights @ answer.score_constant(self.labels)), float(self.weights @ best)

    def fold(self, kernel: Callable[[MemorySource], Array]) -> Array:
        """What `kernel` makes of all rows; tables that add up, so that an engine may call it batch by batch."""
        return kernel(self)

    def group_sums(self, predictor: Predicting, terms: Terms) -> Array:
        """Σ of every term over the rows of each group: (groups, terms); the terms know what a predictor makes of the rows."""
        made = predictor.predict(self.predictions, self.membership)
        members = DenseMembers(self.membership, 0, len(self))
        columns = terms(Arrays(), self.predictions, made, self.labels, self.weights, members)
        sums = tabulate_groups(self.membership, np.zeros(len(self), dtype=np.intp), columns, 1)
        return np.asarray(np.stack(sums, axis=2)[0])

    def largest_residual(self, prop: Property, grid: Grid) -> float:
        """The largest |V| at the outermost levels of any label."""
        return float(np.abs(prop.identify(grid.points[[0, -1], None], self.labels)).max())
