"""`audit`: for which groups are the predictions off, by how much, and is it noise?"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms import select
from multivalid.atoms.frames import from_columns
from multivalid.atoms.opening import lazy_rows
from multivalid.atoms.select import Rows
from multivalid.audit import inference, measures
from multivalid.audit.cells import tabulate
from multivalid.audit.solve import cell_values, from_moments, group_values
from multivalid.audit.statistics import CellStatistics
from multivalid.audit.text import verdict_line, worst_table
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.groups.membership import Bits
from multivalid.groups.remote import gather, lazy_frame
from multivalid.properties import Pair, Property
from multivalid.properties.base import Array
from multivalid.scope import require

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from multivalid.report.sources import Certified

MAX_LEVELS_AS_GIVEN = 64  # predictions with at most this many distinct values are audited value by value
DEFAULT_LEVELS = 20


class Cell(NamedTuple):
    """One (group, level): its rows, mean prediction, solved property, mean V with its standard error, and its share of the error."""

    group: str
    level: float
    rows: int
    weight: float
    prediction: float
    value: float
    identification: float
    standard_error: float
    error: float


class Audit:
    """What `audit` found.

    Attributes
    ----------
    error : float
        The largest V-error of any group: Σ over levels of share × (mean V)², V being the property's identification function, which
        averages to zero where predictions are right (for a mean, prediction − outcome).
    table : dict of arrays
        One row per group: name, rows, weight, error (V-form), gamma_error (the same with prediction − property in place of mean V),
        l1, linf, worst_level, debiased, chi2 with its degrees of freedom dof, p_value, p_adjusted, prediction (mean), value (Γ of the
        group's labels).
    cells : dict of arrays
        One row per non-empty (group, level): group, level, rows, weight, prediction, value, identification (mean V), standard_error,
        error (p·v²).
    verdict : str
        One line for a person.
    property, grid, groups
        What was audited, on which levels, for whom.
    score : float
        Mean score of the predictions.
    fingerprint : str or None
        SHA-256 of labels, predictions, weights and groups.

    Examples
    --------
    >>> from multivalid import audit
    >>> found = audit([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5], groups=[])
    >>> found.error
    0.0625
    >>> found.worst(1)[0].identification
    -0.25
    """

    def __init__(
        self, prop: Property, grid: Grid, table: dict[str, NDArray[Any]], cells: dict[str, NDArray[Any]], rows: Rows
    ) -> None:
        self.property, self.grid, self.table, self.cells = prop, grid, table, cells
        self.groups = rows.groups
        self._rows = rows

    @property
    def error(self) -> float:
        """The largest V-error of any group."""
        return float(self.table["error"].max())

    @property
    def verdict(self) -> str:
        """How many groups are off beyond chance."""
        return verdict_line(self.table)

    def worst(self, k: int = 10) -> list[Cell]:
        """The k cells that contribute most to the error, largest first."""
        order = np.argsort(-self.cells["error"], kind="stable")[:k]
        return [Cell(**{name: column[i].item() for name, column in self.cells.items()}) for i in order]

    def summary(self, k: int = 10) -> str:
        """The verdict and the k worst groups, as text that fits a terminal."""
        return "\n".join([self.verdict, "", worst_table(self.table, k), "", *self.groups.notes]).rstrip()

    def to_frame(self) -> Any:
        """The per-group table as a data frame of the kind that `data` was."""
        return from_columns(self.table, self._rows.frame)

    # ---- for people: see multivalid.report -----------------------------------------------------------------------
    @cached_property
    def score(self) -> float:
        """Mean score of the predictions (for a quantile its pinball loss, up to a part that no prediction changes)."""
        rows = self._rows
        return float(rows.weights @ self.property.score(rows.predictions, rows.labels) / rows.weights.sum())

    @cached_property
    def fingerprint(self) -> str | None:
        """SHA-256 of labels, predictions, weights and groups: equal for equal data; None for rows that stayed in their engine."""
        return self._rows.fingerprint()

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        before: Audit | None = None,
        certificate: Certified | None = None,
        title: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Path:
        """Write one self-contained HTML page, and its numbers beside it as JSON.

        Parameters
        ----------
        path : path
            Ends in .html (page and JSON) or in .json (JSON only).
        before : Audit, optional
            Of other predictions for the same rows and groups, to compare with.
        certificate : Certificate, optional
            Of the calibration that made the predictions.
        title : str, optional
            Heading of the page.
        settings : mapping, optional
            What else a reader needs to repeat the numbers: file names, model versions.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> audit([0, 0, 1, 1], [0.2, 0.2, 0.7, 0.7], groups=[]).report(folder / "report.html").name
        'report.html'
        >>> sorted(file.name for file in folder.iterdir())
        ['report.html', 'report.json']
        """
        from multivalid.report.page import write
        from multivalid.report.sources import story

        return write(story(self, before, certificate, title, self.groups.notes, settings or {}), path)

    def plot_reliability(self, group: str | None = None, *, ax: Any = None, **style: Any) -> Any:
        """Observed against predicted for a group (the worst when None) with a 95 % band, on a matplotlib axis; returns the axis."""
        from multivalid.report import plots

        return plots.reliability(self, group, ax=ax, **style)

    def plot_heatmap(self, groups: list[str] | int = 24, *, ax: Any = None) -> Any:
        """Group × level of mean V in standard errors, for the worst or the named groups, on a matplotlib axis; returns the axis."""
        from multivalid.report import plots

        return plots.heatmap(self, groups, ax=ax)

    def plot_groups(self, k: int = 15, *, ax: Any = None) -> Any:
        """The k largest errors as bars on a matplotlib axis; returns the axis."""
        from multivalid.report import plots

        return plots.groups(self, k, ax=ax)

    def __repr__(self) -> str:
        return f"<Audit of {self.property!r}: {self.verdict}>"


def audit(
    y_true: Any,
    y_pred: Any,
    *,
    groups: Any,
    data: Any = None,
    property: str | Property | Pair = "mean",
    grid: Grid | Any | None = None,
    sample_weight: Any = None,
) -> Any:
    """For each group: how far are the predictions off, given their own value, and is that beyond chance?

    Parameters
    ----------
    y_true, y_pred : array-like, or the name of a column of `data`
        Outcomes and predictions; for a pair, predictions have two columns: an array (rows, 2), or two arrays or column names.
    groups : list of items, Groups, or boolean array
        For whom: predicate texts, column names, `bins`, `cross`, boolean arrays. The whole population is always a group.
    data : data frame, optional
        Where columns named in the other arguments live; a lazy frame (polars LazyFrame, DuckDB relation, Spark, …) is not collected.
    property : Property, Pair or str
        What the predictions are of.
    grid : Grid, optional
        Levels to condition on. By default: predictions with at most 64 distinct values are taken value by value; probabilities are cut
        into 20 equal parts of [0, 1]; anything else into 20 parts of equal weight. V is always taken at the prediction itself.
    sample_weight : array-like or column name, optional
        Non-negative weights. They say how much a row counts, not how often it was seen: the tests stay the same when all are doubled.

    Returns
    -------
    Audit, or PairAudit for a pair

    Notes
    -----
    V is the property's identification function: for a mean, prediction − outcome; for a quantile, 1[outcome ≤ prediction] − τ. With p the
    mass of a cell (group, level) and v its mean V, a group's error is Σ p·v². The debiased error subtracts from each v² the
    variance of v, so that pure noise averages to zero. The test compares the error with the law that noise alone would give it, a
    multiple of χ² (`chi2` and `dof`); Holm's correction covers all groups. Rows are taken as independent.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> group = rng.random(4000) < 0.3
    >>> truth = np.where(group, 0.7, 0.4)
    >>> y = rng.random(4000) < truth
    >>> found = audit(y, np.full(4000, 0.49), groups=[group])
    >>> found.verdict
    '1 of 2 groups is off beyond chance at 5 %: group 1.'
    """
    prop = require(property)
    frame = lazy_frame(data)
    if isinstance(prop, Pair):
        from multivalid.audit.pair import audit_pair_rows

        data = data if frame is None else gather(frame, "pairs are audited")
        gathered = select.rows(y_true, y_pred, groups=groups, data=data, sample_weight=sample_weight, width=2)
        return audit_pair_rows(gathered, prop, grid)
    if frame is not None:
        from multivalid.audit.lazy import audit_lazy  # it builds on this module

        stays = lazy_rows(y_true, y_pred, groups=groups, frame=frame, sample_weight=sample_weight, prop=prop)
        return audit_lazy(stays, prop, grid)
    rows = select.rows(y_true, y_pred, groups=groups, data=data, sample_weight=sample_weight)
    return audit_rows(rows, prop, grid)


def audit_rows(rows: Rows, prop: Property, grid: Grid | None = None, *, beyond: bool = False) -> Audit:
    """The audit of rows already gathered; `beyond` lets predictions outside the grid's range count at its outermost levels."""
    prop.check_labels(rows.labels)
    if grid is None:
        grid = default_grid(rows.predictions, rows.weights)
    elif not isinstance(grid, Grid):
        raise InputError(f"grid must be a Grid, got {grid!r}; use for example Grid.uniform(0, 1, 20).")
    if not beyond:
        grid.check(rows.predictions)
    level = grid.round(rows.predictions)
    by_row = rows.membership.by_row()
    cells = CellStatistics.of(rows, prop, grid, level, by_row)
    solved, values = _solve(rows, prop, by_row, level, len(grid))
    return _assemble(rows, prop, grid, cells, solved, values)


def default_grid(predictions: Array, weights: Array) -> Grid:
    """Levels for an audit when the user names none."""
    distinct = np.unique(predictions)
    if distinct.size <= MAX_LEVELS_AS_GIVEN:
        return Grid(distinct)
    if distinct[0] >= 0 and distinct[-1] <= 1:
        return Grid.uniform(0, 1, DEFAULT_LEVELS)
    return Grid.quantile(predictions, DEFAULT_LEVELS, weights)


def _solve(rows: Rows, prop: Property, by_row: Bits, level: NDArray[np.intp], levels: int) -> tuple[Array, Array]:
    """Γ of every (level, group) and of every group."""
    moments = prop.moments(rows.labels[:0])
    if moments is None or prop.solve_moments(np.ones((1, moments.shape[1]))) is None:
        solved = cell_values(prop, rows.labels, rows.weights, level, rows.membership, levels)
        return solved, group_values(prop, rows.labels, rows.weights, rows.membership)
    full = prop.moments(rows.labels)
    assert full is not None
    sums = tabulate(by_row, level, full * rows.weights[:, None], levels, rows.membership.groups)
    return from_moments(prop, sums), from_moments(prop, sums.sum(axis=0))


def _assemble(rows: Rows, prop: Property, grid: Grid, cell: CellStatistics, solved: Array, values: Array) -> Audit:
    mass, mean = cell.mass, cell.mean
    share = mass * mean**2
    filled = cell.weight > 0
    gap = np.where(filled, cell.prediction - solved, 0.0)
    group_weight = cell.weight.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        group_prediction = np.where(filled, cell.weight * cell.prediction, 0.0).sum(axis=0) / group_weight
    test = inference.chi_square(mass, mean, cell.steady, cell.effective, cell.kurtosis)
    table: dict[str, NDArray[Any]] = {
        "name": np.array(rows.groups.names),
        "rows": cell.rows.sum(axis=0).astype(np.int64),
        "weight": group_weight,
        "error": cell.errors,
        "gamma_error": measures.l2(mass, gap),
        "l1": measures.l1(mass, mean),
        "linf": measures.linf(mass, mean),
        "worst_level": np.where(group_weight > 0, grid.points[np.argmax(share, axis=0)], np.nan),
        "debiased": inference.debiased(mass, mean, cell.variance, cell.rows),
        "chi2": test.statistic,
        "dof": test.freedom,
        "p_value": test.p_value,
        "p_adjusted": inference.holm(test.p_value),
        "prediction": group_prediction,
        "value": values,
    }
    cells = cell.columns(table["name"], grid.points) | {"value": solved[filled]}
    return Audit(prop, grid, table, cells, rows)
