"""Where a function of a share in [0, 1], low at 0 and high at 1, takes a value; the function may jump or fail to answer."""

from __future__ import annotations

from collections.abc import Callable

MOST_STEPS = 80


def crossing(function: Callable[[float], float | None], value: float, tolerance: float) -> float | None:
    """A share t with |function(t) − value| ≤ tolerance, or None where the function jumps over the value.

    False position with the Illinois rule, mixed with bisection every third step so that jumps cannot stall it.

    Examples
    --------
    >>> round(crossing(lambda t: t * t, 0.25, 1e-12), 9)
    0.5
    >>> crossing(lambda t: float(t > 0.3), 0.5, 1e-12) is None
    True
    """
    low, high = 0.0, 1.0
    first, last = function(low), function(high)
    if first is None or last is None:
        return None
    below, above = first - value, last - value
    for step in range(MOST_STEPS):
        if high - low <= 1e-16:
            return None
        middle = (low + high) / 2 if step % 3 == 2 or above == below else low - below * (high - low) / (above - below)
        if not low < middle < high:
            middle = (low + high) / 2
        answer = function(middle)
        if answer is None:
            return None
        off = answer - value
        if abs(off) <= tolerance:
            return middle
        if off < 0:
            low, below, above = middle, off, above / 2
        else:
            high, above, below = middle, off, below / 2
    return None
