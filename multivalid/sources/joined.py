"""Rows with the predictions that a predictor makes of them, by a join where that is possible.

Where a predictor rounds to levels and the groups' columns take few values, a table tells every row its own. The predictor is then worked
out once per combination, in memory, however many rows there are; and how much weight each prediction has is known without another look at
the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.join_keys import by_columns
from multivalid.atoms.names import PREDICTION, WEIGHT
from multivalid.groups.family import FittedGroups
from multivalid.groups.membership import Membership
from multivalid.groups.remote import Frame, fetch, join
from multivalid.levels import ArrayValues
from multivalid.sources.predicting import Predicting
from multivalid.sources.sets import Combinations

if TYPE_CHECKING:
    from multivalid.sources.engine_rows import EngineRows

MOST_PATTERNS = 1_000_000  # combinations that come to the driver
_VALUE = "__mv_value"


class Predicted(NamedTuple):
    """The frame with its new predictions, and the predictions that occur with their weight, where that is known."""

    frame: Frame
    occurring: ArrayValues | None


def add_predictions(rows: EngineRows, frame: Frame, predictor: Predicting) -> Predicted:
    """`frame`, which has these rows, with what a predictor makes of them in the place of their predictions."""
    found = joined(frame, rows.groups, predictor, rows.guesses.combinations)
    return Predicted(predictor.on_frame(frame, rows.groups, PREDICTION, rows.lines), None) if found is None else found


def joined(frame: Frame, groups: FittedGroups, predictor: Predicting, combinations: Combinations) -> Predicted | None:
    """The new predictions by a join; None where the table would be too large, or its keys are none that engines match alike."""
    grid = predictor.rounding
    if grid is None or combinations(groups.columns) * len(grid) > MOST_PATTERNS:
        return None
    keys = by_columns(frame, groups, grid)
    if keys is None:
        return None
    names = [f"__mv_k{i}" for i in range(len(keys.expressions))]
    counted = frame.select(*keys.expressions, WEIGHT).group_by(names).agg(nw.col(WEIGHT).sum())
    seen = fetch(counted.head(MOST_PATTERNS + 1))
    members = keys.members(seen.select(names)) if len(seen) <= MOST_PATTERNS else None
    if members is None:
        return None
    dense, level = members
    values = predictor.predict(grid.points[level], Membership.from_dense(dense))
    table: dict[str, NDArray[Any]] = {name: np.asarray(seen[name].to_numpy()) for name in names}
    columns = [name for name in frame.collect_schema().names() if name != PREDICTION]
    made = join(frame.with_columns(*keys.expressions), names, table | {_VALUE: values})
    weight = np.asarray(seen[WEIGHT].to_numpy(), dtype=np.float64)
    return Predicted(made.select(*columns, nw.col(_VALUE).alias(PREDICTION)), ArrayValues(values, weight))
