"""How far off, as plain functions of outcomes and predictions: for scorers, and for tables of metrics by group.

Each takes (y_true, y_pred, sample_weight=None), as scikit-learn's metrics do, and returns one number; fairlearn's `MetricFrame` takes them
as they are. They say how large a difference is, not whether it is chance: for that there is `multivalid.audit`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multivalid import validate
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.properties import Property
from multivalid.properties.base import Array
from multivalid.scope import require

LEVELS = 20


def calibration_gap(y_true: Any, y_pred: Any, *, sample_weight: Any = None, property: str | Property = "mean") -> float:
    """The mean of V: for a mean, mean prediction − mean outcome; for a quantile, share covered − τ. Zero when right on average.

    Examples
    --------
    >>> calibration_gap([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5])
    -0.25
    >>> calibration_gap([1, 2, 3, 4], [3, 3, 3, 3], property="quantile:0.9")
    -0.15000000000000002
    """
    v, weights, _ = _residuals(y_true, y_pred, sample_weight, property)
    return float(weights @ v / weights.sum())


def calibration_rms(
    y_true: Any, y_pred: Any, *, sample_weight: Any = None, property: str | Property = "mean", levels: int = LEVELS
) -> float:
    """√ Σ share × (mean V)² over levels of the prediction: how far off it typically is, given its own value, in the units of V.

    Levels hold about equal weight; predictions with few distinct values are taken value by value. Noise alone makes it larger than zero.

    Examples
    --------
    >>> calibration_rms([0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6])
    0.31622776601683794
    """
    v, weights, predictions = _residuals(y_true, y_pred, sample_weight, property)
    distinct = np.unique(predictions)
    grid = Grid(distinct) if distinct.size <= levels else Grid.quantile(predictions, levels, weights)
    place = grid.round(predictions)
    mass = np.bincount(place, weights, minlength=len(grid))
    total = np.bincount(place, weights * v, minlength=len(grid))
    filled = mass > 0
    return float(np.sqrt(np.sum(total[filled] ** 2 / mass[filled]) / mass.sum()))


def mean_score(y_true: Any, y_pred: Any, *, sample_weight: Any = None, property: str | Property = "mean") -> float:
    """The mean of the property's own score S, lower being better: half the squared error for a mean; up to a part that no prediction
    changes, the pinball loss for a quantile.

    Examples
    --------
    >>> mean_score([0, 1], [0.5, 0.5])
    0.125
    """
    prop, labels, predictions, weights = _check(y_true, y_pred, sample_weight, property)
    return float(weights @ prop.score(predictions, labels) / weights.sum())


def _residuals(y_true: Any, y_pred: Any, sample_weight: Any, property: str | Property) -> tuple[Array, Array, Array]:
    prop, labels, predictions, weights = _check(y_true, y_pred, sample_weight, property)
    return prop.identify(predictions, labels), weights, predictions


def _check(y_true: Any, y_pred: Any, sample_weight: Any, property: str | Property) -> tuple[Property, Array, Array, Array]:
    prop = require(property)
    if not isinstance(prop, Property):
        raise InputError(
            f"property must have one coordinate here, got {prop!r}; audit the coordinates of a pair with multivalid.audit."
        )
    labels = prop.check_labels(validate.vector(y_true, "y_true"))
    predictions = validate.vector(y_pred, "y_pred")
    validate.same_length(predictions, labels.size, "y_pred", "y_true")
    return prop, labels, predictions, validate.weights(sample_weight, labels.size)
