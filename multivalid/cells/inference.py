"""Is it noise? Debiased errors, a χ² test per group, and Holm's correction over groups.

Arrays have shape (levels, groups) unless said otherwise; group 0 is the population.

The test asks whether a group's error Σ p·v² is larger than noise alone would make it. Under "nothing is off" each p·v² has mean
λ = p·var(v) and variance λ²(2 + k/n), k the excess kurtosis of V and n the rows of the cell; the sum is compared with the multiple of
a χ² that has the same mean and variance (Satterthwaite). The textbook Σ v²/var(v) would give every cell the same say: with skewed
labels (rare events, high quantiles) a few cells whose variance happens to be underestimated then decide, and a test at 5 % rejects
in up to nine cases of ten although nothing is off.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multivalid.cells.sums import CellSums
from multivalid.properties.base import Array

# A variance estimated from n rows has relative variance (kurtosis − 1)/n. Cells are drawn towards the population as if this many
# times (kurtosis − 1) rows had been added: a handful of equal outcomes (no event in a small group) must not look like certainty.
PRIOR = 3.0


class ChiSquare(NamedTuple):
    """χ² statistic, degrees of freedom and p-value of each group."""

    statistic: Array
    freedom: Array
    p_value: Array


def mean_variance(rows: Array, weight: Array, mean: Array, sum_ww: Array, sum_wwvv: Array) -> Array:
    """Unbiased estimate of the variance of the weighted mean V of each cell; 0 for cells of fewer than two rows.

    With unit weights this is s²/n. With weights, v² minus it is the mean of V_i·V_j over pairs i ≠ j, weighted w_i·w_j: unbiased for
    any weights and any spread of the rows (though a single estimate may then be negative).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (sum_wwvv - mean**2 * sum_ww) / (weight**2 - sum_ww)
    return np.where((rows >= 2) & (weight > 0), variance, 0.0)


def debiased(mass: Array, mean: Array, variance: Array, rows: Array) -> Array:
    """Σ p·(v² − its noise) over cells of at least two rows: unbiased for the error that the labels' law implies."""
    return np.asarray(np.where(rows >= 2, mass * (mean**2 - variance), 0.0).sum(axis=0))


def kurtosis(sums: CellSums) -> float:
    """E V⁴ / (E V²)² over all rows, as if nothing were off; 3 (that of a normal law) when V is zero everywhere."""
    fourths, squares, ww = (float(column[:, 0].sum()) for column in (sums.residual_fourths, sums.residual_squares, sums.squares))
    if not squares > 0:
        return 3.0
    return fourths * ww / squares / squares if np.isfinite(fourths) else float(sums.rows[:, 0].sum())  # the most it can be


def effective_rows(weight: Array, sum_ww: Array) -> Array:
    """Rows of equal weight that would tell as much (Kish); 0 for empty cells."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sum_ww > 0, weight**2 / sum_ww, 0.0)


def steady_variance(effective: Array, variance: Array, mean_square: float, kurt: float) -> Array:
    """Variance of the mean V of each cell, small cells drawn towards the population at the same level.

    The population's own is drawn towards `mean_square`, that of V over all rows: what the variance is if nothing is off. So outcomes
    that never vary still have a scale, and predictions that miss them all by the same amount are found once rows are enough.
    """
    prior = PRIOR * max(kurt - 1.0, 1.0)
    per_row = np.maximum(variance, 0.0) * effective
    pooled = (effective[:, :1] * per_row[:, :1] + prior * mean_square) / (effective[:, :1] + prior)
    steady = (effective * per_row + prior * pooled) / (effective + prior)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(effective > 0, steady / effective, 0.0)


def chi_square(mass: Array, mean: Array, variance: Array, effective: Array, kurt: float) -> ChiSquare:
    """Compare each group's Σ p·v² with its law under "nothing is off"; p-value 1 for a group without rows."""
    from scipy.special import chdtrc  # the χ² tail; imported late, because SciPy doubles the time of `import multivalid`

    noise = mass * variance
    with np.errstate(divide="ignore", invalid="ignore"):
        fatness = np.where(effective > 0, 2.0 + max(kurt - 3.0, 0.0) / effective, 0.0)
        scale = (noise**2 * fatness).sum(axis=0) / (2 * noise.sum(axis=0))
        freedom = noise.sum(axis=0) / scale
        statistic = (mass * mean**2).sum(axis=0) / scale
    tested = noise.sum(axis=0) > 0
    freedom, statistic = np.where(tested, freedom, 0.0), np.where(tested, statistic, 0.0)
    return ChiSquare(statistic, freedom, np.where(tested, chdtrc(np.where(tested, freedom, 1.0), statistic), 1.0))


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
