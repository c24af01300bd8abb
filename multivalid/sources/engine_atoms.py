"""Rows that no algorithm can tell apart, bundled by their engine, and what their sums leave out of the score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from multivalid.atoms.keys import place
from multivalid.atoms.names import LABEL, PREDICTION, WEIGHT
from multivalid.atoms.response import Piecewise, Response
from multivalid.atoms.table import Atoms, build
from multivalid.groups.remote import Frame, fetch
from multivalid.properties import Property
from multivalid.properties.ops import expressions
from multivalid.sources.bundling import bundle

if TYPE_CHECKING:
    from multivalid.grid import Grid
    from multivalid.sources.engine_rows import EngineRows


def bundled_atoms(source: EngineRows, prop: Property, grid: Grid, answer: Response) -> Atoms:
    """Σ of the property's moments over the rows that share their groups, level and label bin."""
    y, w = nw.col(LABEL), nw.col(WEIGHT)
    assert isinstance(answer, Piecewise)
    prop.check_engine()
    statistics = prop.statistics(expressions(), y - answer.origin if answer.origin else y) or []
    moments = [w, *(w * t for t in statistics)]
    extra = [w * term for term in _beside(prop, answer)]
    numbers = [(place(nw.col(PREDICTION), grid.boundaries), len(grid))]
    if answer.bins > 1:
        numbers.append((place(y, answer.edges), answer.bins))
    found = bundle(source, numbers, [*moments, *extra])
    level, bin = found.numbers if answer.bins > 1 else (found.numbers[0], np.zeros_like(found.numbers[0]))
    table, _ = build(found.bits, level, bin, found.sums[:, : len(moments)], len(source.groups))
    constant, best = found.sums[:, len(moments) :].sum(axis=0)
    return Atoms(table, None, float(constant), float(best))


def score_sums(frame: Frame, prop: Property, answer: Response) -> tuple[float, float]:
    """Σw of the score's constant and of the best possible score."""
    assert isinstance(answer, Piecewise)
    sums = [(nw.col(WEIGHT) * term).sum().alias(f"s{i}") for i, term in enumerate(_beside(prop, answer))]
    constant, best = fetch(frame.select(*sums)).row(0)
    return float(constant), float(best)


def _beside(prop: Property, answer: Piecewise) -> list[nw.Expr]:
    """What the moments leave out of the score, and the best score, as expressions of the label."""
    y, ops = nw.col(LABEL), expressions()
    return [answer.scoring_constant(ops, y), prop.scoring(ops, prop.best_prediction(ops, y), y)]
