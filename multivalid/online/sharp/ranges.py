"""The range of predictions: given, or learnt from the stream and grown when a label falls outside.

Growing doubles the length as often as needed. Positions are carried over; rates of bets above 1/(2·bound of V) are given up, the
others keep what they have won, so W does not rise by it (slow rates that take the freed places start at their floors, and the promise
counts them).
"""

from __future__ import annotations

import math

from multivalid.online.sharp.guide import SPEEDS
from multivalid.online.sharp.play import EXPERT, FROM, GUIDE, OFFSET, WIDTH, Array
from multivalid.online.sharp.span import Span
from multivalid.online.sharp.tables import (
    BASE_MEAN,
    BASE_SQUARES,
    BOUND,
    FLATNESS,
    GUIDES,
    HIGH_VALUE,
    KEPT,
    LENGTH,
    LO,
    LOW_VALUE,
    LOWEST,
    MISS,
    ROUNDS,
    START,
    USED,
    Tables,
)


def first_range(label: float, prediction: float) -> tuple[float, float]:
    """A range to begin with, from the first label and what was predicted for it."""
    apart = max(abs(label - prediction), 0.5 * max(abs(label), abs(prediction)), 1e-12)
    return min(label, prediction) - apart, max(label, prediction) + apart


def grown_range(lo: float, hi: float, label: float) -> tuple[float, float]:
    """The range doubled, towards the label, until it holds it.

    Examples
    --------
    >>> grown_range(0.0, 1.0, 5.0), grown_range(0.0, 1.0, -0.5), grown_range(0.0, 1.0, 1.0)
    ((0.0, 8.0), (-1.0, 1.0), (0.0, 1.0))
    """
    length = hi - lo
    while label > hi:
        length *= 2.0
        hi = lo + length
    while label < lo:
        length *= 2.0
        lo = hi - length
    return lo, hi


def set_range(t: Tables, span: Span) -> None:
    """Take over a range for tables in which nothing has been learnt yet."""
    t.setting[[LO, LENGTH, LOWEST, LOW_VALUE, HIGH_VALUE]] = span
    t.setting[BOUND] = max(span.low_value, span.high_value)


def grow(t: Tables, span: Span) -> int:
    """Carry everything over to a wider range; returns the number of rates given up."""
    lo, length, bound = t.setting[[LO, LENGTH, BOUND]]
    doublings = max(
        0, math.ceil(math.log2(max(span.low_value / t.setting[LOW_VALUE], span.high_value / t.setting[HIGH_VALUE])) - 1e-9)
    )
    t.setting[[LO, LENGTH, LOWEST]] = span.lo, span.length, span.lowest
    t.setting[[LOW_VALUE, HIGH_VALUE, BOUND]] *= 2.0**doublings
    shrink, shift = length / span.length, (lo - span.lo) / span.length
    _move_positions(t, shrink, shift)
    ratio = shrink * bound / t.setting[BOUND]
    t.regret *= ratio
    t.spread *= ratio**2
    drop_rates(t, min(doublings, t.rates))
    return doublings


def drop_rates(t: Tables, count: int) -> None:
    """Give up the `count` fastest rates of every bet; those that take the places at the slow end start at their floors."""
    if count == 0:
        return
    for bets, weight in ((t.up, t.weight), (t.down, t.weight), (t.far, t.played), (t.near, t.played)):
        bets[..., : bets.shape[-1] - count] = bets[..., count:].copy()
        bets[..., bets.shape[-1] - count :] = (1.0 / (weight + 1.0) ** 2)[..., None]
    t.owed[...] = (t.up - t.down) @ t.rate


def carry_over(t: Tables, play: Array) -> None:
    """Bring a play that was made in an earlier range to the positions of the present one; its bucket stays what it was."""
    lo, length = t.setting[LO], t.setting[LENGTH]
    if play[FROM] == lo and play[WIDTH] == length:
        return
    shrink, shift = play[WIDTH] / length, (play[FROM] - lo) / length
    play[GUIDE], play[EXPERT:] = shift + shrink * play[GUIDE], shift + shrink * play[EXPERT:]
    play[OFFSET] *= shrink
    play[FROM], play[WIDTH] = lo, length


def _move_positions(t: Tables, shrink: float, shift: float) -> None:
    r = t.running
    before = r[BASE_MEAN] if r[BASE_MEAN] > 0 else r[START]
    for array in (t.edge[: int(r[USED]) - 1], t.kept[: min(int(r[GUIDES]), KEPT)]):
        array[:] = shift + shrink * array
    r[[BASE_MEAN, START]] = shift + shrink * r[[BASE_MEAN, START]]
    r[BASE_SQUARES] *= shrink**2
    r[MISS] *= shrink
    kept = t.kept[: min(int(r[GUIDES]), KEPT)]
    r[FLATNESS] = r[ROUNDS] * float((kept * (1.0 - kept)).mean()) if kept.size else 0.0
    for part in (t.slow, t.fast, t.slope, t.hats):
        part[:, :SPEEDS] *= shrink
        part[:, SPEEDS:] *= shrink * _slope_of_odds(shift + shrink * before) / _slope_of_odds(before)


def _slope_of_odds(position: float) -> float:
    x = min(max(position, 1e-3), 1.0 - 1e-3)
    return 1.0 / (x * (1.0 - x))
