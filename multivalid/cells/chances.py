"""Few chances in place of many: two for each cell, with the moments of those of its rows, so that sums are enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multivalid.properties.base import Array

ROUND_UP = 0.47  # not ½: chances that lie evenly give halves, and halves must not hang on the last digit of a sum


def two_points(total: Array, first: Array, variance: Array, third: Array) -> tuple[Array, Array]:
    """Two values in [0, 1] and weights with the moments Σu, Σup, Σup(1−p), Σup(1−p)(1−2p) given.

    Examples
    --------
    >>> p = np.array([0.1, 0.1, 0.4])
    >>> chance, weight = two_points(*(np.array([[s]]) for s in (3, p.sum(), (p * (1 - p)).sum(), (p * (1 - p) * (1 - 2 * p)).sum())))
    >>> chance.ravel().round(6), weight.ravel().round(6)
    (array([0.1, 0.4]), array([2., 1.]))
    """
    some = total > 0
    mean, spread, alike = _spread(total, first, variance)
    scale = np.where(some, total, 1.0)
    # E p² = E p − E q, E p³ = (E t − E p + 3 E p²)/2.
    square = mean - variance / scale
    cube = (third / scale - mean + 3 * square) / 2
    lean = np.where(alike, 0.0, cube - 3 * mean * spread - mean**3)
    half = np.sqrt(np.where(alike, 1.0, spread))
    skew = lean / half**3
    root = np.sqrt(skew**2 + 4)
    low, high = (skew - root) / 2, (skew + root) / 2
    places = np.stack([mean + half * low, mean + half * high])
    shares = np.stack([high, -low]) / root
    places, shares = np.where(alike, mean, places), np.where(alike, 0.5, shares)
    return np.clip(places, 0.0, 1.0), np.where(some, shares * total, 0.0)


def whole_points(rows: Array, first: Array, variance: Array, third: Array) -> tuple[Array, Array]:
    """The same with whole numbers of rows; mean and variance are kept, the third moment as nearly as whole numbers allow.

    Examples
    --------
    >>> p = np.array([0.01, 0.01, 0.02, 0.9])
    >>> chance, rows = whole_points(*(np.array([[s]]) for s in (4, p.sum(), (p * (1 - p)).sum(), (p * (1 - p) * (1 - 2 * p)).sum())))
    >>> chance.ravel().round(4), rows.ravel()
    (array([0.0133, 0.9   ]), array([3., 1.]))
    """
    _, weight = two_points(rows, first, variance, third)
    mean, spread, _ = _spread(rows, first, variance)
    upper = np.where(rows > 1, np.clip(np.ceil(weight[1] - ROUND_UP), 1.0, np.maximum(rows - 1, 1.0)), rows)
    lower = rows - upper
    some, both = upper > 0, (upper > 0) & (lower > 0)
    low = mean - np.sqrt(np.divide(spread * upper, lower, out=np.zeros_like(mean), where=both))
    # Where a chance would leave [0, 1] the other one keeps the mean.
    low = np.clip(low, np.divide(first - upper, lower, out=np.zeros_like(mean), where=both), None)
    low = np.where(both, np.clip(low, 0.0, mean), 0.0)
    high = np.divide(first - lower * low, upper, out=np.zeros_like(mean), where=some)
    return np.clip(np.stack([low, high]), 0.0, 1.0), np.stack([lower, upper])


def _spread(total: Array, first: Array, variance: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Mean and variance of the chances, and whether they are all alike but for rounding."""
    scale = np.where(total > 0, total, 1.0)
    mean = np.clip(first / scale, 0.0, 1.0)
    spread = mean - variance / scale - mean**2
    alike = np.asarray(spread <= 1e-12 * np.maximum(mean * (1 - mean), 1e-300))
    return mean, np.where(alike, 0.0, spread), alike
