"""The audit of a pair: for which groups are the two predictions off together, and is it noise?"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.audit.audit import Audit
from multivalid.audit.coordinate import CoordinateAudit, tests
from multivalid.audit.pair_cells import PairCells
from multivalid.cells import inference
from multivalid.cells.statistics import CellStatistics
from multivalid.levels import SIGNIFICANCE

SHARED = ("name", "rows", "weight")


class PairAudit(Audit):
    """What `audit` found for a pair.

    Attributes
    ----------
    errors : (float, float)
        The largest V-error of any group: both conditions of joint multicalibration, V¹ at the true Γ⁰ of each cell.
    table : dict of arrays
        One row per group: name, rows, weight, and for each coordinate ("first_…", "second_…") error (V-form), gamma_error, debiased,
        chi2, p_value, p_adjusted, prediction (mean), value (first: Γ⁰ of the group's labels; second: the mean target
        at the predicted f⁰, since Γ¹ of a mixture is no mean of Γ¹). The test and the debiased error take V¹ at
        the predicted f⁰; Holm's correction covers both coordinates of all groups.
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
        self._alone = [CellStatistics.of(one.along(shape, k)) for k, one in enumerate(self._sums)]
        self.table = self._table()

    def _table(self) -> dict[str, NDArray[Any]]:
        cells, found = self.cells, [tests(alone) for alone in self._alone]
        adjusted = inference.holm(np.concatenate([test.p_value for test in found])).reshape(len(found), -1)
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
                "chi2": found[k].statistic,
                "p_value": found[k].p_value,
                "p_adjusted": adjusted[k],
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
            # A joint score of both exists for some pairs, none for one coordinate.
            made.append(CoordinateAudit(self.grids[k], table, cells, self._sums[k], self._source, coordinate, alone=False))
        return tuple(made)

    @property
    def errors(self) -> tuple[float, float]:
        """The largest V-error of any group, for either coordinate."""
        return float(self.table["first_error"].max()), float(self.table["second_error"].max())

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
        for k, name in zip(self.property.keys, self.property.names, strict=True):
            off = np.flatnonzero(self.table[f"{k}_p_adjusted"] <= SIGNIFICANCE)
            worst = off[np.argsort(-self.table[f"{k}_error"][off], kind="stable")][:3]
            named = f" ({', '.join(self.table['name'][worst])}{', …' if off.size > 3 else ''})" if off.size else ""
            found.append(f"{name}: {off.size} of {len(self.table['name'])} groups off beyond chance at 5 %{named}")
        return "; ".join(found) + "."

    def summary(self, k: int = 10) -> str:
        """The verdict and the k worst groups, as text that fits a terminal."""
        keys = self.property.keys
        share = sum(self.table[f"{c}_error"] / max(float(self.table[f"{c}_error"].max()), 1e-300) for c in keys)
        order = np.argsort(-share, kind="stable")[:k]
        width = min(max([len("group"), *(len(str(self.table["name"][i])) for i in order)]), 34)
        titles = "".join(f" {'error ' + s:>9} {'said':>10} {'actual':>10} {'p (Holm)':>9}" for s in "⁰¹")
        lines = [self.verdict, "", f"{'group':<{width}} {'rows':>9}{titles}"]
        for i in order:
            numbers = "".join(
                f" {self.table[f'{c}_error'][i]:>9.2e} {self.table[f'{c}_prediction'][i]:>10.4g} {self.table[f'{c}_value'][i]:>10.4g} "
                f"{self.table[f'{c}_p_adjusted'][i]:>9.2g}"
                for c in keys
            )
            lines.append(f"{str(self.table['name'][i])[:width]:<{width}} {self.table['rows'][i]:>9,}{numbers}")
        return "\n".join([*lines, "", *self.groups.notes]).rstrip()
