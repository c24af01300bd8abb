"""Is it noise? Debiased errors, a χ² test per group, and Holm's correction over groups.

Every function takes arrays of shape (levels, groups).
"""

from __future__ import annotations

import numpy as np

from multivalid.properties.base import Array

# A cell's variance counts as if this many rows with the pooled variance had been added: a handful of equal outcomes
# (every label covered, every outcome 0) must not look like certainty.
PRIOR_ROWS = 10.0


def mean_variance(rows: Array, weight: Array, mean: Array, sum_ww: Array, sum_wwv: Array, sum_wwvv: Array) -> Array:
    """Unbiased estimate of the variance of the weighted mean V of each cell; 0 for cells of fewer than two rows.

    With unit weights this is s²/n. With weights it is Σw²(V − v)²/(Σw)² · n/(n − 1).
    """
    spread = np.maximum(sum_wwvv - 2 * mean * sum_wwv + mean**2 * sum_ww, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = spread / weight**2 * rows / (rows - 1)
    return np.where((rows >= 2) & (weight > 0), variance, 0.0)


def debiased(mass: Array, mean: Array, variance: Array, rows: Array) -> Array:
    """Σ p·(v² − its noise) over cells of at least two rows: unbiased for the error that the labels' law implies."""
    return np.asarray(np.where(rows >= 2, mass * (mean**2 - variance), 0.0).sum(axis=0))


def steady_variance(rows: Array, weight: Array, variance: Array, sum_ww: Array) -> Array:
    """Variance of the mean V of each cell, small cells drawn towards the population (group 0) at the same level.

    The per-row variance of a cell is averaged with `PRIOR_ROWS` rows of the pooled one, and the population's own with that of all
    levels together.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(sum_ww > 0, weight**2 / sum_ww, 0.0)  # Kish: rows of equal weight that would be as good
    per_row = variance * effective
    seen = rows[:, 0] >= 2
    total = float(np.average(per_row[seen, 0], weights=rows[seen, 0])) if seen.any() else 0.0
    pooled = (rows[:, 0] * per_row[:, 0] + PRIOR_ROWS * total) / (rows[:, 0] + PRIOR_ROWS)
    steady = (rows * per_row + PRIOR_ROWS * pooled[:, None]) / (rows + PRIOR_ROWS)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(effective > 0, steady / effective, 0.0)


def chi_square(mean: Array, variance: Array, rows: Array) -> tuple[Array, Array]:
    """Σ v²/variance over the non-empty cells of each group, and its p-value with as many degrees of freedom as cells."""
    from scipy.special import gammaincc  # imported late: only a test needs it

    used = (rows > 0) & (variance > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(used, mean**2 / variance, 0.0).sum(axis=0)
    return np.asarray(statistic), np.asarray(
        np.where(used.any(axis=0), gammaincc(np.maximum(used.sum(axis=0), 1) / 2, statistic / 2), 1.0)
    )


def holm(p_value: Array) -> Array:
    """Holm's adjusted p-values: reject those at most α and the chance of one false alarm is at most α.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_value, kind="stable")
    factor = np.arange(p_value.size, 0, -1)
    adjusted = np.minimum(np.maximum.accumulate(p_value[order] * factor), 1.0)
    out = np.empty_like(adjusted)
    out[order] = adjusted
    return out
