"""What the rows say of every (level × group): mass, mean V, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.select import Rows
from multivalid.audit import inference
from multivalid.audit.cells import tabulate
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.groups.membership import Bits
from multivalid.properties import Property
from multivalid.properties.base import Array


@dataclass(frozen=True)
class CellStatistics:
    """Arrays of shape (levels, groups); means are 0 and predictions NaN in cells without weight.

    `variance` is the unbiased variance of the mean V, `steady` the same with small cells drawn towards the population, `effective` the
    number of equally weighted rows that would tell as much; `kurtosis` is that of V over all rows.
    """

    rows: Array
    weight: Array
    mass: Array
    mean: Array
    prediction: Array
    variance: Array
    steady: Array
    effective: Array
    kurtosis: float

    @classmethod
    def of(
        cls, rows: Rows, prop: Property, grid: Grid, level: NDArray[np.intp] | None = None, by_row: Bits | None = None
    ) -> CellStatistics:
        """One pass over the rows, at the levels of their predictions (`level` and `by_row` where they are known already)."""
        level = grid.round(rows.predictions) if level is None else level
        by_row = rows.membership.by_row() if by_row is None else by_row
        return cls.at(rows, _identify(rows, prop), level, len(grid), by_row)

    @classmethod
    def at(cls, rows: Rows, v: Array, level: NDArray[np.intp], levels: int, by_row: Bits) -> CellStatistics:
        """The same for an identification computed elsewhere (the second coordinate of a pair)."""
        sums = _sums(rows, v, by_row, level, levels)
        return cls.from_sums(sums, float(rows.weights.sum()), inference.kurtosis(rows.weights, v))

    @classmethod
    def from_sums(cls, sums: tuple[Array, ...], total: float, kurt: float) -> CellStatistics:
        """The same from the sums of each cell (rows with weight, w, wV, w², w²V², w·prediction), the total weight and the kurtosis."""
        count, weight, wv, ww, wwvv, wp = sums
        filled = weight > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            mean, prediction = np.where(filled, wv / weight, 0.0), np.where(filled, wp / weight, np.nan)
        effective = inference.effective_rows(weight, ww)
        variance = inference.mean_variance(count, weight, mean, ww, wwvv)
        mean_square = float(wwvv[:, 0].sum() / ww[:, 0].sum())
        steady = inference.steady_variance(effective, variance, mean_square, kurt)
        return cls(count, weight, weight / total, mean, prediction, variance, steady, effective, kurt)

    @property
    def errors(self) -> Array:
        """V-error of each group."""
        return np.asarray((self.mass * self.mean**2).sum(axis=0))

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
            "standard_error": np.sqrt(self.steady[at]),
            "error": (self.mass * self.mean**2)[at],
        }


def _identify(rows: Rows, prop: Property) -> Array:
    with np.errstate(all="ignore"):
        v = prop.identify(rows.predictions, rows.labels)
    bad = np.flatnonzero(~np.isfinite(v))
    if bad.size:
        raise InputError(
            f"y_pred is too far out for {prop!r}: {bad.size} predictions give no finite identification, the first at row {bad[0]} "
            f"({rows.predictions[bad[0]]:g}); rescale labels and predictions."
        )
    return v


def _sums(rows: Rows, v: Array, by_row: Bits, level: NDArray[np.intp], levels: int) -> tuple[Array, ...]:
    """Per cell: rows with weight, w, wV, w², w²V², w·prediction; what every column of a report is made of."""
    w = rows.weights
    columns = [w * v, (w * v) ** 2, w * rows.predictions, (w > 0).astype(np.float64)]
    plain = bool((w == 1).all())  # weights of one: rows, weight and squared weight are the same sum
    if not plain:
        columns += [w, w * w]
    table = tabulate(by_row, level, np.stack(columns, axis=1), levels, rows.membership.groups)
    wv, wwvv, wp, count, *others = np.moveaxis(table, 2, 0)
    weight, ww = (count, count) if plain else others
    return count, weight, wv, ww, wwvv, wp
