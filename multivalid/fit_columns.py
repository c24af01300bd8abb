"""Fits of several columns of predictions: a pair, whose coordinates need each other, or columns under one constraint.

Rows are in memory: every label is needed. Options that speak of levels are one value for all columns, or one per column.
"""

from __future__ import annotations

from dataclasses import replace

from multivalid.fit_options import Asked
from multivalid.fit_rows import Opened, Searched
from multivalid.fit_with_columns import find_for_several
from multivalid.joint import practical as joint_practical
from multivalid.joint import theorem
from multivalid.joint.default_levels import plan_of
from multivalid.joint.practical_goal import PairGoal
from multivalid.properties import Pair, Target
from multivalid.several import fit as several
from multivalid.several.goal import Goal
from multivalid.several_calibration import JointCalibration, SeveralCalibration
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


def fit_several(target: Target, opened: Opened, asked: Asked, searched: Searched | None) -> SeveralCalibration:
    """Several columns under one constraint, for groups that are named or found."""
    assert isinstance(opened.rows, MemorySource)
    goal = Goal.of(target, asked.mode, asked.grid, asked.m, asked.alpha, asked.lipschitz, asked.control, asked.seed)
    every, note = opened.rows, ""
    if searched is not None:
        try:
            every, note = find_for_several(every, target, goal, searched, opened.holdout)
        except KeyboardInterrupt:
            if not asked.control.keep_interrupted:
                raise
            goal = replace(goal, interrupted=True)
    rows, held = every.split(opened.holdout, asked.seed)
    done = several.fit(rows, target, goal, held=held)
    return SeveralCalibration(
        target, rows.groups, done.predictor, lambda: done.certified(note), done.levels, held or rows, rows.ends
    )
