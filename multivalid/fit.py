"""`multicalibrate`: one call from predictions and outcomes to predictions that pass the audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from multivalid.atoms import select
from multivalid.atoms.holdout import held_out
from multivalid.atoms.lazy import LazyRows
from multivalid.atoms.opening import lazy_rows
from multivalid.atoms.select import Rows
from multivalid.batch import lazy as batch_lazy
from multivalid.batch import theorem
from multivalid.batch.control import Control, Progress, reporter
from multivalid.batch.default_levels import enough_levels, trivial_of_rows
from multivalid.batch.plan import Plan, make_plan
from multivalid.batch.predictor import LevelPredictor
from multivalid.calibration import Calibration, JointCalibration
from multivalid.collateral import with_collateral
from multivalid.fit_found import Found, find_for_several, fit_with_columns, positions
from multivalid.fit_options import Asked, OnInterrupt, checked_mode, refuse_clusters
from multivalid.grid import Grid
from multivalid.groups.remote import gather, lazy_frame
from multivalid.practical import fit as practical
from multivalid.practical import lazy as practical_lazy
from multivalid.properties import Pair, Property, Target
from multivalid.scope import require
from multivalid.sources.given import Given
from multivalid.sources.rows import open_rows
from multivalid.threads import one_blas_thread

if TYPE_CHECKING:
    from multivalid.properties import Classes, Quantiles
    from multivalid.several_calibration import SeveralCalibration


@overload
def multicalibrate(
    y_true: Any,
    y_pred: Any,
    *,
    groups: Any,
    data: Any = ...,
    property: Property = ...,
    grid: Grid | Any | None = ...,
    sample_weight: Any = ...,
    mode: str = ...,
    alpha: float | Any | None = ...,
    m: int | Any | None = ...,
    lipschitz: float | Any | None = ...,
    holdout: float | Any | None = ...,
    batched: bool = ...,
    max_updates: int | None = ...,
    progress: bool | Progress = ...,
    on_interrupt: OnInterrupt = ...,
    random_state: int = ...,
    features: Sequence[str] | None = ...,
    readable: bool = ...,
    blocks: Any = ...,
    time: Any = ...,
    positive: Any = ...,
    missing_rows: str = ...,
    missing: str | None = ...,
    losses: bool = ...,
    cluster: Any = ...,
) -> Calibration: ...
@overload
def multicalibrate(
    y_true: Any,
    y_pred: Any,
    *,
    groups: Any,
    data: Any = ...,
    property: Pair,
    grid: Grid | Any | None = ...,
    sample_weight: Any = ...,
    mode: str = ...,
    alpha: float | Any | None = ...,
    m: int | Any | None = ...,
    lipschitz: float | Any | None = ...,
    holdout: float | Any | None = ...,
    batched: bool = ...,
    max_updates: int | None = ...,
    progress: bool | Progress = ...,
    on_interrupt: OnInterrupt = ...,
    random_state: int = ...,
    features: Sequence[str] | None = ...,
    readable: bool = ...,
    blocks: Any = ...,
    time: Any = ...,
    positive: Any = ...,
    missing_rows: str = ...,
    missing: str | None = ...,
    losses: bool = ...,
    cluster: Any = ...,
) -> JointCalibration: ...
@overload
def multicalibrate(
    y_true: Any,
    y_pred: Any,
    *,
    groups: Any,
    data: Any = ...,
    property: Quantiles | Classes,
    grid: Grid | Any | None = ...,
    sample_weight: Any = ...,
    mode: str = ...,
    alpha: float | Any | None = ...,
    m: int | Any | None = ...,
    lipschitz: float | Any | None = ...,
    holdout: float | Any | None = ...,
    batched: bool = ...,
    max_updates: int | None = ...,
    progress: bool | Progress = ...,
    on_interrupt: OnInterrupt = ...,
    random_state: int = ...,
    features: Sequence[str] | None = ...,
    readable: bool = ...,
    blocks: Any = ...,
    time: Any = ...,
    positive: Any = ...,
    missing_rows: str = ...,
    missing: str | None = ...,
    losses: bool = ...,
    cluster: Any = ...,
) -> SeveralCalibration: ...
@overload
def multicalibrate(
    y_true: Any,
    y_pred: Any,
    *,
    groups: Any,
    data: Any = ...,
    property: str | Target,
    grid: Grid | Any | None = ...,
    sample_weight: Any = ...,
    mode: str = ...,
    alpha: float | Any | None = ...,
    m: int | Any | None = ...,
    lipschitz: float | Any | None = ...,
    holdout: float | Any | None = ...,
    batched: bool = ...,
    max_updates: int | None = ...,
    progress: bool | Progress = ...,
    on_interrupt: OnInterrupt = ...,
    random_state: int = ...,
    features: Sequence[str] | None = ...,
    readable: bool = ...,
    blocks: Any = ...,
    time: Any = ...,
    positive: Any = ...,
    missing_rows: str = ...,
    missing: str | None = ...,
    losses: bool = ...,
    cluster: Any = ...,
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
    checked = checked_mode(target, mode, grid, max_updates, batched, on_interrupt)
    control = Control(max_updates, reporter(progress), on_interrupt == "return")
    asked = Asked(checked, grid, m, alpha, lipschitz, batched, control, random_state)
    refuse_clusters(cluster, target, data, (blocks, time))
    rowwise = {"holdout": holdout, "blocks": blocks, "time": time, "cluster": cluster}
    given = Given(y_true, y_pred, groups, data, sample_weight, rowwise).accept(positive, missing_rows, missing)
    y_true, y_pred, groups, data, sample_weight = given.y_true, given.y_pred, given.groups, given.data, given.sample_weight
    holdout, blocks, time, cluster = given.others.values()
    # The products are small: threads would spin more than they compute.
    with one_blas_thread():
        wanted = features is not None or readable or blocks is not None or time is not None
        found = Found(features, readable, blocks if cluster is None else cluster, time) if wanted else None
        if len(target.coordinates) > 1 and not target.joint:
            return _several(target, y_true, y_pred, groups, data, sample_weight, (holdout, cluster), asked, found)
        if found is not None:
            goal = practical.Goal(m, grid, alpha, control)
            return fit_with_columns(
                y_true, y_pred, groups, data, target, found, goal, mode=mode, sample_weight=sample_weight, holdout=holdout,
                seed=random_state,
            )  # fmt: skip
        if isinstance(target, Pair):
            frame = lazy_frame(data)
            data = data if frame is None else gather(frame, "pairs are calibrated")
            rows = select.rows(y_true, y_pred, groups=groups, data=data, sample_weight=sample_weight, width=2, cluster=cluster)
            target.check_labels(rows.labels)
            there = rows.weights > 0
            target.check_sides(rows.predictions[there], rows.labels[there])
            return _pair(target, *split(rows, select.marked(holdout, data, "holdout"), random_state), asked)
        assert isinstance(target, Property)
        frame = lazy_frame(data)
        if frame is not None:
            stays = lazy_rows(y_true, y_pred, groups=groups, frame=frame, sample_weight=sample_weight, prop=target)
            return _in_engine(target, *held_out(stays, holdout, random_state), asked)
        rows = select.rows(y_true, y_pred, groups=groups, data=data, sample_weight=sample_weight, cluster=cluster)
        target.check_labels(rows.labels)
        marked = select.marked(holdout, data, "holdout")
        made = _single(target, *split(rows, marked, random_state), asked)
        held = positions(rows, marked, random_state)[1]
        if held is not None and rows.kept is not None:  # rows of weight 0 are not there
            held = rows.kept[held]
        return with_collateral(made, data, (y_true, y_pred, sample_weight), held)


def _single(prop: Property, rows: Rows, held: Rows | None, asked: Asked) -> Calibration:
    """A single property, on rows in memory."""
    if asked.mode == "practical":
        goal = practical.Goal(asked.m, asked.grid, asked.alpha, asked.control)
        done = practical.fit(rows, prop, goal, held=held, random_state=asked.seed)
        return Calibration(prop, rows.groups, done.predictor, done.certificate, done.levels, held or rows).fitted_on(rows)

    def draft(m: int | None) -> Plan:
        return make_plan(rows, prop, mode=asked.mode, grid=asked.grid, m=m, alpha=asked.alpha, lipschitz=asked.lipschitz)

    plan = enough_levels(draft, lambda made: trivial_of_rows(rows, prop, made)) if asked.open else draft(asked.m)
    made = theorem.fit(rows, prop, plan, held=held, batched=asked.batched, control=asked.control)
    return Calibration(
        prop, rows.groups, LevelPredictor(made.grid, made.patches), made.certificate, made.levels, held or rows
    ).fitted_on(rows)


def _in_engine(prop: Property, rows: LazyRows, held: LazyRows | None, asked: Asked) -> Calibration:
    """The same on rows that stay where they are."""
    if asked.mode == "practical":
        goal = practical.Goal(asked.m, asked.grid, asked.alpha, asked.control)
        done = practical_lazy.fit_lazy(rows, prop, goal, held=held, random_state=asked.seed)
        return Calibration(prop, rows.groups, done.predictor, done.certificate).fitted_on(rows)
    made = batch_lazy.fit_lazy(
        rows, prop, mode=asked.mode, grid=asked.grid, m=asked.m, alpha=asked.alpha, lipschitz=asked.lipschitz, held=held,
        batched=asked.batched, control=asked.control,
    )  # fmt: skip
    return Calibration(prop, rows.groups, LevelPredictor(made.grid, made.patches), made.certificate).fitted_on(rows)


def _pair(pair: Pair, rows: Rows, held: Rows | None, asked: Asked) -> JointCalibration:
    """Both coordinates of a pair; grid, m, alpha and lipschitz are one value or one per coordinate."""
    # A third of the library, which single properties need not wait for.
    from multivalid.joint import practical as joint_practical
    from multivalid.joint import theorem
    from multivalid.joint.default_levels import plan_of

    if asked.mode == "practical":
        goal = joint_practical.PairGoal.of(asked.m, asked.grid, asked.alpha, asked.control)
        done = joint_practical.fit(rows, pair, goal, held=held, random_state=asked.seed)
        return JointCalibration(pair, rows.groups, done.predictor, done.certificate, done.levels, held or rows).fitted_on(rows)
    settled = plan_of(rows, pair, mode=asked.mode, grid=asked.grid, m=asked.m, alpha=asked.alpha, lipschitz=asked.lipschitz)
    made = theorem.fit(rows, pair, settled, held=held, control=asked.control)
    return JointCalibration(pair, rows.groups, made.predictor, made.certificate, made.levels, held or rows).fitted_on(rows)


def _several(
    target: Target,
    y_true: Any,
    y_pred: Any,
    groups: Any,
    data: Any,
    sample_weight: Any,
    parts: tuple[Any, Any],
    asked: Asked,
    found: Found | None,
) -> SeveralCalibration:
    """Several columns under one constraint; grid, m, alpha and lipschitz are one value or one per column."""
    from multivalid.several import fit as several
    from multivalid.several_calibration import SeveralCalibration

    frame = lazy_frame(data)
    data = data if frame is None else gather(frame, "several columns are calibrated")
    goal = several.Goal.of(target, asked.mode, asked.grid, asked.m, asked.alpha, asked.lipschitz, asked.control, asked.seed)
    holdout, cluster = parts
    rows = open_rows(
        y_true, y_pred, groups=groups, data=data, sample_weight=sample_weight, width=len(target.coordinates), target=target,
        cluster=cluster,
    )  # fmt: skip
    marked, note = select.marked(holdout, data, "holdout"), ""
    if found is not None:
        columns = [y_pred] if isinstance(y_pred, str) else list(y_pred) if isinstance(y_pred, (list, tuple)) else []
        used = {"y_true": y_true, "sample_weight": sample_weight} | {f"y_pred[{k}]": name for k, name in enumerate(columns)}
        try:
            rows, note = find_for_several(rows, target, goal, found, asked.mode, marked, used)
        except KeyboardInterrupt:
            if not asked.control.keep_interrupted:
                raise
            goal = replace(goal, interrupted=True)
    fitting, held = split(rows, marked, asked.seed)
    done = several.fit(fitting, target, goal, held=held)
    told = replace(done.certificate, note="\n".join(filter(None, [note, done.certificate.note])))
    return SeveralCalibration(target, rows.groups, done.predictor, told, done.levels, held or fitting).fitted_on(fitting)


def split(rows: Rows, holdout: Any, random_state: int) -> tuple[Rows, Rows | None]:
    """Rows to fit and rows to judge on."""
    return rows.split(holdout, random_state)
