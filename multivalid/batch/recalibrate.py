"""Algorithm 2: groups come from outside, call by call."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.atoms.response import response
from multivalid.atoms.table import build
from multivalid.batch.algorithm import Trace, run
from multivalid.batch.control import Control
from multivalid.batch.rules import TheoremRule
from multivalid.batch.state import State
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.properties import Property


def recalibrate(
    labels: Any,
    levels: Any,
    groups: Membership,
    *,
    property: Property,
    grid: Grid,
    threshold: float,
    lipschitz: float,
    sample_weight: Any = None,
    max_updates: int | None = None,
) -> tuple[NDArray[np.intp], Trace]:
    """Algorithm 2: move cells with p·v² ≥ threshold and |v| > 2Lg until none is left, starting from given levels.

    Call it again with other groups, starting from the levels it returned: over all calls together it makes at most 4LB/threshold
    updates, B being the most that the score of one label varies over the grid.

    Returns
    -------
    levels, trace
        The new level of each row, and what was done.

    Examples
    --------
    >>> import numpy as np
    >>> from multivalid import Grid, Mean, Membership
    >>> grid = Grid.uniform(0, 1, 10)
    >>> everyone = Membership.from_masks([np.ones(4, dtype=bool)], rows=4)
    >>> levels, trace = recalibrate([0.9] * 4, [0] * 4, everyone, property=Mean(), grid=grid, threshold=0.01, lipschitz=1.0)
    >>> levels, trace.status
    (array([8, 8, 8, 8]), 'converged')
    """
    y = property.check_labels(validate.vector(labels, "labels"), "labels")
    start = np.asarray(levels)
    validate.same_length(start, y.size, "levels", "labels")
    if start.dtype.kind not in "iu" or start.min() < 0 or start.max() >= len(grid):
        raise InputError(f"levels must be whole numbers from 0 to {len(grid) - 1}, the indices of grid points.")
    if groups.rows != y.size:
        raise InputError(f"groups has {groups.rows} rows but labels has {y.size}; both must describe the same rows.")
    w = validate.weights(sample_weight, y.size)
    threshold, lipschitz = validate.positive(threshold, "threshold"), validate.positive(lipschitz, "lipschitz")
    rule = TheoremRule(threshold, 2 * lipschitz * grid.gap, threshold / (4 * lipschitz))
    answer = response(property, grid, y)
    bins, moments = answer.encode(y)
    table, row_atom = build(groups.by_row(), start.astype(np.intp), bins, moments * w[:, None], groups.groups)
    state = State(table, answer, grid, float(w @ answer.score_constant(y)))
    trace = run(state, rule, Control(max_updates))
    return state.level[row_atom], trace
