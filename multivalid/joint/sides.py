"""What the two coordinates of a pair ask of the labels of atoms.

A *side* answers for one coordinate: ΣwV of each atom at its place, and ΣwV and ΣwS of a set of atoms at every level of the side's
own grid. A place is first·m¹ + second, the two levels in one number.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.response import Response
from multivalid.atoms.table import AtomTable, totals
from multivalid.batch.label_sums import label_sums
from multivalid.grid import Grid
from multivalid.properties import Pair
from multivalid.properties.base import Array

Index = NDArray[np.intp]


class Side(Protocol):
    """One coordinate of the pair."""

    grid: Grid

    def prepare(self, place: Index) -> None:
        """Atoms stand at these places now."""

    def everywhere(self, place: Index) -> Array:
        """ΣwV of every atom at its place."""

    def identify(self, atoms: Index, place: int) -> Array:
        """ΣwV of these atoms, were they at `place`."""

    def on_grid(self, atoms: Index, place: int) -> tuple[Array, Array]:
        """ΣwV and ΣwS (up to a constant) of these atoms, all at `place`, for every level of this side's grid."""


class FirstSide:
    """V⁰: exact sums over label bins, as in the batch algorithm."""

    def __init__(self, table: AtomTable, response: Response, grid: Grid, width: int) -> None:
        self.grid, self.width = grid, width
        self.labels = label_sums(table, response)

    def prepare(self, place: Index) -> None:
        pass

    def everywhere(self, place: Index) -> Array:
        out = np.empty(place.size)
        level = place // self.width
        order = np.argsort(level, kind="stable")
        cuts = np.searchsorted(level[order], np.arange(len(self.grid) + 1))
        for j in range(len(self.grid)):
            atoms = order[cuts[j] : cuts[j + 1]]
            if atoms.size:
                out[atoms] = self.labels.of(atoms).identify(j)
        return out

    def identify(self, atoms: Index, place: int) -> Array:
        return self.labels.of(atoms).identify(place // self.width)

    def on_grid(self, atoms: Index, place: int) -> tuple[Array, Array]:
        answer = self.labels.of(atoms).on_grid()
        return answer.identify, answer.score


class LabelRows:
    """Labels and weights of the rows, ordered by atom."""

    def __init__(self, labels: Array, weights: Array, row_atom: Index, atoms: int) -> None:
        order = np.argsort(row_atom, kind="stable")
        self.labels, self.weights, self.atom = labels[order], weights[order], row_atom[order]
        self.offset = np.searchsorted(self.atom, np.arange(atoms + 1))

    def of(self, atoms: Index) -> tuple[Index, Index]:
        """Rows of these atoms, and for each the position of its atom in `atoms`."""
        start = self.offset[atoms]
        size = self.offset[atoms + 1] - start
        owner = np.repeat(np.arange(atoms.size), size)
        return np.arange(owner.size) + np.repeat(start - (np.cumsum(size) - size), size), owner


class TargetSide:
    """V¹ = γ¹ − target(γ⁰, y): the mean of a pseudo-label, whose sum per atom changes only when the atom's first level does.

    That makes stage 1 one mean calibration over all slices of f⁰ at once.
    """

    def __init__(self, pair: Pair, rows: LabelRows, weight: Array, first: Grid, grid: Grid) -> None:
        self.pair, self.rows, self.weight, self.first, self.grid = pair, rows, weight, first, grid
        # Sums about the middle of the grid keep digits where targets share a large offset.
        self.points = grid.points - grid.points[len(grid) // 2]
        self.origin = float(grid.points[len(grid) // 2])
        self.level = np.full(weight.size, -1, dtype=np.intp)
        self.sums = np.zeros(weight.size)

    def prepare(self, place: Index) -> None:
        level = place // len(self.grid)
        changed = np.flatnonzero(level != self.level)
        if changed.size == 0:
            return
        everyone = changed.size == level.size
        rows, owner = (slice(None), self.rows.atom) if everyone else self.rows.of(changed)
        prediction = self.first.points[level[changed][owner]]
        pseudo = self.pair.target(prediction, self.rows.labels[rows]) - self.origin
        self.sums[changed] = totals(owner, self.rows.weights[rows] * pseudo, changed.size)
        self.level = level

    def everywhere(self, place: Index) -> Array:
        return np.asarray(self.weight * self.points[place % len(self.grid)] - self.sums)

    def identify(self, atoms: Index, place: int) -> Array:
        return np.asarray(self.weight[atoms] * self.points[place % len(self.grid)] - self.sums[atoms])

    def on_grid(self, atoms: Index, place: int) -> tuple[Array, Array]:
        weight, total = float(self.weight[atoms].sum()), float(self.sums[atoms].sum())
        return weight * self.points - total, weight * self.points**2 / 2 - self.points * total


class ConditionalSide:
    """Any V¹(γ⁰; γ¹, y), evaluated on the rows of the atoms that are asked for."""

    def __init__(self, pair: Pair, rows: LabelRows, first: Grid, grid: Grid) -> None:
        self.pair, self.rows, self.first, self.grid = pair, rows, first, grid

    def prepare(self, place: Index) -> None:
        pass

    def everywhere(self, place: Index) -> Array:
        at = place[self.rows.atom]
        first, second = self.first.points[at // len(self.grid)], self.grid.points[at % len(self.grid)]
        v = self.pair.identify_second(first, second, self.rows.labels)
        return totals(self.rows.atom, self.rows.weights * v, place.size)

    def identify(self, atoms: Index, place: int) -> Array:
        rows, owner = self.rows.of(atoms)
        first, second = self.first.points[place // len(self.grid)], self.grid.points[place % len(self.grid)]
        v = self.pair.identify_second(first, second, self.rows.labels[rows])
        return totals(owner, self.rows.weights[rows] * v, atoms.size)

    def on_grid(self, atoms: Index, place: int) -> tuple[Array, Array]:
        rows, _ = self.rows.of(atoms)
        y, w, first = self.rows.labels[rows], self.rows.weights[rows], self.first.points[place // len(self.grid)]
        identify = np.array([w @ self.pair.identify_second(first, point, y) for point in self.grid.points])
        score = np.array([w @ self.pair.score_second(first, point, y) for point in self.grid.points])
        return identify, score
