"""What one pair of predictions for everybody reaches: a promise above that is none."""

from __future__ import annotations

import numpy as np

from multivalid.audit.pair_cells import solved_cells
from multivalid.cells.residual import ratio
from multivalid.cells.tabulate import tabulate_groups
from multivalid.properties import Pair
from multivalid.sources.memory import MemorySource as Rows


def trivial_errors(rows: Rows, pair: Pair) -> tuple[float, float] | None:
    """The errors of one pair of predictions for everybody, Γ⁰ and Γ¹ of all labels; None where there is no group but everyone."""
    if rows.membership.groups < 2:
        return None
    kept = rows.weights > 0
    first, second = pair.solve(rows.labels[kept], rows.weights[kept])
    place = np.zeros(len(rows), dtype=np.intp)
    v = pair.first.identify(first, rows.labels)
    weight, total = (table[0] for table in tabulate_groups(rows.membership, place, [rows.weights, rows.weights * v], 1))
    # V¹ at the true Γ⁰ of every group, as in the errors of a fit.
    at_truth = solved_cells(pair, rows.labels, rows.weights, place, np.array([second]), rows.membership)[2, 0]
    return float(np.max(ratio(total**2, weight)) / weight[0]), float(np.max(weight * at_truth**2) / weight[0])
