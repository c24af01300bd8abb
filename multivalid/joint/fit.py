"""From rows with two predictions to a calibrated pair, in the mode asked for."""

from __future__ import annotations

from typing import Any

from threadpoolctl import threadpool_limits

from multivalid.atoms.select import Rows
from multivalid.batch.algorithm import Progress
from multivalid.joint import practical, theorem
from multivalid.joint.calibration import JointCalibration
from multivalid.joint.plan import make_plan
from multivalid.properties import Pair


def fit_pair(
    rows: Rows,
    held: Rows | None,
    pair: Pair,
    *,
    mode: str,
    grid: Any = None,
    m: Any = None,
    alpha: Any = None,
    lipschitz: Any = None,
    max_updates: int | None = None,
    progress: Progress | None = None,
    random_state: int = 0,
) -> JointCalibration:
    """Calibrate a pair on rows (rows, 2 predictions); `grid`, `m`, `alpha` and `lipschitz` are one value or one per coordinate."""
    # The matrix products are small: threads would spin more than they compute.
    with threadpool_limits(1, user_api="blas"):
        if mode == "practical":
            goal = practical.PairGoal.of(m, grid, alpha, max_updates)
            done = practical.fit(rows, pair, goal, held=held, progress=progress, random_state=random_state)
            return JointCalibration(pair, rows.groups, done.predictor, done.certificate, done.levels, held or rows)
        plan = make_plan(rows, pair, mode=mode, grid=grid, m=m, alpha=alpha, lipschitz=lipschitz)
        made = theorem.fit(rows, pair, plan, held=held, max_updates=max_updates, progress=progress)
    return JointCalibration(pair, rows.groups, made.predictor, made.certificate, made.levels, held or rows)
