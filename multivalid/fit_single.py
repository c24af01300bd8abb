"""The fit of a single property, on rows in memory, or on rows that stay in their engine."""

from __future__ import annotations

from multivalid.batch import lazy as batch_lazy
from multivalid.batch import theorem
from multivalid.batch.default_levels import enough_levels, trivial_of_rows
from multivalid.batch.plan import Plan, make_plan
from multivalid.batch.predictor import LevelPredictor
from multivalid.calibration import Calibration
from multivalid.fit_options import Asked
from multivalid.fit_rows import Opened, Searched
from multivalid.practical import fit as practical
from multivalid.practical import lazy as practical_lazy
from multivalid.properties import Property
from multivalid.sources.engine import EngineSource
from multivalid.sources.memory import MemorySource
from multivalid.sources.open import Source


def fit_single(prop: Property, opened: Opened, asked: Asked, searched: Searched | None) -> Calibration:
    """One column of predictions."""
    if searched is not None:
        from multivalid.fit_found import fit_with_columns

        return fit_with_columns(prop, opened, asked, searched)
    fitting, held = opened.rows.split(opened.holdout, asked.seed)
    if isinstance(fitting, EngineSource):
        return _in_engine(prop, fitting, held, asked)
    return _in_memory(prop, fitting, held, asked)


def _in_memory(prop: Property, rows: MemorySource, held: Source | None, asked: Asked) -> Calibration:
    assert held is None or isinstance(held, MemorySource)
    if asked.mode == "practical":
        done = practical.fit(rows, prop, asked.practical, held=held, random_state=asked.seed)
        return Calibration(prop, rows.groups, done.predictor, done.certificate, done.levels, held or rows).fitted_on(rows)

    def draft(m: int | None) -> Plan:
        return make_plan(rows, prop, mode=asked.mode, grid=asked.grid, m=m, alpha=asked.alpha, lipschitz=asked.lipschitz)

    plan = enough_levels(draft, lambda made: trivial_of_rows(rows, prop, made)) if asked.open else draft(asked.m)
    made = theorem.fit(rows, prop, plan, held=held, batched=asked.batched, control=asked.control)
    predictor = LevelPredictor(made.grid, made.patches)
    return Calibration(prop, rows.groups, predictor, made.certificate, made.levels, held or rows).fitted_on(rows)


def _in_engine(prop: Property, rows: EngineSource, held: Source | None, asked: Asked) -> Calibration:
    """The same on rows that stay where they are."""
    assert held is None or isinstance(held, EngineSource)
    if asked.mode == "practical":
        done = practical_lazy.fit_lazy(rows, prop, asked.practical, held=held, random_state=asked.seed)
        return Calibration(prop, rows.groups, done.predictor, done.certificate).fitted_on(rows)
    made = batch_lazy.fit_lazy(
        rows, prop, mode=asked.mode, grid=asked.grid, m=asked.m, alpha=asked.alpha, lipschitz=asked.lipschitz, held=held,
        batched=asked.batched, control=asked.control,
    )  # fmt: skip
    return Calibration(prop, rows.groups, LevelPredictor(made.grid, made.patches), made.certificate).fitted_on(rows)
