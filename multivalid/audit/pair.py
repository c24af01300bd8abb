"""The audit of a pair: for which groups are the two predictions off together, and is it noise?"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.audit.coordinate import Columns, CoordinateAudit, cell_columns, chance_columns, evidence_of
from multivalid.audit.pair_cells import PairCells
from multivalid.audit.result import Audit
from multivalid.audit.text import worst_table
from multivalid.cells.chance import Evidence, evidence, findings
from multivalid.cells.sentences import headlines, off_groups, unknown_lines
from multivalid.cells.short_names import WIDEST
from multivalid.cells.statistics import CellStatistics
from multivalid.cells.sums import CellSums
from multivalid.levels import SIGNIFICANCE
from multivalid.sources.laws import Laws


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

    @cached_property
    def cells(self) -> PairCells:  # type: ignore[override]  # of both coordinates together
        """Everything by (level⁰, level¹, group)."""
        return PairCells.of(self._read.sums, self._laws, [len(grid) for grid in self.grids])

    @property
    def _laws(self) -> Laws:
        """What both predictions should have been; a pair's sums hold no moments that would decide it."""
        (laws,) = self._read.laws
        assert laws is not None
        return laws

    @cached_property
    def coordinates(self) -> tuple[CoordinateAudit, ...]:
        """Either coordinate by itself: both conditions on its errors, and cells by the level of its own prediction."""
        shape = tuple(len(grid) for grid in self.grids)
        # Each coordinate is tested on the levels of its own prediction; V¹ is taken at the predicted f⁰.
        own = [one.along(shape, k) for k, one in enumerate(self._read.sums)]
        parts = list(zip(self.property.coordinates, self.grids, own, strict=True))
        rows = [evidence_of(self._source, *part) for part in parts]
        said, cells = findings(rows), self.cells
        errors = cells.first_errors(), cells.second_errors()
        gammas = cells.first_errors(cells.first_gap), cells.second_errors(cells.second_gap)
        debiased = cells.debiased()
        made = []
        for k, (coordinate, grid, sums) in enumerate(parts):
            alone = CellStatistics.of(sums)
            table: Columns = {
                "name": np.array(self.groups.names),
                "rows": alone.rows.sum(axis=0).astype(np.int64),
                "weight": alone.weight.sum(axis=0),
                "error": errors[k],
                "gamma_error": gammas[k],
                "debiased": debiased[k],
                **chance_columns(said[k], rows[k]),
                "prediction": alone.group_prediction,
                "value": self._laws.groups[k],
            }
            levels = alone.columns(table["name"], grid.points) | cell_columns(rows[k], alone.weight > 0)
            # A joint score of both exists for some pairs, none for one coordinate.
            made.append(
                CoordinateAudit(grid, table, levels, self._read.sums[k], self._source, coordinate, rows[k], said[k], alone=False)
            )
        return tuple(made)

    @property
    def errors(self) -> tuple[float, float]:
        """The largest V-error of any group, for either coordinate."""
        first, second = super().errors
        return first, second

    @property
    def holdout_bound(self) -> tuple[float, ...]:
        """Upper 95 % limits for the two errors of any group on the population (asymptotic), V¹ at the predicted f⁰.

        For rows that played no part in making the predictions. As in the errors, every level of the other prediction counts by itself.
        """
        shape = tuple(len(grid) for grid in self.grids)
        made = []
        for k, one in enumerate(self._read.sums):
            parts = _by_other_level(one, shape, k)
            made.append(float(np.max(parts.errors.upper(SIGNIFICANCE)[1:])) * parts.scale**2)
        return tuple(made)

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
            sentences = [*headlines(one.table, one.units)[:k], *unknown_lines(one.table, one.units)]
            lines += ["", f"{name[0].upper()}{name[1:]}", *sentences, worst_table(one.table, one.units, k, widest)]
        return "\n".join([*lines, "", *self.groups.notes]).rstrip()


def _by_other_level(sums: CellSums, shape: tuple[int, ...], axis: int) -> Evidence:
    """What the rows say about one coordinate when each group is cut by the level of the other prediction; column 0 is everyone, uncut."""
    assert sums.law is not None
    assert sums.chance is not None

    def cut(table: NDArray[Any]) -> NDArray[Any]:
        cube = np.moveaxis(table.reshape(*shape, -1), axis, 0)
        return np.concatenate([cube[:, :, :1].sum(axis=1), cube.reshape(cube.shape[0], -1)], axis=1)

    return evidence(sums.law, {name: cut(table) for name, table in sums.chance.items()}, scale=sums.scale)
