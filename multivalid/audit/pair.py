"""The audit of a pair: for which groups are the two predictions off together, and is it noise?"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.audit.audit import Audit
from multivalid.audit.coordinate import CoordinateAudit, cell_columns, chance_columns, evidence_of
from multivalid.audit.pair_cells import PairCells
from multivalid.audit.text import worst_table
from multivalid.cells.chance import LEVEL, Evidence, evidence, findings
from multivalid.cells.sentences import headlines, off_groups, unknown_lines
from multivalid.cells.short_names import WIDEST
from multivalid.cells.statistics import CellStatistics
from multivalid.cells.sums import CellSums

SHARED = ("name", "rows", "weight")


class PairAudit(Audit):
    """What `audit` found for a pair.

    Attributes
    ----------
    errors : (float, float)
        The largest V-error of any group: both conditions of joint multicalibration, V¹ at the true Γ⁰ of each cell.
    table : dict of arrays
        One row per group: name, rows, weight, and for each coordinate ("first_…", "second_…") error (V-form), gamma_error, debiased,
        what is said about chance (chi2, dof, p_value, p_adjusted, gap, rms, … as in `Audit.table`), prediction (mean), value
        (first: Γ⁰ of the group's labels; second: the mean target at the predicted f⁰, since Γ¹ of a mixture is no mean of Γ¹). The
        tests and the debiased error take V¹ at the predicted f⁰; Holm's correction and the intervals cover both coordinates of all groups.
    cells : PairCells
        Everything by (level⁰, level¹, group).

    Examples
    --------
    >>> import multivalid as mv
    >>> found = mv.audit([0.0, 1.0], [[0.5, 0.2], [0.5, 0.2]], groups=[], property="mean_variance")
    >>> [round(error, 6) for error in found.errors]  # the variance is 0.25
    [0.0, 0.0025]
    """

    cells: PairCells  # type: ignore[assignment]  # of both coordinates together

    def _read(self) -> None:
        self.cells = PairCells.of(self._sums, self._laws, [len(grid) for grid in self.grids])
        shape = tuple(len(grid) for grid in self.grids)
        # Each coordinate is tested on the levels of its own prediction; V¹ is taken at the predicted f⁰.
        own = [one.along(shape, k) for k, one in enumerate(self._sums)]
        self._alone = [CellStatistics.of(one) for one in own]
        self._evidence = [
            evidence_of(self._source, coordinate, grid, one)
            for coordinate, grid, one in zip(self.property.coordinates, self.grids, own, strict=True)
        ]
        self._findings = findings(self._evidence)
        self.table = self._table()

    def _table(self) -> dict[str, NDArray[Any]]:
        cells = self.cells
        errors = cells.first_errors(), cells.second_errors()
        gammas = cells.first_errors(cells.first_gap), cells.second_errors(cells.second_gap)
        debiased = cells.debiased()
        first = self._alone[0]
        table: dict[str, NDArray[Any]] = {
            "name": np.array(self.groups.names),
            "rows": first.rows.sum(axis=0).astype(np.int64),
            "weight": first.weight.sum(axis=0),
        }
        for k, key in enumerate(self.property.keys):
            columns = {
                "error": errors[k],
                "gamma_error": gammas[k],
                "debiased": debiased[k],
                **chance_columns(self._findings[k], self._evidence[k]),
                "prediction": self._alone[k].group_prediction,
                "value": self._laws.groups[k],
            }
            table |= {f"{key}_{column}": numbers for column, numbers in columns.items()}
        return table

    @cached_property
    def coordinates(self) -> tuple[CoordinateAudit, ...]:  # type: ignore[override]
        """Either coordinate by itself: its columns of the table, and cells by the level of its own prediction."""
        made = []
        for k, coordinate in enumerate(self.property.coordinates):
            own = f"{self.property.keys[k]}_"
            table = {name: self.table[name] for name in SHARED}
            table |= {name.removeprefix(own): column for name, column in self.table.items() if name.startswith(own)}
            cells = self._alone[k].columns(table["name"], self.grids[k].points)
            cells |= cell_columns(self._evidence[k], self._alone[k].weight > 0)
            # A joint score of both exists for some pairs, none for one coordinate.
            made.append(
                CoordinateAudit(
                    self.grids[k], table, cells, self._sums[k], self._source, coordinate, self._evidence[k], alone=False
                )
            )
        return tuple(made)

    @property
    def errors(self) -> tuple[float, float]:
        """The largest V-error of any group, for either coordinate."""
        return float(self.table["first_error"].max()), float(self.table["second_error"].max())

    @property
    def holdout_bound(self) -> tuple[float, ...]:
        """Upper 95 % limits for the two errors of any group on the population (asymptotic), V¹ at the predicted f⁰.

        For rows that played no part in making the predictions. As in the errors, every level of the other prediction counts by itself.
        """
        shape = tuple(len(grid) for grid in self.grids)
        made = []
        for k, one in enumerate(self._sums):
            parts = _by_other_level(one, shape, k)
            made.append(float(np.max(parts.errors.upper(LEVEL)[1:])) * parts.scale**2)
        return tuple(made)

    @property
    def gamma_errors(self) -> tuple[float, float]:
        """The largest Γ-error of any group, for either coordinate."""
        return float(self.table["first_gamma_error"].max()), float(self.table["second_gamma_error"].max())

    @property
    def error(self) -> float:
        """The larger of the two V-errors; they may have different units, see `errors`."""
        return max(self.errors)

    @property
    def verdict(self) -> str:
        """How many groups are off beyond chance, in either coordinate."""
        found = []
        for one, name in zip(self.coordinates, self.property.names, strict=True):
            off = off_groups(one.table)
            named = f" ({', '.join(off[:3])}{', …' if len(off) > 3 else ''})" if off else ""
            found.append(f"{name}: {len(off)} of {len(self.table['name'])} groups off beyond chance at 5 %{named}")
        return "; ".join(found) + "."

    def summary(self, k: int = 10, widest: int | None = WIDEST) -> str:
        """The verdict and the k worst groups of either coordinate, as text that fits a terminal; `widest` as in `Audit`."""
        lines = [self.verdict]
        for one, name in zip(self.coordinates, self.property.names, strict=True):
            told = [*headlines(one.table, one.units)[:k], *unknown_lines(one.table, one.units)]
            lines += ["", f"{name[0].upper()}{name[1:]}", *told, worst_table(one.table, one.units, k, widest)]
        return "\n".join([*lines, "", *self.groups.notes]).rstrip()


def _by_other_level(sums: CellSums, shape: tuple[int, ...], axis: int) -> Evidence:
    """What the rows say about one coordinate when each group is cut by the level of the other prediction; column 0 is everyone, uncut."""
    assert sums.law is not None
    assert sums.chance is not None

    def cut(table: NDArray[Any]) -> NDArray[Any]:
        cube = np.moveaxis(table.reshape(*shape, -1), axis, 0)
        return np.concatenate([cube[:, :, :1].sum(axis=1), cube.reshape(cube.shape[0], -1)], axis=1)

    return evidence(sums.law, {name: cut(table) for name, table in sums.chance.items()}, scale=sums.scale)
