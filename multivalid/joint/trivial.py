"""What one pair of predictions for everybody reaches: a promise above that is none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from multivalid.audit.pair_cells import solved_cells
from multivalid.cells.residual import ratio
from multivalid.cells.tabulate import tabulate_groups
from multivalid.joint.plan import pair_facts
from multivalid.properties import Pair
from multivalid.properties.base import Array
from multivalid.sources.memory import MemorySource as Rows

ROUNDING = 1e-12  # of the mean of V² at the worst constant: less is rounding


def trivial_errors(rows: Rows, pair: Pair) -> tuple[float, float]:
    """The errors of one pair of predictions for everybody, Γ⁰ and Γ¹ of all labels.

    Without groups that pair is right, whatever it is worth. There they are the means of V², the most that its errors can be for any
    groups at all: a promise above that is none either. Where V is 0 in every row (the variance of a fair coin), the errors are those of
    the worst end of the range.
    """
    kept = rows.weights > 0
    labels, weights = rows.labels[kept], rows.weights[kept]
    first, second = pair.solve(labels, weights)
    if rows.membership.groups < 2:
        facts = pair_facts(pair, labels, weights)

        def mean_square(identify: Callable[[float], Array], best: float, ends: tuple[float, float]) -> float:
            at_best, *at_ends = (float(np.average(identify(at) ** 2, weights=weights)) for at in (best, *ends))
            return at_best if at_best > ROUNDING * max(at_ends) else max(at_ends)

        return (
            mean_square(lambda at: pair.first.identify(at, labels), first, facts.first.range),
            mean_square(lambda at: pair.identify_second(first, at, labels), second, facts.second_range),
        )
    place = np.zeros(len(rows), dtype=np.intp)
    v = pair.first.identify(first, rows.labels)
    weight, total = (table[0] for table in tabulate_groups(rows.membership, place, [rows.weights, rows.weights * v], 1))
    # V¹ at the true Γ⁰ of every group, as in the errors of a fit.
    at_truth = solved_cells(pair, rows.labels, rows.weights, place, np.array([second]), rows.membership)[2, 0]
    return float(np.max(ratio(total**2, weight)) / weight[0]), float(np.max(weight * at_truth**2) / weight[0])
