"""What one pair of predictions for everybody reaches: a promise above that is none."""

from __future__ import annotations

import numpy as np

from multivalid.audit.pair_cells import pair_cells
from multivalid.properties import Pair
from multivalid.sources.memory import MemorySource as Rows


def trivial_errors(rows: Rows, pair: Pair) -> tuple[float, float] | None:
    """The errors of one pair of predictions for everybody, Γ⁰ and Γ¹ of all labels; None where there is no group but everyone."""
    if rows.membership.groups < 2:
        return None
    kept = rows.weights > 0
    first, second = pair.solve(rows.labels[kept], rows.weights[kept])
    place = np.zeros(len(rows), dtype=np.intp)
    predictions = np.tile([first, second], (len(rows), 1))
    cells = pair_cells(pair, rows.labels, predictions, rows.weights, place, (1, 1), rows.membership)
    return float(cells.first_errors().max()), float(cells.second_errors().max())
