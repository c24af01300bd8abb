"""What rows in memory say of every (place × group): levels, residuals and sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from multivalid.cells.clusters import ClusterSums, cluster_sums, level_blocks
from multivalid.cells.gather import ChanceTerms
from multivalid.cells.sums import CellSums
from multivalid.cells.tabulate import tabulate_terms
from multivalid.errors import InputError
from multivalid.evaluators import Arrays
from multivalid.grid import Grid
from multivalid.levels import ArrayValues, LevelPolicy
from multivalid.properties.base import Array
from multivalid.sources.memory_rows import Index, MemoryRows

if TYPE_CHECKING:
    from multivalid.properties import Target
    from multivalid.properties.target import Coordinate

MOMENT, LUCK = "moment ", "chance "  # what the names of these sums begin with


@dataclass(frozen=True)
class MemoryCells(MemoryRows):
    """Rows in memory that are summed over places and groups."""

    def levels(self, policy: LevelPolicy) -> tuple[Grid, ...]:
        """Levels of every column of the predictions, as the policy chooses them."""
        weights = None if self._plain else self.weights
        return tuple(policy.choose(ArrayValues(np.ascontiguousarray(column), weights)) for column in self.columns.T)

    def cells(self, target: Target, grids: Sequence[Grid]) -> tuple[CellSums, ...]:
        """The sums of every coordinate over (place × group), a place being a combination of the levels of all columns."""
        place, places = self.place(grids)
        return tuple(self.coordinate_cells(coordinate, place, places) for coordinate in target.coordinates)

    def place(self, grids: Sequence[Grid]) -> tuple[Index, int]:
        """The place of every row, and how many places there are."""
        place = grids[0].round(self.columns[:, 0])
        for k, grid in enumerate(grids[1:], 1):
            place = place * len(grid) + grid.round(self.columns[:, k])
        return place, int(np.prod([len(grid) for grid in grids]))

    @cached_property
    def _plain(self) -> bool:
        """Whether every weight is one: rows, weight and squared weight are then the same sum."""
        return bool((self.weights == 1).all())

    def coordinate_cells(self, coordinate: Coordinate, place: Index, places: int) -> CellSums:
        """The sums of one coordinate at given places of the rows."""
        v, said = self.residuals(coordinate), self.columns[:, coordinate.column]
        chance = ChanceTerms.of(
            coordinate, binary=self.totals.of_events, mean_weight=self.totals.weight / max(v.size, 1),
            largest=float(max(v.max(initial=0.0), -v.min(initial=0.0))),
            ends=(float(said.min(initial=np.inf)), float(said.max(initial=-np.inf))),
        )  # fmt: skip
        found = tabulate_terms(self.membership, place, places, lambda rows: self._terms(coordinate, chance, rows, v[rows]))
        names = [name for name in found if name.startswith(MOMENT)]
        moments = np.stack([found["weight"], *(found.pop(name) for name in names)], axis=2) if names else None
        sums = {name.removeprefix(LUCK): found.pop(name) for name in [*found] if name.startswith(LUCK)}
        tables: dict[str, Any] = found
        return CellSums(**tables, moments=moments).with_chance(chance.law, sums, chance.mean_weight, chance.scale)

    def _terms(self, coordinate: Coordinate, chance: ChanceTerms, rows: slice, v: Array) -> dict[str, Array | None]:
        """Everything that is summed over a run of rows; None where it is 1 in each of them."""
        columns, w, labels = list(self.columns[rows].T), self.weights[rows], self.labels[rows]
        weight = None if self._plain else w
        summed = {"residual": v, "prediction": columns[coordinate.column]}
        if len(columns) == 1:
            found = coordinate.predicted.statistics(Arrays.ops, labels)
            if found is None and (moments := coordinate.predicted.moments(labels)) is not None:
                found = list(moments.T[1:])  # a user's property may know arrays only
            # t_1(y), t_2(y), … where Γ follows from their means.
            if found is not None and coordinate.predicted.solve_moments(np.ones((1, len(found) + 1))) is not None:
                summed |= {f"{MOMENT}{k}": np.ascontiguousarray(column) for k, column in enumerate(found)}
        summed = summed if self._plain else {name: w * column for name, column in summed.items()}
        terms: dict[str, Array | None] = {
            "rows": None if self._plain or bool(w.all()) else (w > 0).astype(np.float64),
            "weight": weight, "squares": None if self._plain else w * w,
            "residual_squares": summed["residual"] * summed["residual"],
        }  # fmt: skip
        terms |= summed
        luck = chance.terms(Arrays.ops, columns, labels, w, v, self._plain)
        return terms | {f"{LUCK}{name}": None if self._plain and term is w else term for name, term in luck.items()}

    def mean_score(self, coordinate: Coordinate) -> float:
        """Mean score of the predictions."""
        score = coordinate.scoring(Arrays.ops, list(self.columns.T), self.labels)
        return float(self.weights @ score / self.weights.sum())

    def clusters(self, coordinate: Coordinate, grid: Grid, sums: CellSums) -> ClusterSums | None:
        """Sums over the clusters of each group, on a few blocks of the levels of this coordinate; None where rows are independent."""
        if self.cluster is None or sums.chance is None:
            return None
        spread = sums.chance["u2q" if "u2q" in sums.chance else "x2"][:, 0]
        block = level_blocks(spread)[grid.round(self.columns[:, coordinate.column])]
        w = self.weights / (self.totals.weight / len(self))
        masks = [self.membership.mask(g) for g in range(self.membership.groups)]
        numbers = np.unique(self.cluster, return_inverse=True)[1].astype(np.intp)  # a selection of rows may leave gaps
        return cluster_sums(numbers, block, masks, w * self.residuals(coordinate) / sums.scale, w)

    def residuals(self, coordinate: Coordinate) -> Array:
        """V of every row; refused where it is not finite."""
        with np.errstate(all="ignore"):
            v = coordinate.residual(Arrays.ops, list(self.columns.T), self.labels)
        bad = np.flatnonzero(~np.isfinite(v))
        if bad.size:
            row = bad[0] if self.kept is None else self.kept[bad[0]]
            raise too_far_out(coordinate, int(bad.size), f"the first at row {row} ({self.columns[bad[0], coordinate.column]:g})")
        return np.asarray(v)


def too_far_out(coordinate: Coordinate, count: int, where: str) -> InputError:
    """The error for predictions whose residual is no number."""
    return InputError(
        f"y_pred is too far out for {coordinate.predicted!r}: {count} predictions give no finite identification, {where}; "
        f"rescale labels and predictions."
    )
