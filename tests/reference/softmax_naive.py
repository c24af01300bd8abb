"""The slow obvious fit of classes: a penalised multinomial log loss over dense features, minimised by a general routine."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def features(model, base, flags):
    """Intercept, standardised base, hinges, groups: (rows, coefficients)."""
    standard = (base - model.center) / model.scale
    hinges = [np.maximum(standard - knot, 0) for knot in model.knots]
    return np.column_stack([np.ones_like(base), standard, *hinges, flags])


def fit(models, ridges, base, codes, weights, flags):
    """Log-probabilities (up to a number per row) at the minimum of the penalised log loss."""
    designs = [features(model, column, flags) for model, column in zip(models, base.T, strict=True)]
    sizes = [design.shape[1] for design in designs]
    penalty = np.concatenate([ridge * model.penalty for model, ridge in zip(models, ridges, strict=True)])
    hit = codes[:, None] == np.arange(base.shape[1])

    def eta(vector):
        parts = np.split(vector, np.cumsum(sizes)[:-1])
        return base + np.column_stack([design @ part for design, part in zip(designs, parts, strict=True)])

    def loss(vector):
        scores = eta(vector)
        top = scores.max(axis=1, keepdims=True)
        total = np.exp(scores - top)
        share = total / total.sum(axis=1, keepdims=True)
        value = weights @ -np.log(share[hit]) + penalty @ vector**2 / 2
        residual = weights[:, None] * (share - hit)
        slope = np.concatenate([design.T @ residual[:, k] for k, design in enumerate(designs)])
        return value, slope + penalty * vector

    found = minimize(
        loss, np.zeros(sum(sizes)), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9}
    )
    return eta(found.x), found.fun
