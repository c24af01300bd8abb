"""What the rows say of every (level × group): mass, mean V, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.select import Rows
from multivalid.audit import inference
from multivalid.audit.cells import tabulate
from multivalid.grid import Grid
from multivalid.properties import Property
from multivalid.properties.base import Array


@dataclass(frozen=True)
class CellStatistics:
    """Arrays of shape (levels, groups); means are 0 and predictions NaN in cells without weight.

    `variance` is the unbiased variance of the mean V, `steady` the same with small cells drawn towards the population.
    """

    rows: Array
    weight: Array
    mass: Array
    mean: Array
    prediction: Array
    variance: Array
    steady: Array

    @classmethod
    def of(cls, rows: Rows, prop: Property, grid: Grid, level: NDArray[np.intp] | None = None) -> CellStatistics:
        """One pass over the rows, at the levels of their predictions."""
        level = grid.round(rows.predictions) if level is None else level
        sums = tabulate(rows.membership.by_row(), level, _row_sums(rows, prop), len(grid), rows.membership.groups)
        count, weight, wv, ww, wwv, wwvv, wp = np.moveaxis(sums, 2, 0)
        filled = weight > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            mean, prediction = np.where(filled, wv / weight, 0.0), np.where(filled, wp / weight, np.nan)
        variance = inference.mean_variance(count, weight, mean, ww, wwv, wwvv)
        steady = inference.steady_variance(count, weight, variance, ww)
        return cls(count, weight, weight / rows.weights.sum(), mean, prediction, variance, steady)

    @property
    def errors(self) -> Array:
        """V-error of each group."""
        return np.asarray((self.mass * self.mean**2).sum(axis=0))


def _row_sums(rows: Rows, prop: Property) -> Array:
    """Per row: 1 (0 without weight), w, wV, w², w²V, w²V², w·prediction; what every column of the report is made of."""
    w, v = rows.weights, prop.identify(rows.predictions, rows.labels)
    return np.stack([w > 0, w, w * v, w * w, w * w * v, w * w * v * v, w * rows.predictions], axis=1)
