"""Single numbers that are asked of rows in an engine, each by a pass of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import narwhals as nw

from multivalid.atoms.names import LABEL, PREDICTION, WEIGHT
from multivalid.errors import InputError
from multivalid.groups.remote import fetch
from multivalid.properties.ops import expressions
from multivalid.sources.memory_cells import too_far_out

if TYPE_CHECKING:
    from multivalid.properties.target import Coordinate
    from multivalid.sources.engine_rows import EngineRows


def mean_score(rows: EngineRows, coordinate: Coordinate) -> float:
    """Mean score of the predictions."""
    score = coordinate.scoring(expressions(), [nw.col(PREDICTION)], nw.col(LABEL))
    return float(fetch(rows.frame.select((nw.col(WEIGHT) * score).sum().alias("s")))["s"].item() / rows.totals.weight)


def infinite_residuals(rows: EngineRows, coordinate: Coordinate) -> InputError:
    """The error for predictions whose residual is no number, which says how many they are and how far they reach."""
    v = coordinate.residual(expressions(), [nw.col(PREDICTION)], nw.col(LABEL))
    bad = nw.when(v.is_finite()).then(0).otherwise(1).sum()
    count, lowest, highest = fetch(
        rows.frame.select(bad.alias("n"), nw.col(PREDICTION).min().alias("a"), nw.col(PREDICTION).max().alias("b"))
    ).row(0)
    return too_far_out(coordinate, int(count), f"which go from {lowest:g} to {highest:g}")
