"""Small worlds with groups that matter: a fan of quantiles, and classes with known probabilities."""

from __future__ import annotations

import numpy as np

TAUS = (0.1, 0.5, 0.9)
KINDS = ("ant", "bee", "cat", "dog")


def fan(rows, seed=0):
    """Labels, three columns that are off for one group (some of them cross), weights, groups."""
    rng = np.random.default_rng(seed)
    x, wide, late = rng.normal(size=rows), rng.random(rows) < 0.3, rng.random(rows) < 0.5
    y = np.exp(0.3 * x) + np.where(wide, 2.0, 1.0) * rng.gamma(2.0, size=rows) + 0.7 * late
    said = np.exp(0.3 * x)[:, None] + np.array([0.5, 1.7, 3.9])
    said[::17] = said[::17, ::-1]
    return y, said, rng.choice([0.5, 1.0, 3.0], rows), np.column_stack([wide, late])


def kinds(rows, seed=0):
    """Class names, probabilities of a model that ignores the groups, weights, groups, and the true probabilities."""
    rng = np.random.default_rng(seed)
    groups = rng.random((rows, 4)) < [0.1, 0.3, 0.5, 0.7]
    x = rng.normal([1.0, 0.0, 0.0, -1.0], 1.0, (rows, 4))
    pull = np.random.default_rng(5).normal(size=(4, 4))  # the same in every world: what a fit learns in one holds in another
    truth, base = softmax(x + groups @ pull), softmax(0.8 * x)
    code = (truth.cumsum(axis=1) > rng.random(rows)[:, None]).argmax(axis=1)
    return np.array(KINDS)[code], base, rng.choice([0.5, 1.0, 3.0], rows), groups, truth


def softmax(eta):
    """Probabilities of every row."""
    up = np.exp(eta - eta.max(axis=1, keepdims=True))
    return up / up.sum(axis=1, keepdims=True)
