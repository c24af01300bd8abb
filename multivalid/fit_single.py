"""The fit of a single property, on rows in memory, or on rows that stay in their engine."""

from __future__ import annotations

from typing import Any

from multivalid.batch import lazy as batch_lazy
from multivalid.batch import theorem
from multivalid.batch.default_levels import plan_of
from multivalid.calibration import Calibration
from multivalid.fit_options import Asked
from multivalid.fit_rows import Opened, Searched
from multivalid.practical import fit as practical
from multivalid.practical import lazy as practical_lazy
from multivalid.properties import Property
from multivalid.sources.engine import EngineSource
from multivalid.sources.memory import MemorySource


def fit_single(prop: Property, opened: Opened, asked: Asked, searched: Searched | None) -> Calibration:
    """One column of predictions."""
    if searched is not None:
        from multivalid.fit_found import fit_with_columns

        return fit_with_columns(prop, opened, asked, searched)
    fitting, held = opened.rows.split(opened.holdout, asked.seed)
    if isinstance(fitting, EngineSource):
        return _in_engine(prop, fitting, held, asked)
    return _in_memory(prop, fitting, held, asked)


def _in_memory(prop: Property, rows: MemorySource, held: Any, asked: Asked) -> Calibration:
    if asked.mode == "practical":
        done = practical.fit(rows, prop, asked.practical, held=held, random_state=asked.seed)
        return Calibration(prop, rows.groups, done.predictor, done.certificate, done.levels, held or rows).fitted_on(rows)
    plan = plan_of(rows, prop, mode=asked.mode, grid=asked.grid, m=asked.m, alpha=asked.alpha, lipschitz=asked.lipschitz)
    made = theorem.fit(rows, prop, plan, held=held, batched=asked.batched, control=asked.control)
    return Calibration(prop, rows.groups, made.predictor, made.certificate, made.levels, held or rows).fitted_on(rows)


def _in_engine(prop: Property, rows: EngineSource, held: Any, asked: Asked) -> Calibration:
    """The same on rows that stay where they are."""
    if asked.mode == "practical":
        done = practical_lazy.fit_lazy(rows, prop, asked.practical, held=held, random_state=asked.seed)
        return Calibration(prop, rows.groups, done.predictor, done.certificate).fitted_on(rows)
    made = batch_lazy.fit_lazy(
        rows, prop, mode=asked.mode, grid=asked.grid, m=asked.m, alpha=asked.alpha, lipschitz=asked.lipschitz, held=held,
        batched=asked.batched, control=asked.control,
    )  # fmt: skip
    return Calibration(prop, rows.groups, made.predictor, made.certificate).fitted_on(rows)
