"""Errors without what noise adds: the unbiased variance of a weighted mean, and what is left of an error without it.

Arrays have shape (levels, groups) unless said otherwise; group 0 is the population.
"""

from __future__ import annotations

import numpy as np

from multivalid.properties.base import Array

ALONE = 1e-12  # of a cell's squared weight: less of it in pairs of different rows is rounding


def mean_variance(rows: Array, weight: Array, mean: Array, sum_ww: Array, sum_wwvv: Array) -> Array:
    """Unbiased estimate of the variance of the weighted mean V of each cell; 0 for cells of fewer than two rows.

    With unit weights this is s²/n. With weights, v² minus it is the mean of V_i·V_j over pairs i ≠ j, weighted w_i·w_j: unbiased for
    any weights and any spread of the rows (though a single estimate may then be negative). A cell whose weight is that of one row to the
    last digits has no such pair: the estimate is v² there.
    """
    pairs = weight**2 - sum_ww
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        variance = np.where(pairs > ALONE * weight**2, (sum_wwvv - mean**2 * sum_ww) / pairs, mean**2)
    return np.where((rows >= 2) & (weight > 0), variance, 0.0)


def debiased(mass: Array, mean: Array, variance: Array, rows: Array) -> Array:
    """Σ p·(v² − its noise) over cells of at least two rows: unbiased for the error that the labels' law implies."""
    return np.asarray(np.where(rows >= 2, mass * (mean**2 - variance), 0.0).sum(axis=0))
