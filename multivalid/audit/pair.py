"""The audit of a pair: for which groups are the two predictions off together, and is it noise?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.frames import from_columns
from multivalid.atoms.select import Rows
from multivalid.audit import inference
from multivalid.audit.coordinate import Coordinate
from multivalid.audit.pair_cells import PairCells, pair_cells
from multivalid.audit.solve import group_values
from multivalid.audit.statistics import CellStatistics
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.properties import Pair, Property
from multivalid.properties.base import Array
from multivalid.properties.pairs.base import SecondCoordinate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from multivalid.report.sources import Certified

LEVELS = 5  # of either coordinate: cells are (group, level⁰, level¹), so their number grows with the square
LEVEL = 0.05
COORDINATES = ("first", "second")


class PairAudit:
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

    def __init__(
        self,
        pair: Pair,
        grids: tuple[Grid, Grid],
        table: dict[str, NDArray[Any]],
        cells: PairCells,
        alone: Sequence[CellStatistics],
        rows: Rows,
    ) -> None:
        self.property, self.grids, self.table, self.cells = pair, grids, table, cells
        self.groups = rows.groups
        self._alone = alone
        self._rows = rows

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
        for k, name in zip(COORDINATES, self.property.names, strict=True):
            off = np.flatnonzero(self.table[f"{k}_p_adjusted"] <= LEVEL)
            worst = off[np.argsort(-self.table[f"{k}_error"][off], kind="stable")][:3]
            named = f" ({', '.join(self.table['name'][worst])}{', …' if off.size > 3 else ''})" if off.size else ""
            found.append(f"{name}: {off.size} of {len(self.table['name'])} groups off beyond chance at 5 %{named}")
        return "; ".join(found) + "."

    def summary(self, k: int = 10) -> str:
        """The verdict and the k worst groups, as text that fits a terminal."""
        share = sum(self.table[f"{c}_error"] / max(float(self.table[f"{c}_error"].max()), 1e-300) for c in COORDINATES)
        order = np.argsort(-share, kind="stable")[:k]
        width = min(max([len("group"), *(len(str(self.table["name"][i])) for i in order)]), 34)
        titles = "".join(f" {'error ' + s:>9} {'said':>10} {'actual':>10} {'p (Holm)':>9}" for s in "⁰¹")
        lines = [self.verdict, "", f"{'group':<{width}} {'rows':>9}{titles}"]
        for i in order:
            numbers = "".join(
                f" {self.table[f'{c}_error'][i]:>9.2e} {self.table[f'{c}_prediction'][i]:>10.4g} {self.table[f'{c}_value'][i]:>10.4g} "
                f"{self.table[f'{c}_p_adjusted'][i]:>9.2g}"
                for c in COORDINATES
            )
            lines.append(f"{str(self.table['name'][i])[:width]:<{width}} {self.table['rows'][i]:>9,}{numbers}")
        return "\n".join([*lines, "", *self.groups.notes]).rstrip()

    def to_frame(self) -> Any:
        """The per-group table as a data frame of the kind that `data` was."""
        return from_columns(self.table, self._rows.frame)

    # ---- for people: see multivalid.report -----------------------------------------------------------------------
    @cached_property
    def coordinates(self) -> tuple[Coordinate, Coordinate]:
        """Either coordinate by itself: its columns of the table, and cells by the level of its own prediction."""
        fingerprint, shared = self._rows.fingerprint(), ("name", "rows", "weight")
        made = []
        predicted: tuple[Property | SecondCoordinate, ...] = (self.property.first, SecondCoordinate(self.property))
        for k, prop in enumerate(predicted):
            own = f"{COORDINATES[k]}_"
            table = {name: self.table[name] for name in shared}
            table |= {name.removeprefix(own): column for name, column in self.table.items() if name.startswith(own)}
            cells = self._alone[k].columns(table["name"], self.grids[k].points)
            made.append(Coordinate(self.grids[k], table, cells, fingerprint, prop))
        return made[0], made[1]

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        before: PairAudit | None = None,
        certificate: Certified | None = None,
        title: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Path:
        """Write one self-contained HTML page with a part for either coordinate, and its numbers beside it as JSON.

        Parameters
        ----------
        path : path
            Ends in .html (page and JSON) or in .json (JSON only).
        before : PairAudit, optional
            Of other predictions for the same rows and groups, to compare with.
        certificate : JointCertificate, optional
            Of the calibration that made the predictions.
        title : str, optional
            Heading of the page.
        settings : mapping, optional
            What else a reader needs to repeat the numbers: file names, model versions.

        Examples
        --------
        >>> import multivalid as mv, pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> found = mv.audit([0.0, 1.0], [[0.5, 0.2], [0.5, 0.2]], groups=[], property="mean_variance")
        >>> found.report(folder / "pair.html").name
        'pair.html'
        >>> sorted(file.name for file in folder.iterdir())
        ['pair.html', 'pair.json']
        """
        from multivalid.report.page import write
        from multivalid.report.sources import pair_story

        return write(pair_story(self, before, certificate, title, self.groups.notes, settings or {}), path)

    def plot_reliability(self, group: str | None = None, *, coordinate: int = 0, ax: Any = None, **style: Any) -> Any:
        """Observed against predicted for a group (the worst when None), of coordinate 0 or 1, on a matplotlib axis; returns it."""
        from multivalid.report import plots

        return plots.reliability(self._coordinate(coordinate), group, ax=ax, **style)

    def plot_heatmap(self, groups: list[str] | int = 24, *, coordinate: int = 0, ax: Any = None) -> Any:
        """Group × level of mean V in standard errors, of coordinate 0 or 1, on a matplotlib axis; returns the axis."""
        from multivalid.report import plots

        return plots.heatmap(self._coordinate(coordinate), groups, ax=ax)

    def plot_groups(self, k: int = 15, *, coordinate: int = 0, ax: Any = None) -> Any:
        """The k largest errors of coordinate 0 or 1 as bars on a matplotlib axis; returns the axis."""
        from multivalid.report import plots

        return plots.groups(self._coordinate(coordinate), k, ax=ax)

    def _coordinate(self, which: int) -> Coordinate:
        if which not in (0, 1):
            raise InputError(f"coordinate must be 0 ({self.property.names[0]}) or 1 ({self.property.names[1]}), got {which!r}.")
        return self.coordinates[which]

    def __repr__(self) -> str:
        return f"<PairAudit of {self.property!r}: {self.verdict}>"


def audit_pair_rows(rows: Rows, pair: Pair, grid: Any = None) -> PairAudit:
    """The audit of rows already gathered, with two predictions each."""
    pair.check_labels(rows.labels)
    grids = pair_grids(rows, grid)
    levels = [chosen.round(rows.predictions[:, k]) for k, chosen in enumerate(grids)]
    shape = len(grids[0]), len(grids[1])
    place = np.asarray(levels[0] * shape[1] + levels[1])
    cells = pair_cells(pair, rows.labels, rows.predictions, rows.weights, place, shape, rows.membership)
    alone = _alone(rows, pair, grids, levels)
    return PairAudit(pair, grids, _table(rows, pair, alone, cells), cells, alone, rows)


def pair_grids(rows: Rows, grid: Any) -> tuple[Grid, Grid]:
    """The grids given, or levels of about equal weight; predictions with few distinct values are taken value by value."""
    if grid is not None and not (isinstance(grid, Sequence) and len(grid) == 2 and all(isinstance(g, Grid) for g in grid)):
        raise InputError(f"grid must be two Grids for a pair, one per coordinate, got {grid!r}.")
    made = []
    for k in (0, 1):
        values = rows.predictions[:, k]
        if grid is not None:
            grid[k].check(values)
            made.append(grid[k])
            continue
        distinct = np.unique(values)
        made.append(Grid(distinct) if distinct.size <= LEVELS else Grid.quantile(values, LEVELS, rows.weights))
    return made[0], made[1]


def _alone(rows: Rows, pair: Pair, grids: tuple[Grid, Grid], levels: list[NDArray[np.intp]]) -> list[CellStatistics]:
    """Mean V of either coordinate on the levels of its own prediction; V¹ at the predicted f⁰."""
    first, second = rows.predictions.T
    v = pair.first.identify(first, rows.labels), pair.identify_second(first, second, rows.labels)
    by_row = rows.membership.by_row()
    return [
        CellStatistics.at(replace(rows, predictions=rows.predictions[:, k]), v[k], levels[k], len(grids[k]), by_row) for k in (0, 1)
    ]


def _table(rows: Rows, pair: Pair, alone: list[CellStatistics], cells: PairCells) -> dict[str, NDArray[Any]]:
    values = _values(rows, pair)
    tests = [_tests(cell) for cell in alone]
    adjusted = inference.holm(np.concatenate([test["p_value"] for test in tests])).reshape(2, -1)
    errors = cells.first_errors(), cells.second_errors()
    gammas = cells.first_errors(cells.first_gap), cells.second_errors(cells.second_gap)
    debiased = cells.debiased()
    table: dict[str, NDArray[Any]] = {
        "name": np.array(rows.groups.names),
        "rows": tests[0]["rows"].astype(np.int64),
        "weight": tests[0]["weight"],
    }
    for k, name in enumerate(COORDINATES):
        columns = {
            "error": errors[k],
            "gamma_error": gammas[k],
            "debiased": debiased[k],
            "chi2": tests[k]["chi2"],
            "p_value": tests[k]["p_value"],
            "p_adjusted": adjusted[k],
            "prediction": tests[k]["prediction"],
            "value": values[k],
        }
        table |= {f"{name}_{column}": numbers for column, numbers in columns.items()}
    return table


def _tests(cells: CellStatistics) -> dict[str, Array]:
    """χ² of the mean V on the levels of a coordinate's own prediction."""
    test = inference.chi_square(cells.mass, cells.mean, cells.steady, cells.effective, cells.kurtosis)
    weight = cells.weight.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        prediction = np.where(cells.weight > 0, cells.weight * cells.prediction, 0.0).sum(axis=0) / weight
    return {
        "rows": cells.rows.sum(axis=0), "weight": weight, "chi2": test.statistic, "p_value": test.p_value, "prediction": prediction,
    }  # fmt: skip


def _values(rows: Rows, pair: Pair) -> tuple[Array, Array]:
    """What the predictions of each group should be: Γ⁰ of its labels, and the mean target (Γ¹ for pairs without); NaN if empty."""
    first = group_values(pair.first, rows.labels, rows.weights, rows.membership)
    second = np.full(first.size, np.nan)
    start = np.zeros(1, dtype=np.intp)
    pseudo = pair.target(rows.predictions[:, 0], rows.labels) if pair.has_target else None
    for g in np.flatnonzero(np.isfinite(first)):
        inside = rows.membership.mask(int(g)) & (rows.weights > 0)
        w = rows.weights[inside]
        if pseudo is not None:
            second[g] = w @ pseudo[inside] / w.sum()
        else:
            second[g] = pair.solve_second_segments(first[g : g + 1], rows.labels[inside], w, start)[0]
    return first, second
