"""`multicalibrate`: one call from predictions and outcomes to predictions that pass the audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Unpack, overload

from multivalid.batch.control import Control, Progress
from multivalid.collateral import with_collateral
from multivalid.fit_options import Asked, FitOptions, OnInterrupt, refuse_clusters
from multivalid.fit_rows import Searched, open_to_fit
from multivalid.fit_single import fit_single
from multivalid.grid import Grid
from multivalid.properties import Property, Target
from multivalid.scope import require
from multivalid.sources.given import Given
from multivalid.threads import one_blas_thread

if TYPE_CHECKING:
    from multivalid.calibration import Calibration
    from multivalid.properties import Classes, Pair, Quantiles
    from multivalid.several_calibration import JointCalibration, SeveralCalibration


# Which class comes back depends on `property` alone; the other options are the same for all.
@overload
def multicalibrate(
    y_true: Any, y_pred: Any, *, groups: Any, property: Property = ..., **options: Unpack[FitOptions]
) -> Calibration: ...
@overload
def multicalibrate(y_true: Any, y_pred: Any, *, groups: Any, property: Pair, **options: Unpack[FitOptions]) -> JointCalibration: ...
@overload
def multicalibrate(
    y_true: Any, y_pred: Any, *, groups: Any, property: Quantiles | Classes, **options: Unpack[FitOptions]
) -> SeveralCalibration: ...
@overload
def multicalibrate(
    y_true: Any, y_pred: Any, *, groups: Any, property: str | Target, **options: Unpack[FitOptions]
) -> Calibration | JointCalibration | SeveralCalibration: ...
def multicalibrate(
    y_true: Any,
    y_pred: Any,
    *,
    groups: Any,
    data: Any = None,
    property: str | Target = "mean",
    grid: Grid | Any | None = None,
    sample_weight: Any = None,
    mode: str = "practical",
    alpha: float | Any | None = None,
    m: int | Any | None = None,
    lipschitz: float | Any | None = None,
    holdout: float | Any | None = None,
    batched: bool = False,
    max_updates: int | None = None,
    progress: bool | Progress = False,
    on_interrupt: OnInterrupt = "raise",
    random_state: int = 0,
    features: Sequence[str] | None = None,
    readable: bool = False,
    blocks: Any = None,
    time: Any = None,
    positive: Any = None,
    missing_rows: str = "refuse",
    missing: str | None = None,
    losses: bool = True,
    cluster: Any = None,
) -> Calibration | JointCalibration | SeveralCalibration:
    """Make predictions right on average for every group, given their own value.

    Parameters
    ----------
    y_true, y_pred : array-like, or the name of a column of `data`
        Outcomes and predictions; for a pair, predictions have two columns: an array (rows, 2), or two arrays or column names.
    groups : list of items, Groups, or boolean array
        For whom; see `Groups`. The whole population is always a group.
    data : data frame, optional
        Where columns named in the other arguments live. With a lazy frame (polars LazyFrame, DuckDB relation, Spark, …) the rows
        stay where they are; see docs/engines.md.
    property : Property, Pair, Quantiles, Classes or str
        What the predictions are of. With a pair, such as "quantile_cvar:0.95", both coordinates are calibrated together, and grid, m,
        alpha and lipschitz may be two values, one per coordinate. With `Quantiles` or `Classes` predictions have a column per level or
        class, and so may these options; what comes out never crosses, or sums to one. Labels of `Classes` are the classes themselves.
    grid : Grid, optional
        Levels, in the label's units; chosen from the data when not given.
    sample_weight : array-like or column name, optional
        Non-negative weights: how much a row counts, not how often it was seen.
    mode : {"practical", "theorem", "paper"}
        "practical": what does best on rows not seen: a link-space fit of the groups, then guarded moves of the cells that remain off
        beyond chance. "theorem": Algorithm 1 with the level of least score as destination; every group's error ends at most alpha = 8L²g²
        (g the gap between levels) unless blocked. "paper": the printed algorithm, with alpha = 4L²/m.
    alpha : float, optional
        V-error to reach for every group (see `Audit`), in squared units of V; follows from the mode and m when not given.
    m : int, optional
        Number of levels; chosen by the mode when not given.
    lipschitz : float, optional
        L, where the property has none of its own (quantiles: a bound on the label density); estimated from the
        population when not given.
    holdout : float, boolean array or str, optional
        Share of the rows, drawn at random (on a lazy frame by a hash of what is in them), or the rows themselves (a mask, a
        predicate, the name of a boolean column), to keep out of the fit and judge it on.
    batched : bool
        Only with mode="theorem": move the best cell of every level at once, round by round, instead of the worst cell of all one after
        the other. A round is a pass over the rows, so that a lazy frame may have as many combinations of groups as rows. The
        theorem's guarantees hold; the order, and so the patches, are not the paper's.
    max_updates : int, optional
        Stop after this many updates, with status "budget".
    progress : bool or callable
        True prints updates, error and potential to standard error; a callable receives the three numbers.
    on_interrupt : {"raise", "return"}
        What Ctrl-C does during the fit: raise KeyboardInterrupt, as everywhere, or return what was reached, with status "budget" and a
        note that says so.
    random_state : int
        Seed of the holdout draw, and in practical mode of the folds.
    features : list of str, optional
        Columns of `data` in which groups that nobody named may be found (practical mode; not for pairs). Predictions then need
        these columns too; missing values and categories never seen are allowed. For `Quantiles` and `Classes` what is found are rules.
    readable : bool
        With features: keep rules only, groups of at most three conditions that `groups` of the result lists, and no trees.
    blocks, time : array-like or column name, optional
        With features: rows of one block belong together (a day, a customer), or stretches of time do; rows held out are then whole
        blocks, as rows that share their luck would confirm anything.
    positive : optional
        The label that counts as 1, such as ">50K" or True; every other one counts as 0.
    missing_rows : {"refuse", "drop"}
        What happens when a label is missing: an error that counts them, or these rows are left out, with a note that counts them.
    missing : {"group", "ignore"}, optional
        Whether rows without a value in a column that is listed become a group, such as ``race is missing``; see `Groups`. Yes by default.
    losses : bool
        For value at risk with expected shortfall, as in `audit`: False where outcomes and predictions are returns.
    cluster : array-like or column name, optional
        Rows with the same value share their luck (a day, a customer): rows held out are whole clusters, by which corrections are judged,
        and so is the certificate. For rows in memory.

    Returns
    -------
    Calibration, JointCalibration for a pair, or SeveralCalibration for several quantiles or classes

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> group = rng.random(4000) < 0.3
    >>> y = (rng.random(4000) < np.where(group, 0.7, 0.4)).astype(float)
    >>> fitted = multicalibrate(y, np.full(4000, 0.49), groups=[group], mode="theorem", m=50)
    >>> fitted.predict([0.49, 0.49], groups=[np.array([False, True])])
    array([0.41, 0.71])
    """
    target = require(property)
    target = target if losses else target.of_returns()
    control = Control(max_updates, progress, on_interrupt == "return")
    asked = Asked(mode, grid, m, alpha, lipschitz, batched, control, random_state)
    asked.check(target, max_updates, on_interrupt)
    if cluster is not None:
        refuse_clusters(data, (blocks, time))
    rowwise = {"holdout": holdout, "blocks": blocks, "time": time, "cluster": cluster}
    given = Given(y_true, y_pred, groups, data, sample_weight, rowwise).accept(positive, missing_rows, missing)
    searched = None
    if readable or any(given.others[name] is not None for name in ("blocks", "time")) or features is not None:
        searched = Searched.of(features, readable, given)
        searched.check(target, mode, given.data)
    # The products are small: threads would spin more than they compute.
    with one_blas_thread():
        opened = open_to_fit(target, given, searched, random_state, mode)
        fit: Callable[..., Any] = fit_single if len(target.coordinates) == 1 else _fit_of_columns(target)
        made: Calibration | JointCalibration | SeveralCalibration = fit(target, opened, asked, searched)
        return made if opened.holdout is None else with_collateral(made, given.names.values())


def _fit_of_columns(target: Target) -> Callable[..., JointCalibration | SeveralCalibration]:
    """The fit that knows this target of several columns; what only some of them need is imported with them."""
    if target.joint:
        from multivalid.fit_pair import fit_pair

        return fit_pair
    from multivalid.fit_columns import fit_several

    return fit_several
