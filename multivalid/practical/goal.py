"""What a user fixes of a practical fit, and the levels that its certificate conditions on."""

from __future__ import annotations

import numpy as np

from multivalid import validate
from multivalid.batch.control import UNLIMITED, Control
from multivalid.grid import Array, Grid, level_count

LEVELS = 20
PEEK = 10_000  # values among which more than so many are mostly found, if there are more
NEEDED_ROWS = (
    30.0  # rows that share the sum of squared gains, below which no test means anything (no event among those held out, say)
)


class Goal:
    """What the user fixed: number of levels, levels, error to reach; `needed_rows` must share the held-out gain (see `accept`)."""

    def __init__(
        self,
        m: int | None = None,
        grid: Grid | None = None,
        alpha: float | None = None,
        control: Control = UNLIMITED,
        needed_rows: float = NEEDED_ROWS,
    ) -> None:
        self.levels = LEVELS if m is None else level_count(m)
        self.grid = grid
        self.alpha = None if alpha is None else validate.positive(alpha, "alpha")
        self.control = control
        self.needed_rows = needed_rows


def level_grid(values: Array, weights: Array, levels: int, given: Grid | None = None) -> Grid:
    """The levels given, or some of about equal weight; each distinct value its own where there are few."""
    if given is not None:
        return given
    if np.unique(values[:PEEK]).size <= levels:  # else there is no need to look at all
        distinct = np.unique(values)
        if distinct.size <= levels:
            return Grid(distinct)
    return Grid.quantile(values, levels, weights)
