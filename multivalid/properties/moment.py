"""E[g(Y)] for a power or a user's function g."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.base import Array, Interval
from multivalid.properties.function import Function, name_of, power_or_function
from multivalid.properties.mean import Expectation
from multivalid.properties.ops import Ops
from multivalid.properties.reading import OBSERVED_SHARE, Reading


@dataclass(frozen=True, repr=False)
class Moment(Expectation):
    """E[g(Y)], with `g` a vectorised function or a whole number k for the k-th raw moment.

    Parameters
    ----------
    g : callable or int
        Function of an array of labels, or a power.
    range : (float, float), optional
        Where g(y) lies. Without it the range is read off a fine mesh of the label range, which can miss a narrow peak.

    Examples
    --------
    >>> Moment(2).solve([1, 2, 3])
    4.666666666666667
    """

    g: Callable[[Array], Array] | int
    range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        power_or_function(self.g, "g")
        if self.range is not None:
            object.__setattr__(self, "range", validate.ends(self.range, "range"))

    def __repr__(self) -> str:
        tail = "" if self.range is None else f", range={self.range!r}"
        return f"Moment({name_of(self.g)}{tail})"

    def transform(self, ops: Ops, label: Any) -> Any:
        return Function(self.g, "g")(ops, label)

    @property
    def degree(self) -> int | None:
        return self.g if isinstance(self.g, int) else None

    def transform_range(self, lo: float, hi: float) -> Interval:
        return Interval(*self.range) if self.range else Function(self.g, "g").range(lo, hi)

    @property
    def spec(self) -> str | None:
        return f"moment:{self.g}" if isinstance(self.g, int) and self.range is None else None


@dataclass(frozen=True)
class EventProbability(Expectation):
    """The probability that the label falls into [lo, hi].

    Examples
    --------
    >>> EventProbability(0, 1).solve([-1, 0, 0.5, 2])
    0.5
    """

    lo: float
    hi: float

    of_event = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "lo", _end(self.lo, "lo"))
        object.__setattr__(self, "hi", _end(self.hi, "hi"))
        if not self.lo <= self.hi:
            raise InputError(f"lo must not exceed hi, got lo={self.lo!r}, hi={self.hi!r}.")

    def __repr__(self) -> str:
        return f"EventProbability({_end_text(self.lo)}, {_end_text(self.hi)})"

    def transform(self, ops: Ops, label: Any) -> Any:
        return ops.number((label >= self.lo) & (label <= self.hi))

    @property
    def reading(self) -> Reading:
        return OBSERVED_SHARE

    def transform_range(self, lo: float, hi: float) -> Interval:
        return Interval(0.0, 1.0)

    @property
    def spec(self) -> str:
        return f"event:{self.lo!r}:{self.hi!r}"


def _end(value: float, name: str) -> float:
    unbounded = isinstance(value, (float, np.floating)) and np.isinf(value)
    return float(value) if unbounded else validate.real(value, name)


def _end_text(value: float) -> str:
    return repr(value) if np.isfinite(value) else f"float('{value}')"
