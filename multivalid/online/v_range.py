"""Between which numbers V must lie, given where predictions and labels lie: a bet is only safe if that is true, not estimated."""

from __future__ import annotations

from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from multivalid.properties.base import REALS, Interval, Property
from multivalid.properties.expectile import Expectile
from multivalid.properties.mean import Expectation
from multivalid.properties.quantile import Quantile

Array = NDArray[np.float64]


@singledispatch
def v_range(prop: Property, low: Array, high: Array, labels: Interval) -> tuple[Array, Array]:
    """Least and most of V for predictions in [low, high] (arrays) and labels in `labels`; infinite where there is no bound.

    Examples
    --------
    >>> from multivalid import Mean, Quantile
    >>> low, high = np.array([0.1]), np.array([0.2])
    >>> [side.round(3).tolist() for side in v_range(Mean(), low, high, Interval(0.0, 1.0))]
    [[-0.9], [0.2]]
    >>> [side.round(3).tolist() for side in v_range(Quantile(0.9), low, high, REALS)]
    [[-0.9], [0.1]]
    """
    bound = prop.facts(*labels).bound if np.isfinite(labels).all() else np.inf
    return np.full_like(low, -bound), np.full_like(high, bound)


@v_range.register
def _(prop: Quantile, low: Array, high: Array, labels: Interval) -> tuple[Array, Array]:
    return np.full_like(low, -prop.tau), np.full_like(high, 1.0 - prop.tau)


@v_range.register
def _(prop: Expectation, low: Array, high: Array, labels: Interval) -> tuple[Array, Array]:
    span = _transform(prop, labels)
    return np.asarray(low - span.hi), np.asarray(high - span.lo)


@v_range.register
def _(prop: Expectile, low: Array, high: Array, labels: Interval) -> tuple[Array, Array]:
    # V falls with the label and rises with the prediction.
    return prop.identify(low, labels.hi), prop.identify(high, labels.lo)


@singledispatch
def prediction_range(prop: Property, labels: Interval) -> Interval:
    """Where a prediction of labels in `labels` can be right; one outside is judged as if it were at the end of this range.

    That is no harder on it: V rises with the prediction, so V at the end of the range is nearer zero and still on the side of the
    error.
    """
    return prop.facts(*labels).range if np.isfinite(labels).all() else REALS


@prediction_range.register
def _(prop: Quantile, labels: Interval) -> Interval:
    return REALS  # V is bounded for any prediction


@prediction_range.register
def _(prop: Expectation, labels: Interval) -> Interval:
    return _transform(prop, labels)


@prediction_range.register
def _(prop: Expectile, labels: Interval) -> Interval:
    return labels


def _transform(prop: Expectation, labels: Interval) -> Interval:
    with np.errstate(all="ignore"):
        span = prop.transform_range(*labels)
    return Interval(-np.inf if np.isnan(span.lo) else span.lo, np.inf if np.isnan(span.hi) else span.hi)
