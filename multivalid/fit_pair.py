"""The fit of a pair, whose coordinates need each other.

Rows are in memory: every label is needed. Options that speak of levels are one value for both coordinates, or one for each.
"""

from __future__ import annotations

from multivalid.fit_options import Asked
from multivalid.fit_rows import Opened, Searched
from multivalid.joint import practical as joint_practical
from multivalid.joint import theorem
from multivalid.joint.default_levels import plan_of
from multivalid.joint.practical_goal import PairGoal
from multivalid.properties import Pair
from multivalid.several_calibration import JointCalibration
from multivalid.sources.memory import MemorySource


def fit_pair(pair: Pair, opened: Opened, asked: Asked, searched: Searched | None) -> JointCalibration:
    """Both coordinates of a pair."""
    assert isinstance(opened.rows, MemorySource)
    rows, held = opened.rows.split(opened.holdout, asked.seed)
    done: joint_practical.PracticalPairFit | theorem.PairFit
    if asked.mode == "practical":
        goal = PairGoal.of(asked.m, asked.grid, asked.alpha, asked.control)
        done = joint_practical.fit(rows, pair, goal, held=held, random_state=asked.seed)
    else:
        plan = plan_of(rows, pair, mode=asked.mode, grid=asked.grid, m=asked.m, alpha=asked.alpha, lipschitz=asked.lipschitz)
        done = theorem.fit(rows, pair, plan, held=held, control=asked.control)
    return JointCalibration(pair, rows.groups, done.predictor, done.stated, done.levels, held or rows, rows.ends)
