"""Solving (matrix + diag(ridge))·x = right: directly where coefficients are few, by conjugate gradients where they are many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multivalid.properties.base import Array

MOST_DIRECT = 250  # coefficients
STEADY = 1e-6  # of the mean diagonal, so that groups that repeat each other do no harm
NEAR = 1e-10  # of the right side: what conjugate gradients may leave
NEAR_ENOUGH = 1e-5  # the same where several ridges are only compared
LEAST = 1e-100  # added where there is no curvature at all: the square of what is solved for is still a number
MOST_STEPS = 100  # overlapping groups may need more; they are solved directly


def solve(matrix: Array, ridge: Array, right: Array, few: NDArray[np.bool_] | None = None) -> Array:
    """The solution for one ridge (a number per coefficient) and one right side, or several as columns.

    `few` marks coefficients that lean on each other, which conjugate gradients treat together.
    """
    if few is not None and matrix.shape[0] > MOST_DIRECT:
        columns = right[:, None] if right.ndim == 1 else right
        found = _conjugate(matrix, ridge[None], columns.T[None], few, NEAR)
        if found is not None:
            return np.asarray(found[0].T.reshape(right.shape))
    steadied = matrix + np.diag(_steady(matrix, ridge))
    try:
        return np.asarray(np.linalg.solve(steadied, right))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(steadied, right, rcond=None)[0])


def solve_each(matrix: Array, ridges: Array, right: Array, few: NDArray[np.bool_]) -> Array:
    """The same for several ridges (ridges × coefficients) and right sides of each (ridges × sides × coefficients), to compare them."""
    found = _conjugate(matrix, ridges, right, few, NEAR_ENOUGH) if matrix.shape[0] > MOST_DIRECT else None
    if found is not None:
        return found
    return np.stack([solve(matrix, ridge, sides.T).T for ridge, sides in zip(ridges, right, strict=True)])


def _steady(matrix: Array, ridge: Array) -> Array:
    return np.asarray(ridge + STEADY * np.trace(matrix) / matrix.shape[0] + LEAST)


def _conjugate(matrix: Array, ridges: Array, right: Array, few: NDArray[np.bool_], near: float) -> Array | None:
    """Conjugate gradients for all right sides at once, one matrix product a step; None where they take too many.

    The preconditioner is the diagonal, with the block of the few coefficients whole: groups that exclude each other have a diagonal
    block, and hinges of one value lean on each other.
    """
    added = _steady(matrix, ridges)
    scale = np.diag(matrix) + added
    whole = np.linalg.pinv(matrix[np.ix_(few, few)] + np.stack([np.diag(line[few]) for line in added]), hermitian=True)

    def ease(rest: Array) -> Array:
        out = rest / scale[:, None]
        out[..., few] = rest[..., few] @ whole
        return out

    found, rest = np.zeros_like(right), right.copy()
    toward = ease(rest)
    length = first = np.sum(rest * toward, axis=-1, keepdims=True)
    for _ in range(MOST_STEPS):
        if (length <= near**2 * first).all():
            return found
        pushed = (toward.reshape(-1, toward.shape[-1]) @ matrix).reshape(toward.shape) + added[:, None] * toward
        amount = _ratio(length, np.sum(toward * pushed, axis=-1, keepdims=True))
        found += amount * toward
        rest -= amount * pushed
        new = ease(rest)
        before, length = length, np.sum(rest * new, axis=-1, keepdims=True)
        toward = new + _ratio(length, before) * toward
    return None


def _ratio(above: Array, below: Array) -> Array:
    """0 where the denominator is not positive: that side is solved."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
