"""What a property of one's own means, as numbers that a file can hold: V at a few predictions and labels."""

from __future__ import annotations

import itertools
import math

import numpy as np

from multivalid.properties.base import Array
from multivalid.properties.ops import NUMPY
from multivalid.properties.target import Coordinate, Target

LABELS = (0.0, 0.3, 1.0, 2.5)
PREDICTIONS = (0.1, 0.5, 1.0, 2.0)
TOLERANCE = 1e-9


def _values(coordinate: Coordinate, columns: list[Array], labels: Array) -> Array:
    """V; nan where labels or predictions are none that the property has."""
    try:
        return np.asarray(coordinate.residual(NUMPY, columns, labels), dtype=np.float64)
    except (ValueError, ArithmeticError):
        return np.full(labels.size, np.nan)


def meaning(target: Target) -> list[float | None]:
    """V of every coordinate, where it is a finite number, and None elsewhere.

    Examples
    --------
    >>> from multivalid.properties import Mean
    >>> meaning(Mean())[:5]
    [0.1, -0.2, -0.9, -2.4, 0.5]
    """
    width = len(target.coordinates)
    # The second column of a pair lies a little above the first, as an expected shortfall does above its quantile.
    pairs = list(itertools.product(PREDICTIONS, LABELS))
    predictions = np.array([[prediction + k / 8 for k in range(width)] for prediction, _ in pairs])
    with np.errstate(all="ignore"):
        columns = list(predictions.T)
        labels = np.array([label for _, label in pairs])
        values = np.stack([_values(one, columns, labels) for one in target.coordinates], axis=1)
    return [round(float(value), 12) if math.isfinite(value) else None for value in values.ravel()]


def same_meaning(one: list[float | None], other: list[float | None]) -> bool:
    """Whether two lists say the same, up to rounding."""
    if len(one) != len(other):
        return False
    return all(
        a is b if a is None or b is None else math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        for a, b in zip(one, other, strict=True)
    )
