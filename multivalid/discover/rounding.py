"""Cut points that a person would have chosen: the shortest number in an interval."""

from __future__ import annotations

import math


def shortest_between(low: float, high: float) -> float:
    """The number with the fewest digits in (low, high]; the one nearest to the middle where there are several.

    Examples
    --------
    >>> shortest_between(34.2, 36.1), shortest_between(0.0213, 0.0287), shortest_between(-3.0, 4.0)
    (35.0, 0.025, 0.0)
    """
    if low < 0 <= high:
        return 0.0
    width = high - low
    if not (0 < width < math.inf):
        return high
    start = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    for digits in range(17):
        for unit in (10.0, 5.0, 2.0, 1.0):  # multiples of 10, 5, 2 and 1 of this power of ten
            found = _multiple(low, high, unit, start - 1 - digits)
            if found is not None:
                return found
    return high


def _multiple(low: float, high: float, unit: float, power: int) -> float | None:
    """A multiple of unit·10^power in (low, high], nearest to the middle."""
    if abs(power) > 300:  # beyond what powers of ten can be written as
        return None
    scale = 10.0 ** abs(power)
    step = unit * scale if power >= 0 else unit / scale
    if not 0 < step < math.inf:
        return None
    middle = low + (high - low) / 2
    if not abs(middle / step) < 2**53:
        return None
    count = round(middle / step)
    for whole in (count, count + 1, count - 1):
        # Written as a quotient of whole numbers where it is below one: 35 / 1000 is the double nearest to .035, 35 * .001 may not be.
        value = whole * unit * scale if power >= 0 else whole * unit / scale
        if low < value <= high:
            return float(value)
    return None
