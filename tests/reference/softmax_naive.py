"""The slow fit of classes together: every feature written out, all coefficients in one dense problem."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize


def features(model, logs, groups):
    """(classes, rows, coefficients), in the order of `Shares.table`."""
    at, rows = model.directions, len(logs)
    z = logs @ at.weights.T - at.center
    shared = [np.ones(rows), *z.T]
    for i in range(z.shape[1]):
        shared += [np.maximum(z[:, i] - knot, 0) for knot in at.knots[i]]
    along = [np.ones(rows), *z.T[: model.groups.shape[1] - 1]]
    members = [groups[:, g] * pull for pull in along for g in range(groups.shape[1])]
    both = [groups[:, i] & groups[:, j] for i, j in model.pairs.T]
    out = []
    for k in range(logs.shape[1]):
        own = (logs[:, k] - at.own_center[k]) / at.own_scale[k]
        alone = [own, *(np.maximum(own - knot, 0) for knot in at.own_knots[k])]
        out.append(np.column_stack([*shared, *alone, *members, *both]))
    return np.array(out, dtype=float)


def loss(table, model, logs, codes, weights, groups, ridge):
    """Penalised log loss and its gradient."""
    x = features(model, logs, groups)
    eta = logs + np.einsum("krf,kf->rk", x, table)
    eta -= eta.max(axis=1, keepdims=True)
    share = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    hit = codes[:, None] == np.arange(logs.shape[1])
    value = weights @ -np.log(share[hit]) + ridge / 2 * np.sum(model.penalty * table**2)
    return value, np.einsum("rk,krf->kf", weights[:, None] * (share - hit), x) + ridge * model.penalty * table


def least(model, logs, codes, weights, groups, ridge):
    """The least penalised loss."""
    shape = model.table.shape

    def flat(v):
        value, slope = loss(v.reshape(shape), model, logs, codes, weights, groups, ridge)
        return value, slope.ravel()

    return minimize(flat, np.zeros(np.prod(shape)), jac=True, method="L-BFGS-B", options={"maxiter": 500, "maxfun": 700}).fun
