"""Predictions where the rows live: a new column of a lazy frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.keys import Digits, place
from multivalid.atoms.summary import PREDICTION
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import Frame, fetch, join
from multivalid.properties.base import Array

# Groups (rows × groups, without everyone) and start levels → final predictions.
Moves = Callable[[NDArray[np.bool_], NDArray[np.intp]], Array]
MOST_PATTERNS = 1_000_000


def predicting_levels(frame: Frame, groups: FittedGroups, grid: Grid, moves: Moves, output: str = PREDICTION) -> Frame:
    """Final predictions by a join with the table (groups, level) → prediction.

    The frame is looked at once, for the combinations of groups and level that occur in it; the join itself stays lazy.
    """
    flags = groups.expressions(frame.collect_schema())[1:]
    digits = Digits((2,) * len(flags) + (len(grid),))
    keys = digits.pack([*flags, place(nw.col(PREDICTION), grid.boundaries)])
    names = [f"__mv_k{i}" for i in range(len(keys))]
    aliased = [key.alias(name) for name, key in zip(names, keys, strict=True)]
    seen = fetch(frame.select(*aliased).unique().head(MOST_PATTERNS + 1))
    if len(seen) > MOST_PATTERNS:
        raise InputError(
            f"the rows show over {MOST_PATTERNS:,} combinations of groups and level, too many for a table to join with; "
            f"predict on parts of the data, or collect it."
        )
    table: dict[str, NDArray[Any]] = {name: np.asarray(seen[name].to_numpy(), dtype=np.int64) for name in names}
    *members, level = digits.unpack(list(table.values()))
    dense = np.stack(members, axis=1) == 1 if members else np.zeros((len(seen), 0), dtype=bool)
    table["__mv_value"] = moves(dense, level)
    columns = [name for name in frame.collect_schema().names() if name != output]
    joined = join(frame.with_columns(*aliased), names, "__mv_value", table)
    return joined.select(*columns, nw.col("__mv_value").alias(output))
