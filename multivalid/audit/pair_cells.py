"""Both conditions of joint multicalibration on every cell (group, level⁰, level¹), with Γ⁰ of the cell solved from its labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.cells import inference
from multivalid.cells.sums import CellSums
from multivalid.groups.membership import Membership
from multivalid.properties import Pair
from multivalid.properties.base import Array
from multivalid.sources.laws import Laws, segments

Index = NDArray[np.intp]


@dataclass(frozen=True)
class PairCells:
    """Arrays of shape (m⁰, m¹, groups); 0 in cells without weight.

    Attributes
    ----------
    rows, mass : number of rows with weight, and share of the total weight
    first : mean V⁰ at the predictions
    seen : mean V¹ with γ⁰ the predictions f⁰
    second : mean V¹ with γ⁰ the true Γ⁰ of the cell's labels, as the definition asks
    first_gap, second_gap : mean prediction minus Γ⁰ and Γ¹ of the cell's labels
    first_noise, seen_noise : what chance adds to the squares of `first` and `seen`, estimated without bias for any weights (a single
        estimate may be negative); 0 for cells of one row
    """

    rows: Array
    mass: Array
    first: Array
    seen: Array
    second: Array
    first_gap: Array
    second_gap: Array
    first_noise: Array
    seen_noise: Array

    @classmethod
    def of(cls, sums: Sequence[CellSums], laws: Laws, shape: Sequence[int]) -> PairCells:
        """From the sums of both coordinates at places that are pairs of levels, and what the labels of each cell say."""
        weight, rows = sums[0].weight, sums[0].rows
        filled = weight > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            means = [np.where(filled, one.residual / weight, 0.0) for one in sums]
            predictions = [np.where(filled, one.prediction / weight, 0.0) for one in sums]
        noise = [
            inference.mean_variance(rows, weight, mean, one.squares, one.residual_squares)
            for one, mean in zip(sums, means, strict=True)
        ]
        truth, value, second = np.where(filled, laws.cells, 0.0)
        gaps = predictions[0] - truth, predictions[1] - value
        columns = (rows, weight / weight[:, 0].sum(), *means, second, *gaps, *noise)
        return cls(*(np.asarray(column).reshape(*shape, -1) for column in columns))

    @property
    def first_variance(self) -> Array:
        """Of the means `first`, at least 0."""
        return np.maximum(self.first_noise, 0.0)

    @property
    def seen_variance(self) -> Array:
        """Of the means `seen`, at least 0."""
        return np.maximum(self.seen_noise, 0.0)

    def first_errors(self, values: Array | None = None) -> Array:
        """Condition 1, V-form, for each group: the largest, over γ¹, of Σ over γ⁰ of p·v²."""
        return _slices(self.mass, self.first if values is None else values, axis=0)

    def second_errors(self, values: Array | None = None) -> Array:
        """Condition 2, V-form, for each group: the largest, over γ⁰, of Σ over γ¹ of p·v²."""
        return _slices(self.mass, self.second if values is None else values, axis=1)

    def debiased(self) -> tuple[Array, Array]:
        """The two errors of each group with the noise of the means taken out; V¹ at the predicted γ⁰."""
        out = []
        for axis, v, noise in ((0, self.first, self.first_noise), (1, self.seen, self.seen_noise)):
            share = np.where(self.rows >= 2, self.mass * (v**2 - noise), 0.0)
            out.append(share.sum(axis=axis).max(axis=0))
        return out[0], out[1]


def _slices(mass: Array, v: Array, axis: int) -> Array:
    return np.asarray((mass * v**2).sum(axis=axis).max(axis=0))


def solved_cells(pair: Pair, labels: Array, weights: Array, place: Index, second: Array, membership: Membership) -> Array:
    """Γ⁰, Γ¹ and mean V¹ at the true Γ⁰ of the labels of every (place, group), where place j predicts second[j]: (3, places, groups)."""
    out = np.zeros((3, second.size, membership.groups))
    for found in segments(labels, weights, membership, place):
        rows = found.order
        said = np.stack([np.zeros(rows.size), second[place[rows]]], axis=1)
        out[:, found.place, found.group] = pair.solve_cells(labels[rows], said, weights[rows], found.starts)
    return out
