"""A limit for the largest error that rests on no approximation, for rows of equal weight and V in a known range.

Given which rows lie in which cell, labels are independent. The vector of √p̂·(v̂ − v) over the levels of a group has a norm of at most
√(Σs²/n) on average; by Talagrand's inequality in Bousquet's form it exceeds that by little. Variances s² are bounded from those seen
(Maurer and Pontil's empirical Bernstein bound), and Σp̂v² turns into Σpv² by Bernstein's inequality. The largest limit of all groups
is a limit for the largest error: the group whose true error is largest does not depend on the rows, so nothing is corrected for.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log

import numpy as np

from multivalid import validate
from multivalid.cells.residual import ratio
from multivalid.properties.base import Array


def finite_limits(sums: Mapping[str, Array], variance: Array, length: float, largest: float, delta: float = 0.05) -> Array:
    """A limit of each group's E, wrong with probability delta at most for that group, whatever the law of the rows.

    Parameters
    ----------
    sums : by (level, group): rows, v
    variance : mean of (V − mean V)² in every cell, from the rows
    length, largest : V lies in an interval of this length, and |V| ≤ largest

    Examples
    --------
    >>> rows = np.full((1, 1), 10_000.0)
    >>> round(float(finite_limits({"rows": rows, "v": 0 * rows}, np.full((1, 1), 0.25), 1.0, 1.0)[0]), 4)
    0.0023
    """
    share = log(3 / validate.fraction(delta, "delta"))  # the three steps may each fail with probability delta/3
    rows = sums["rows"]
    n = float(rows[:, 0].sum())
    filled = rows > 0
    cells = np.maximum(filled.sum(axis=0), 1)
    # The variance of n ≥ 2 rows in [0, C]: its root lies below the root of the unbiased estimate + C√(2 ln(1/δ)/(n − 1)).
    slack = length * np.sqrt(2 * (share + np.log(cells)) * ratio(np.ones_like(rows), rows - 1))
    spread = np.where(
        rows > 1, np.minimum(np.sqrt(np.maximum(variance, 0.0) * ratio(rows, rows - 1)) + slack, length / 2), length / 2
    )
    square = np.where(filled, spread, 0.0) ** 2
    average = np.sqrt(square.sum(axis=0) / n)
    jump = length / np.sqrt(n * np.where(filled, rows, np.inf).min(axis=0, initial=np.inf))
    norm = average + np.sqrt(2 * share * (square.max(axis=0) / n + 2 * jump * average)) + jump * share / 3
    seen = np.sqrt(ratio(sums["v"] ** 2, rows).sum(axis=0) / n)
    return np.asarray(np.where(filled.any(axis=0), (seen + norm + largest * np.sqrt(2 * share / n)) ** 2, 0.0))
