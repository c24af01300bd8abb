"""`audit`: for which groups are the predictions off, by how much, and is it noise?"""

from __future__ import annotations

import os
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from multivalid.atoms.frames import from_columns
from multivalid.audit.coordinate import CoordinateAudit, audit_coordinate, evidence_of
from multivalid.audit.text import headlines, off_groups, unknown_lines, verdict_line, worst_table
from multivalid.cells.chance import findings
from multivalid.cells.short_names import WIDEST
from multivalid.cells.sums import CellSums
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.levels import LevelPolicy, given_grids
from multivalid.properties import Pair
from multivalid.scope import require
from multivalid.sources.given import Given
from multivalid.sources.laws import Laws
from multivalid.sources.memory import MemorySource
from multivalid.sources.open import Source, open_source

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from multivalid.audit.pair import PairAudit
    from multivalid.properties import Target
    from multivalid.report.sources import Certified

LEVELS = LevelPolicy(few=64, levels=20)
JOINT_LEVELS = LevelPolicy(few=5, levels=5)  # of either coordinate: cells are combinations of levels, so their number multiplies


class Cell(NamedTuple):
    """One (group, level): its rows, mean prediction, solved property, mean V with its standard error, its share of the error, and how
    surprising the mean is when predictions are right (z, a normal deviate)."""

    group: str
    level: float
    rows: int
    weight: float
    prediction: float
    value: float
    identification: float
    standard_error: float
    error: float
    z: float


