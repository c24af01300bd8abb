"""Labels and weights of any size: powers of two are taken out before sums are made, and put back after, which costs no digit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError

Array = NDArray[np.float64]
# Squares and fourth powers of labels, times squares of weights, are added up over many rows: what they need of a double's 1e±308.
LARGEST_LABEL, SMALLEST_LABEL = 1e60, 1e-60
ORDINARY = 1e60  # weights between 1 / this and this are used as they are


def scaled_weights(weights: Array) -> Array:
    """Positive weights, all times one power of two where some are so large or small that their sums would overflow or vanish.

    Examples
    --------
    >>> scaled_weights(np.array([1e300, 3e300])).max() <= 1
    np.True_
    """
    most = float(weights.max(initial=0.0))
    if 1 / ORDINARY < most < ORDINARY or most == 0:
        return weights
    return np.ldexp(weights, -int(np.frexp(most)[1]))


def at_ordinary_size(labels: Array, degree: int | None, solve: Callable[[Array], float], name: str) -> float:
    """solve(labels), where labels of extreme size are scaled first if Γ(c·Y) = c^degree·Γ(Y); an answer that is no number is refused."""
    most = float(np.abs(labels).max())
    exponent = 0 if degree is None or most == 0 or SMALLEST_LABEL <= most <= LARGEST_LABEL else int(np.frexp(most)[1])
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        answer = solve(np.ldexp(labels, -exponent)) if exponent else solve(labels)
        value = float(np.ldexp(answer, exponent * (degree or 0)))
    lost = exponent and answer != 0 and (value == 0 or abs(value) < np.finfo(np.float64).tiny)
    if not np.isfinite(value) or lost:
        what = "is too small" if lost else "is too large"
        raise InputError(
            f"{name} of labels as large as {most:.3g} {what} for a floating-point number; use another unit for the labels."
        )
    return value


def check_size(labels: Array, name: str, *, small: bool = True) -> None:
    """Refuse labels whose squares, added up with weights, would overflow or vanish; predictions may be as `small` as they like.

    Examples
    --------
    >>> check_size(np.array([0.0, 1e200]), "y_true")
    Traceback (most recent call last):
    multivalid.errors.InputError: y_true must not be larger than 1e+60 in size, but it goes up to 1e+200; divide labels and predictions
    by a unit of about that size.
    """
    most = max(float(labels.max(initial=0.0)), -float(labels.min(initial=0.0)))
    if most > LARGEST_LABEL:
        raise InputError(
            f"{name} must not be larger than {LARGEST_LABEL:g} in size, but it goes up to {most:.3g}; divide labels and predictions by a "
            f"unit of about that size."
        )
    if small and 0 < most < SMALLEST_LABEL:
        raise InputError(
            f"{name} must have labels larger than {SMALLEST_LABEL:g} in size, but the largest is {most:.3g}; divide labels and predictions "
            f"by a unit of about that size."
        )
