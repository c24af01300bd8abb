"""Predictions by a join: where a predictor rounds to levels and the groups' columns take few values, a table tells every row its own.

The predictor is then worked out once per combination, in memory, however many rows there are; and how much weight each prediction has is
known without another look at the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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

MOST_PATTERNS = 1_000_000  # combinations that come to the driver
_VALUE = "__mv_value"


class Joined(NamedTuple):
    """The frame with its new predictions, and the predictions that occur with their weight."""

    frame: Frame
    occurring: ArrayValues


def joined(
    frame: Frame, groups: FittedGroups, predictor: Predicting, combinations: Combinations, output: str = PREDICTION
) -> Joined | None:
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
    columns = [name for name in frame.collect_schema().names() if name != output]
    made = join(frame.with_columns(*keys.expressions), names, table | {_VALUE: values})
    weight = np.asarray(seen[WEIGHT].to_numpy(), dtype=np.float64)
    return Joined(made.select(*columns, nw.col(_VALUE).alias(output)), ArrayValues(values, weight))