class Audit:
    """What `audit` found.

    Attributes
    ----------
    error : float
        The largest V-error of any group: Σ over levels of share × (mean V)², V being the property's identification function, which
        averages to zero where predictions are right (for a mean, prediction − outcome).
    table : dict of arrays
        One row per group: name, rows, weight, error (V-form), gamma_error (the same with prediction − property in place of mean V),
        l1, linf, worst_level, debiased, chi2 with its degrees of freedom dof, p_value, p_adjusted (nan: the rows cannot tell),
        gap (mean V, in the label's units or as a share covered) with gap_low and gap_high (all intervals hold together with 95 %),
        rms (√(error/share of the rows) without what noise adds: how far off typically along the prediction) with rms_low and rms_high,
        detectable (the gap that would be found in four cases of five), prediction (mean), value (Γ of the group's labels).
    cells : dict of arrays
        One row per non-empty (group, level): group, level, rows, weight, prediction, value, identification (mean V), standard_error,
        error (p·v²), z (how surprising, as a normal deviate).
    off : list of str
        Names of the groups that are off beyond chance, worst first.
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

    origin: Mapping[str, str] = MappingProxyType({})  # the frame and the columns, where `audit` was given names

    def __init__(self, source: Source, target: Target, grids: tuple[Grid, ...], sums: tuple[CellSums, ...], laws: Laws) -> None:
        self.property, self.grids = target, grids
        self.groups = source.groups.noting([*source.notes, laws.note])
        self._source, self._sums, self._laws = source, sums, laws
        self._read()

    def _read(self) -> None:
        """The table and the cells, from the sums."""
        coordinate = self.property.coordinates[0]
        rows = evidence_of(self._source, coordinate, self.grids[0], self._sums[0])
        (said,) = self._findings = findings([rows])
        alone = audit_coordinate(self._source, coordinate, self.grids[0], self._sums[0], self._laws, said, rows)
        self.coordinates: tuple[CoordinateAudit, ...] = (alone,)
        self.grid, self.table, self.cells = alone.grid, alone.table, alone.cells

    @property
    def error(self) -> float:
        """The largest V-error of any group."""
        return float(self.table["error"].max())

    @property
    def off(self) -> list[str]:
        """Names of the groups that are off beyond chance, worst first."""
        return list(dict.fromkeys(name for one in self.coordinates for name in off_groups(one.table)))

    @property
    def verdict(self) -> str:
        """How many groups are off beyond chance, and for how many the rows are too few to tell."""
        return verdict_line(self.table)

    @property
    def headlines(self) -> list[str]:
        """A sentence for each group that is off, worst first: how far, in the label's units, with its interval."""
        return [line for one in self.coordinates for line in headlines(one.table, one.units)]

    @property
    def holdout_bound(self) -> tuple[float, ...]:
        """An upper 95 % limit for the largest error of any group on the population, one per coordinate (asymptotic).

        For rows that played no part in making the predictions. The largest of the groups' own limits is one for the largest error: the
        group whose true error is largest does not depend on the rows.
        """
        return tuple(float(np.max(said.limit)) for said in self._findings)

    @property
    def finite_bound(self) -> tuple[float, ...]:
        """Like `holdout_bound`, but resting on no approximation, and so several times larger (finite).

        For probabilities and quantiles, rows that are independent and count alike; nan for anything else, as then V has no known range.
        """
        return tuple(float(np.max(one.evidence.finite())) for one in self.coordinates)

    def worst(self, k: int = 10) -> list[Cell]:
        """The k cells that contribute most to the error, largest first."""
        order = np.argsort(-self.cells["error"], kind="stable")[:k]
        return [Cell(**{name: column[i].item() for name, column in self.cells.items()}) for i in order]

    def summary(self, k: int = 10, widest: int | None = WIDEST) -> str:
        """The verdict and the k worst groups, as text that fits a terminal; names have at most `widest` letters, any number with None."""
        (one,) = self.coordinates
        told = [*headlines(self.table, one.units)[:k], *unknown_lines(self.table, one.units)]
        return "\n".join([self.verdict, *told, "", worst_table(self.table, one.units, k, widest), "", *self.groups.notes]).rstrip()

    def to_frame(self) -> Any:
        """The per-group table as a data frame of the kind that `data` was."""
        return from_columns(self.table, self._source.like)

    # ---- for people: see multivalid.report -----------------------------------------------------------------------
    @cached_property
    def score(self) -> float | None:
        """Mean score of the predictions (for a quantile its pinball loss, up to a part that no prediction changes)."""
        return self.coordinates[0].score

    @cached_property
    def fingerprint(self) -> str | None:
        """SHA-256 of labels, predictions, weights and groups: equal for equal data; None for rows that stayed in their engine."""
        return self._source.fingerprint()

    @property
    def fans(self) -> list[dict[str, Any]]:
        """Predicted and observed quantiles of the worst groups, where several quantiles are predicted; nothing here."""
        return []

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
        ['report.html', 'report.report.json']
        """
        from multivalid.report.page import write
        from multivalid.report.sources import story

        told = {**self.origin, **(settings or {})}
        return write(story(self, before, certificate, title, self.groups.notes, told), path)

    def plot_reliability(self, group: str | None = None, *, coordinate: int = 0, ax: Any = None, **style: Any) -> Any:
        """Observed against predicted for a group (the worst when None) with a 95 % band, on a matplotlib axis; returns the axis."""
        from multivalid.report import plots

        return plots.reliability(self._coordinate(coordinate), group, ax=ax, **style)

    def plot_heatmap(self, groups: list[str] | int = 24, *, coordinate: int = 0, ax: Any = None) -> Any:
        """Group × level of mean V in standard errors, for the worst or the named groups, on a matplotlib axis; returns the axis."""
        from multivalid.report import plots

        return plots.heatmap(self._coordinate(coordinate), groups, ax=ax)

    def plot_groups(self, k: int = 15, *, coordinate: int = 0, ax: Any = None) -> Any:
        """The k largest errors as bars on a matplotlib axis; returns the axis."""
        from multivalid.report import plots

        return plots.groups(self._coordinate(coordinate), k, ax=ax)

    def _coordinate(self, which: int) -> CoordinateAudit:
        """For figures: what is audited, column by column."""
        if which not in range(len(self.coordinates)):
            known = " or ".join(f"{k} ({one.property!r})" for k, one in enumerate(self.coordinates))
            raise InputError(f"coordinate must be {known}, got {which!r}.")
        return self.coordinates[which]

    property: Any  # what is audited; last: it hides the decorator

    def _repr_html_(self) -> str:
        from multivalid.notebook import panel

        return panel(f"{type(self).__name__} of {self.property!r}", self.summary())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.property!r}: {self.verdict}>"


@overload
def audit(
    y_true: Any,
    y_pred: Any,
    *,
    groups: Any,
    data: Any = None,
    property: Pair,
    grid: Any | None = None,
    sample_weight: Any = None,
    cluster: Any = None,
    positive: Any = None,
    missing_rows: str = "refuse",
    missing: str | None = None,
    losses: bool = True,
) -> PairAudit: ...
@overload
def audit(
    y_true: Any,
    y_pred: Any,
    *,
    groups: Any,
    data: Any = None,
    property: str | Target = "mean",
    grid: Any | None = None,
    sample_weight: Any = None,
    cluster: Any = None,
    positive: Any = None,
    missing_rows: str = "refuse",
    missing: str | None = None,
    losses: bool = True,
) -> Audit: ...
def audit(
    y_true: Any,
    y_pred: Any,
    *,
    groups: Any,
    data: Any = None,
    property: str | Target = "mean",
    grid: Grid | Any | None = None,
    sample_weight: Any = None,
    cluster: Any = None,
    positive: Any = None,
    missing_rows: str = "refuse",
    missing: str | None = None,
    losses: bool = True,
) -> Audit:
    """For each group: how far are the predictions off, given their own value, and is that beyond chance?

    Parameters
    ----------
    y_true, y_pred : array-like, or the name of a column of `data`
        Outcomes and predictions; for a pair, predictions have two columns: an array (rows, 2), or two arrays or column names.
    groups : list of items, Groups, or boolean array
        For whom: predicate texts, column names, `bins`, `cross`, boolean arrays, or a frame with columns.
        The whole population is always a group.
    data : data frame, optional
        Where columns named in the other arguments live; a lazy frame (polars LazyFrame, DuckDB relation, Spark, …) is not collected.
    property : Property, Pair or str
        What the predictions are of.
    grid : Grid, optional
        Levels to condition on. By default: predictions with at most 64 distinct values are taken value by value, others in 20 levels of
        about equal weight (5 for either coordinate of a pair). V is always taken at the prediction itself.
    sample_weight : array-like or column name, optional
        Non-negative weights. They say how much a row counts, not how often it was seen: the tests stay the same when all are doubled. A
        row of weight 0 is not there.
    cluster : array-like or column name, optional
        Rows with the same value share their luck (a day of flights, a customer's claims): the unit of chance is then the cluster. For
        rows in memory. Without it rows are taken as independent.
    positive : optional
        The label that counts as 1, such as ">50K" or True; every other one counts as 0.
    missing_rows : {"refuse", "drop"}
        What happens when a label is missing: an error that counts them, or these rows are left out, with a note that counts them.
    missing : {"group", "ignore"}, optional
        Whether rows without a value in a column that is listed become a group, such as ``race is missing``; see `Groups`. Yes by default.
    losses : bool
        For value at risk with expected shortfall ("quantile_cvar:0.975"). True: outcomes are losses, large is bad. False: they are returns,
        low is bad, and predictions are low returns, the shortfall below the value at risk; tau is the confidence level either way.

    Returns
    -------
    Audit, or PairAudit for a pair

    Notes
    -----
    V is the property's identification function: for a mean, prediction − outcome; for a quantile, 1[outcome ≤ prediction] − τ. With p the
    mass of a cell (group, level) and v its mean V, a group's error is Σ p·v². The debiased error subtracts from each v² the
    variance of v, so that pure noise averages to zero. Two tests per group, of the gap (mean V) and of the shape along the prediction (a χ²
    statistic, `chi2` with `dof`), are joined by Bonferroni's rule, groups by Holm's. Labels 0 and 1, and quantiles, have a known law when
    predictions are right; elsewhere the noise is learned from everyone at a level. See `docs/chance.md`.

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
    target = require(property)
    target = target if losses else target.of_returns()
    given = Given(y_true, y_pred, groups, data, sample_weight, {"cluster": cluster}).accept(positive, missing_rows, missing)
    source = open_source(
        given.y_true, given.y_pred, groups=given.groups, data=given.data, target=target, sample_weight=given.sample_weight,
        cluster=given.others["cluster"],
    )  # fmt: skip
    from multivalid.report.origin import origin

    if isinstance(source, MemorySource):
        target.check_sides(source.columns, source.labels)
    found = audit_source(source, target, grid)
    found.origin = origin(y_true, y_pred, data, sample_weight, cluster)
    return found


@overload
def audit_source(source: Source, target: Pair, grid: Any = None, *, beyond: bool = False, values: bool = True) -> PairAudit: ...
@overload
def audit_source(source: Source, target: Target, grid: Any = None, *, beyond: bool = False, values: bool = True) -> Audit: ...
def audit_source(source: Source, target: Target, grid: Any = None, *, beyond: bool = False, values: bool = True) -> Audit:
    """The audit of rows opened already.

    `beyond` lets predictions outside the grid's range count at its outermost levels; without `values` the labels are not asked what
    the predictions should have been where that takes a pass of its own.
    """
    coordinates = len(target.coordinates)
    grids = given_grids(grid, coordinates)
    if coordinates > 1 and not target.joint:
        return _one_by_one(source, target, grids, beyond)
    if grids is None:
        grids = source.levels(LEVELS if coordinates == 1 else JOINT_LEVELS)
    elif not beyond:
        source.check(*grids)
    sums = source.cells(target, grids)
    asked = values or sums[0].moments is not None
    laws = source.laws(target, grids, sums) if asked else Laws.unknown(coordinates, *sums[0].weight.shape)
    if coordinates == 1:
        return Audit(source, target, grids, sums, laws)
    from multivalid.audit.pair import PairAudit  # it builds on this module

    return PairAudit(source, target, grids, sums, laws)


def _one_by_one(source: Source, target: Target, grids: tuple[Grid, ...] | None, beyond: bool) -> Audit:
    """Every coordinate on its own levels."""
    from multivalid.audit.several import SeveralAudit  # it builds on this module

    assert isinstance(source, MemorySource)  # rows with several columns were fetched when they were opened
    parts = []
    for k, coordinate in enumerate(target.coordinates):
        given = None if grids is None else grids[k]
        parts.append(audit_source(source.column(k), coordinate.predicted, given, beyond=beyond))
    return SeveralAudit(source, target, parts)
