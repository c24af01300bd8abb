"""`audit`: for which groups are the predictions off, by how much, and is it noise?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from multivalid.audit.coordinate import Tabulated
from multivalid.audit.result import Audit, Cell
from multivalid.grid import Grid
from multivalid.levels import LevelPolicy, given_grids
from multivalid.scope import require
from multivalid.sources.engine_columns import EngineColumns
from multivalid.sources.given import Given
from multivalid.sources.laws import Laws
from multivalid.sources.memory import MemorySource
from multivalid.sources.open import Opened, Source, open_source

if TYPE_CHECKING:
    from multivalid.audit.pair import PairAudit
    from multivalid.audit.several import SeveralAudit
    from multivalid.properties import Classes, Pair, Quantiles, Target

__all__ = ["Audit", "Cell", "audit", "audit_source"]

LEVELS = LevelPolicy(few=64, levels=20)
JOINT_LEVELS = LevelPolicy(few=5, levels=5)  # of either coordinate: cells are combinations of levels, so their number multiplies


class AuditOptions(TypedDict, total=False):
    """The options of `audit` that do not decide which class comes back, for its overloads; explained there."""

    data: Any
    grid: Grid | Any | None
    sample_weight: Any
    cluster: Any
    positive: Any
    missing_rows: str
    missing: str | None
    losses: bool


@overload
def audit(y_true: Any, y_pred: Any, *, groups: Any, property: Pair, **options: Unpack[AuditOptions]) -> PairAudit: ...
@overload
def audit(
    y_true: Any, y_pred: Any, *, groups: Any, property: Quantiles | Classes, **options: Unpack[AuditOptions]
) -> SeveralAudit: ...
@overload
def audit(y_true: Any, y_pred: Any, *, groups: Any, property: str | Target = ..., **options: Unpack[AuditOptions]) -> Audit: ...
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
        Rows with the same value share their luck (a day of flights, a customer's claims): the unit of chance is then the cluster.
        Without it rows are taken as independent.
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
    Audit, PairAudit for a pair, or SeveralAudit for several quantiles or classes

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
    if target.joint and isinstance(source, MemorySource):
        target.check_sides(source.columns, source.labels)
    found = audit_source(source, target, grid)
    found.given = (y_true, y_pred, data, sample_weight, cluster)
    return found


@overload
def audit_source(source: Opened, target: Pair, grid: Any = None, *, beyond: bool = False, values: bool = True) -> PairAudit: ...
@overload
def audit_source(source: Opened, target: Target, grid: Any = None, *, beyond: bool = False, values: bool = True) -> Audit: ...
def audit_source(source: Opened, target: Target, grid: Any = None, *, beyond: bool = False, values: bool = True) -> Audit:
    """The audit of rows opened already.

    `beyond` lets predictions outside the grid's range count at its outermost levels; without `values` the labels are not asked what
    the predictions should have been where that takes a pass of its own.
    """
    grids = None if grid is None else given_grids(grid, len(target.coordinates))
    if target.kind != "several":
        assert not isinstance(source, EngineColumns)  # it has several
        read = [_tabulate(source, target, grids, beyond, values)]
    else:  # every coordinate on its own levels
        own = [None] * len(target.coordinates) if grids is None else [(one,) for one in grids]
        read = [
            _tabulate(source.column(k), coordinate.predicted, own[k], beyond, values)
            for k, coordinate in enumerate(target.coordinates)
        ]
    result = Audit if target.kind == "single" else _class_of_columns(target)
    made = result(source, target, Tabulated(*(sum(columns, ()) for columns in zip(*read, strict=True))))
    if source.cluster is not None:
        _ = made.coordinates  # now: clusters take a pass over the rows, and an engine may be closed by the time somebody looks
    return made


def _class_of_columns(target: Target) -> type[Audit]:
    """The class that knows this target of several columns; what only some of them need is imported with them."""
    if target.joint:
        from multivalid.audit.pair import PairAudit

        return PairAudit
    from multivalid.audit.several import SeveralAudit

    return SeveralAudit


def _tabulate(source: Source, target: Target, grids: tuple[Grid, ...] | None, beyond: bool, values: bool) -> Tabulated:
    """The levels, the sums over (level × group), and what the predictions should have been."""
    if grids is None:
        grids = source.levels(JOINT_LEVELS if target.joint else LEVELS)
    elif not beyond:
        source.check(*grids)
    sums = source.cells(target, grids)
    if sums[0].moments is not None:
        laws = None  # they are worked out when somebody looks
    elif values or target.joint:  # the second error of a pair is measured at the first value of each cell
        laws = source.laws(target, grids)
    else:
        laws = Laws.unknown(len(target.coordinates), *sums[0].weight.shape)
    return Tabulated(grids, sums, (laws,))
