"""The fit of several columns of predictions under one constraint.

Rows are in memory: every label is needed. Options that speak of levels are one value for all columns, or one per column.
"""

from __future__ import annotations

from dataclasses import replace

from multivalid.fit_options import Asked
from multivalid.fit_rows import Opened, Searched
from multivalid.properties import Target
from multivalid.several import fit as several
from multivalid.several.goal import Goal
from multivalid.several_calibration import SeveralCalibration
from multivalid.sources.memory import MemorySource


def fit_several(target: Target, opened: Opened, asked: Asked, searched: Searched | None) -> SeveralCalibration:
    """Several columns under one constraint, for groups that are named or found."""
    assert isinstance(opened.rows, MemorySource)
    goal = Goal.of(target, asked.mode, asked.grid, asked.m, asked.alpha, asked.lipschitz, asked.control, asked.seed)
    every, note = opened.rows, ""
    if searched is not None:
        from multivalid.fit_with_columns import find_for_several  # much that only a search needs

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
