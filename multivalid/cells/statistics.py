"""What the sums say of every (place × group): mass, mean V, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.cells import inference
from multivalid.cells.sums import CellSums
from multivalid.properties.base import Array


@dataclass(frozen=True)
class CellStatistics:
    """Arrays of shape (places, groups); means are 0 and predictions NaN in cells without weight.

    `variance` is the unbiased variance of the mean V.
    """

    rows: Array
    weight: Array
    mass: Array
    mean: Array
    prediction: Array
    variance: Array

    @classmethod
    def of(cls, sums: CellSums) -> CellStatistics:
        """From the sums of every cell; the population is group 0."""
        weight, squares = sums.weight, sums.squares
        filled = weight > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            mean, prediction = np.where(filled, sums.residual / weight, 0.0), np.where(filled, sums.prediction / weight, np.nan)
        variance = inference.mean_variance(sums.rows, weight, mean, squares, sums.residual_squares)
        total = float(weight[:, 0].sum())
        return cls(sums.rows, weight, weight / total, mean, prediction, variance)

    @property
    def errors(self) -> Array:
        """V-error of each group."""
        return np.asarray((self.mass * self.mean**2).sum(axis=0))

    @property
    def group_prediction(self) -> Array:
        """Mean prediction of each group; NaN where it has no weight."""
        with np.errstate(divide="ignore", invalid="ignore"):
            total = np.where(self.weight > 0, self.weight * self.prediction, 0.0).sum(axis=0)
            return np.asarray(total / self.weight.sum(axis=0))

    def columns(self, names: NDArray[Any], points: Array) -> dict[str, NDArray[Any]]:
        """One row per non-empty (group, level), as an audit and its report show them."""
        level, group = at = np.nonzero(self.weight > 0)
        return {
            "group": names[group],
            "level": points[level],
            "rows": self.rows[at].astype(np.int64),
            "weight": self.weight[at],
            "prediction": self.prediction[at],
            "identification": self.mean[at],
            "error": (self.mass * self.mean**2)[at],
        }
