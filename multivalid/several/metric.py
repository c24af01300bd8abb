"""Coordinates in which the curvature of each class is the identity, for the steps that look for the least log loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multivalid.properties.base import Array

SMALL = 48  # rows of a triangle that is inverted at once


class Metric:
    """Coordinates of each class in which its curvature and ridge are the identity: u = root'·coefficients."""

    def __init__(self, curvature: Sequence[Array], ridge: Array) -> None:
        self._inverse = [inverse_of_triangle(_root(block + np.diag(ridge + _floor(np.diag(block))))) for block in curvature]

    def back(self, table: Array) -> Array:
        """A move in coordinates as one in coefficients."""
        return np.stack([inverse.T @ row for inverse, row in zip(self._inverse, table, strict=True)])

    def slope(self, gradient: Array) -> Array:
        """A gradient in coefficients as one in coordinates."""
        return np.stack([inverse @ row for inverse, row in zip(self._inverse, gradient, strict=True)])


def inverse_of_triangle(root: Array) -> Array:
    """Of a lower triangle, by halves.

    As quick as SciPy's, which would bring another BLAS into the process, with threads of its own that nobody here has told to rest.

    Examples
    --------
    >>> inverse_of_triangle(np.array([[2.0, 0.0], [1.0, 4.0]]))
    array([[ 0.5  ,  0.   ],
           [-0.125,  0.25 ]])
    """
    if len(root) <= SMALL:
        return np.asarray(np.linalg.inv(root), dtype=np.float64)
    half = len(root) // 2
    upper, lower = inverse_of_triangle(root[:half, :half]), inverse_of_triangle(root[half:, half:])
    out = np.zeros_like(root)
    out[:half, :half], out[half:, half:] = upper, lower
    out[half:, :half] = -lower @ (root[half:, :half] @ upper)
    return out


def _root(block: Array) -> Array:
    return np.asarray(np.linalg.cholesky(block), dtype=np.float64)


def _floor(diagonal: Array) -> Array:
    """So little that it changes no step but that of a coefficient nothing speaks of."""
    return np.full(diagonal.shape, 1e-6 * float(diagonal.max(initial=0.0)) + 1e-9)
