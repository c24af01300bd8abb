"""What was found, in sentences: every number in the units that the reader has, every claim one that was tested."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from multivalid.properties import Quantile

Table = dict[str, NDArray[Any]]


def amount(value: float, percent: bool) -> str:
    """A gap without its sign.

    Examples
    --------
    >>> amount(-0.0312, True), amount(12.345, False)
    ('3.1 points', '12.3')
    """
    return f"{abs(value) * 100:.2g} points" if percent else f"{abs(value):.3g}"


def direction(gap: float, prop: object) -> str:
    """Whether predictions are too high or too low; for a quantile also what that does to its coverage."""
    if isinstance(prop, Quantile):
        return f"covered {prop.tau + gap:.1%} of the time instead of {prop.tau:.1%}"
    return "predicted too high" if gap > 0 else "predicted too low"


def line(table: Table, i: int, prop: object, percent: bool) -> str:
    """One group in one line."""
    low, high = table["gap_low"][i], table["gap_high"][i]
    gap = float(table["gap"][i])
    name = str(table["name"][i])
    which_way = direction(gap, prop)
    return (
        f"{name}: {which_way}, by {amount(gap, percent)} ({interval(low, high, percent)}); {int(table['rows'][i]):,} rows, "
        f"p = {table['p_adjusted'][i]:.2g}"
    )


def interval(low: float, high: float, percent: bool) -> str:
    """The interval of a gap: without signs where both ends have the same, else with them and why.

    Examples
    --------
    >>> interval(-0.05, -0.012, True)
    '95 % interval 1.2 to 5 points'
    >>> interval(-0.05, 0.002, True)
    '95 % interval -5 to +0.2 points: it holds for all groups at once, so it may include 0 where the test of one does not'
    """
    if low * high > 0:
        least, most = sorted([abs(low), abs(high)])
        return (
            f"95 % interval {least * 100:.2g} to {most * 100:.2g} points" if percent else f"95 % interval {least:.3g} to {most:.3g}"
        )
    ends = f"{low * 100:+.2g} to {high * 100:+.2g} points" if percent else f"{low:+.3g} to {high:+.3g}"
    return f"95 % interval {ends}: it holds for all groups at once, so it may include 0 where the test of one does not"


def heading(count: int, tested: int, searched: int, candidates: float) -> str:
    """How many were found, and where."""
    groups = "1 group is" if count == 1 else f"{count} groups are"
    return (
        f"{groups} off beyond chance at 5 %, found among about {candidates:,.0f} candidates on {searched:,} rows and confirmed on "
        f"{tested:,} other rows:"
    )


def nothing(smallest: float, percent: bool, tested: int, searched: int) -> str:
    """The answer when no group was confirmed, with what would have been."""
    return (
        f"None found; a gap of {amount(smallest, percent)} in a tenth of the rows would have been, nine times in ten "
        f"({searched:,} rows searched, {tested:,} other rows to confirm)."
    )
