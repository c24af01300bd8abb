"""Slow and obvious versions of the pieces of the practical mode."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize


def dense_features(model: Any, base: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Feature matrix (rows × coefficients) and summed shifts, from (rows × groups) zeros and ones, in double precision."""
    z = (base - model.center) / model.scale
    index = groups @ model.shifts
    columns = [np.ones_like(z), z]
    columns += [np.maximum(z - knot, 0) for knot in model.knots]
    columns += [np.maximum(index - knot, 0) for knot in model.bend_knots]
    columns += list(groups.T.astype(float))
    every = np.column_stack([groups, z])
    columns += [every[:, i] * every[:, j] for i, j in model.pairs.T]
    if model.twists.size:
        pulls = [index, *(np.maximum(index - knot, 0) for knot in model.bend_knots)]
        columns += [pull * along for pull in pulls for along in (z, *(np.maximum(z - knot, 0) for knot in model.knots))]
    return np.column_stack(columns), index


def eta(model: Any, base: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """base + Σ coefficient·feature."""
    features, _ = dense_features(model, base, groups)
    return base + features @ np.concatenate([model.curve, model.bends, model.shifts, model.products, model.twists])


def log_loss_fit(model: Any, base: np.ndarray, groups: np.ndarray, y: np.ndarray, w: np.ndarray, ridge: float) -> np.ndarray:
    """Coefficients of least Σw·log loss + ridge/2·Σ penalty·coefficient², by a general optimiser."""
    features, _ = dense_features(model, base, groups)
    penalty = model.flat.penalty

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        t = base + features @ x
        value = w @ (np.logaddexp(0, t) - y * t) + ridge / 2 * penalty @ x**2
        return float(value), features.T @ (w * (1 / (1 + np.exp(-t)) - y)) + ridge * penalty * x

    done = minimize(
        loss, np.zeros(features.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-9}
    )
    return np.asarray(done.x)


def shifted(edges: np.ndarray, shifts: list[tuple[int, int, float]], start: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """A round of shifts, row by row; level k holds the values in (edge k−1, edge k]."""
    out = start.copy()
    for i, value in enumerate(start):
        level = sum(value > edge for edge in edges)
        for group, at, amount in shifts:
            if at == level and groups[i, group]:
                out[i] += amount
    return out


def worst_error(v: np.ndarray, level: np.ndarray, groups: np.ndarray, w: np.ndarray) -> float:
    """max over groups of Σ over levels of Pr[level, G]·(mean V)²."""
    worst = 0.0
    for member in groups.T.astype(bool):
        total = 0.0
        for k in np.unique(level):
            cell = member & (level == k)
            if w[cell].sum() > 0:
                total += w[cell].sum() / w.sum() * (np.average(v[cell], weights=w[cell])) ** 2
        worst = max(worst, total)
    return worst
