"""What one round is given, checked: numbers of the right kind and range, before anything changes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.errors import InputError
from multivalid.online.tickets import Ticket


def base(value: float | None) -> float | None:
    """A model's prediction, or none."""
    if value is None or (type(value) is float and math.isfinite(value)):  # the usual cases first: checks cost as much as a round
        return value
    return validate.real(value, "base")


def bases(value: Any, columns: int) -> NDArray[np.float64] | None:
    """A model's predictions of several levels, or none."""
    if value is None:
        return None
    array = validate.vector(value, "base")
    if array.size != columns:
        raise InputError(f"base must have one number for each of the {columns} levels, got {array.size}.")
    return array


def label(value: float, labels: tuple[float, float]) -> float:
    """An outcome inside the label range; a boolean counts as 0 or 1."""
    y = value if type(value) is float else float(value) if isinstance(value, (bool, np.bool_)) else validate.real(value, "y")
    if not labels[0] <= y <= labels[1]:  # also true for NaN
        raise InputError(
            f"y must lie in labels=({labels[0]:g}, {labels[1]:g}), got {value!r}; make the learner with a wider range."
        )
    return y


def finite_label(value: float) -> float:
    """An outcome that is a finite number; a boolean counts as 0 or 1."""
    y = value if type(value) is float else float(value) if isinstance(value, (bool, np.bool_)) else validate.real(value, "y")
    if not math.isfinite(y):
        raise InputError(f"y must be finite, got {value!r}; forget() is for outcomes that never come.")
    return y


def weight(value: float) -> float:
    """A weight between 0 and 1."""
    w = value if type(value) is float else validate.real(value, "weight")
    if not 0.0 <= w <= 1.0:
        raise InputError(f"weight must lie in [0, 1], got {value!r}; divide all weights by the largest one possible.")
    return w


def ticket(value: Ticket | int) -> int:
    """The number of a ticket."""
    number = value.id if isinstance(value, Ticket) else value
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise InputError(f"ticket must be a Ticket or its number, got {value!r}.")
    return int(number)


def key(value: str | int | None) -> str | int | None:
    """A key of the user's: text or a whole number."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, (str, int))):
        raise InputError(f"key must be text or a whole number, got {value!r} of type {type(value).__name__}.")
    return value


def interval(labels: Any) -> tuple[float, float]:
    """A range (lo, hi)."""
    try:
        lo, hi = labels
    except (TypeError, ValueError):
        raise InputError(f"labels must be a pair (lo, hi), got {labels!r}.") from None
    lo, hi = validate.real(lo, "labels[0]"), validate.real(hi, "labels[1]")
    if not lo < hi or not math.isfinite(hi - lo):
        raise InputError(f"labels must be a pair with lo < hi, got {labels!r}.")
    return lo, hi


def ends(labels: tuple[float, float]) -> NDArray[np.float64]:
    """Both ends as an array."""
    return np.array(labels)
