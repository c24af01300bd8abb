"""Γ of a discrete law, for a property, a functional or a user's function of (values, weights)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from multivalid.errors import InputError
from multivalid.properties.base import Array, Property
from multivalid.properties.function import name_of
from multivalid.properties.functional import Functional
from multivalid.properties.law import Law

Evaluable = Property | Functional | Callable[..., Any]


def evaluator(thing: Evaluable) -> Callable[[Array, Array], Any]:
    """A function of (values, weights): values distinct and sorted, weights positive with sum one.

    Examples
    --------
    >>> from multivalid.properties import Mean
    >>> float(evaluator(Mean())(np.array([0.0, 1.0]), np.array([0.5, 0.5])))
    0.5
    """
    if isinstance(thing, Functional):
        return thing.value_of
    if isinstance(thing, Property):
        return thing.solve
    if callable(thing):
        return thing
    raise InputError(f"a property, a functional or a function of (values, weights) is needed, got {thing!r}.")


def value_on(thing: Evaluable, law: Law) -> float:
    """Γ of one law, as a finite number or an error."""
    return as_number(evaluator(thing)(np.array(law.values), np.array(law.weights)))


# Weights are moved by this share to see what rounding does to Γ: about a thousand roundings.
SHAKE = 1e-13


def rounding_of(thing: Evaluable, law: Law) -> float:
    """How far Γ moves when weights or values of a law are moved by a hair, at least a digit: differences not much larger prove nothing.

    Measured, not assumed: it follows the units of the labels and of Γ, and knows of an offset that was added or taken away.

    Examples
    --------
    >>> from multivalid.properties import Variance
    >>> rounding_of(Variance(), Law.of([0.0, 1e-5], [0.3, 0.7])) < 1e-22
    True
    """
    weights, value = np.array(law.weights), value_on(thing, law)
    moved = [float(np.spacing(abs(value)))]
    if weights.size == 1:
        return moved[0]
    nearer = Law.of(np.nextafter(np.array(law.values), 0.0), weights)  # towards 0, so that positive labels stay positive
    moved.append(abs(value_on(thing, nearer) - value))
    for place in (0, weights.size - 1):
        shaken = weights * (1 - SHAKE)
        shaken[place] += SHAKE
        moved.append(abs(value_on(thing, Law.of(law.values, shaken)) - value))
    return max(moved)


def as_number(answer: Any) -> float:
    """What a user's function returned, as a finite number; anything else raises `ValueError` saying what came back."""
    if isinstance(answer, np.ndarray) and answer.size == 1:
        answer = answer.item()
    if isinstance(answer, (bool, str, bytes)) or not isinstance(answer, (int, float, np.number)) or isinstance(answer, complex):
        raise ValueError(f"it returned {answer!r:.60}, not a number")
    number = float(answer)
    if not np.isfinite(number):
        raise ValueError(f"it returned {number}")
    return number


def label_of(thing: Evaluable) -> str:
    """What a functional is called in texts."""
    if isinstance(thing, (Property, Functional)):
        return repr(thing)
    return name_of(thing)
