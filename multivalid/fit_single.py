"""The fit of a single property, wherever its rows live."""

from __future__ import annotations

from multivalid.batch import theorem
from multivalid.batch.plan import Wish
from multivalid.calibration import Calibration
from multivalid.fit_options import Asked
from multivalid.fit_rows import Opened, Searched
from multivalid.practical import fit as practical
from multivalid.practical.goal import Goal
from multivalid.properties import Property


def fit_single(prop: Property, opened: Opened, asked: Asked, searched: Searched | None) -> Calibration:
    """One column of predictions."""
    goal = Goal(asked.m, asked.grid, asked.alpha, asked.control)
    if searched is not None:
        from multivalid.fit_with_columns import fit_with_columns

        return fit_with_columns(prop, opened, goal, searched, asked.seed)
    rows, held = (opened.rows, None) if opened.holdout is None else opened.rows.split(opened.holdout, asked.seed)
    done: practical.PracticalFit | theorem.Fit
    if asked.mode == "practical":
        done = practical.fit(rows, prop, goal, held=held, random_state=asked.seed)
    else:
        wish = Wish(asked.mode, asked.grid, asked.m, asked.alpha, asked.lipschitz)
        done = theorem.fit(rows, prop, wish, held=held, batched=asked.batched, control=asked.control)
    return Calibration(prop, rows.groups, done.predictor, done.stated, done.levels, held or rows, rows.ends, done.judged)
