"""The range of predictions for a range of labels, and between which bounds V then lies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError, PropertyError
from multivalid.properties.base import Facts, Property
from multivalid.properties.expectile import Expectile
from multivalid.properties.mean import Mean
from multivalid.properties.quantile import Quantile

Array = NDArray[np.float64]


class Span(NamedTuple):
    """Predictions lie in [lo, lo + length] (or at `lowest`), V in [−low_value, high_value]."""

    lo: float
    length: float
    lowest: float
    low_value: float
    high_value: float


def span_of(prop: Property, labels: tuple[float, float]) -> Span:
    """What a property and a range of labels imply.

    Examples
    --------
    >>> span_of(Mean(), (-1.0, 3.0))
    Span(lo=-1.0, length=4.0, lowest=-1.0, low_value=4.0, high_value=4.0)
    >>> span_of(Quantile(0.75), (0.0, 1.0))
    Span(lo=0.0, length=1.0, lowest=-1e-12, low_value=0.75, high_value=0.25)
    """
    facts = prop.facts(*labels)
    lo, length = facts.range.lo, facts.range.length
    if not (np.isfinite(facts.bound) and facts.bound > 0 and np.isfinite(length) and length > 0):
        raise InputError(
            f"{prop!r} is unbounded for labels in [{labels[0]:g}, {labels[1]:g}]; give a shorter range as labels=(lo, hi)."
        )
    # Where V jumps at a label, a prediction equal to the lowest label already covers it: the lowest play lies below every label.
    lowest = lo if facts.lipschitz is not None else float(min(lo - 1e-12 * length, np.nextafter(lo, -np.inf)))
    if (np.asarray(prop.identify(lowest, _some_labels(prop, facts))) > 0).any():
        raise InputError(f"V of {prop!r} must not be positive at its lowest prediction {lowest!r}; check its range.")
    return Span(lo, length, lowest, *_value_bounds(prop, facts))


def kind_of(prop: Property) -> tuple[int, float]:
    """Number and level under which the compiled rounds know V; number 0 where they do not."""
    kinds = {Quantile: 1, Expectile: 2, Mean: 2}  # the mean is the expectile of level one half
    return kinds.get(type(prop), 0), float(getattr(prop, "tau", 0.5))


def broken_promise(prop: Property, prediction: float, label: float, value: float, ends: tuple[float, float]) -> PropertyError:
    """The error for a V outside the bounds that the facts of a property, a user's own, have given."""
    return PropertyError(
        f"V({prediction!r}, {label!r}) = {value!r} lies outside [{ends[0]:g}, {ends[1]:g}], which {prop!r} promises."
    )


def _value_bounds(prop: Property, facts: Facts) -> tuple[float, float]:
    """|V_min| and V_max: exact where V is linear in the label between breakpoints, else the bound on |V| for both."""
    ends, labels = np.array(facts.range), _some_labels(prop, facts)
    moments, pieces = prop.moments(labels), prop.pieces(ends)
    if moments is None or pieces is None or not (moments[:, 1] == labels).all() or pieces.identify[..., 2:].any():
        return facts.bound, facts.bound
    values = prop.identify(ends[:, None], labels[None, :])
    low, high = -float(values.min()), float(values.max())
    return (low, high) if low > 0 and high > 0 else (facts.bound, facts.bound)


def _some_labels(prop: Property, facts: Facts) -> Array:
    """Labels at which a V that is linear between its breakpoints has its extremes, and some between."""
    lo, hi = facts.labels
    pieces = prop.pieces(np.array(facts.range))
    breaks = np.zeros(0) if pieces is None else pieces.breaks.ravel()
    beside = np.concatenate([breaks, np.nextafter(breaks, np.inf), np.nextafter(breaks, -np.inf)])
    return np.unique(np.concatenate([np.linspace(lo, hi, 33), [lo, hi], beside[(beside >= lo) & (beside <= hi)]]))
