"""How often coins with known chances fall so: a binomial law, moved to the mean, variance and third moment of their number.

Sums give the three moments, in memory or in an engine. For coins that are alike the law is exact. It knows that there are whole numbers of
events: where a thousandth of one is expected, none is no surprise (a smooth law with the same moments finds it one). Coins of unequal size
are counted in units of a typical one. For coins of one size and unequal chances mid-p values are off by up to 0.07 where a few likely ones
stand among many unlikely ones, and tails of a thousandth by factors: tests of those use `coin_law`; limits and cells, which look for no
such tails, this law.

A tail counts half of what was seen itself (mid-p).
"""

from __future__ import annotations

import numpy as np

from multivalid.properties.base import Array

EDGE = 1e-9  # a binomial law with so small a chance is a Poisson law
WHOLE = 1e-6  # numbers so near to a whole one are meant to be it


def lower_tail(count: Array, mean: Array, variance: Array, third: Array) -> Array:
    """Probability of fewer, and half that of as many.

    Examples
    --------
    >>> def binomial(count, coins, chance):
    ...     q = coins * chance * (1 - chance)
    ...     return lower_tail(*(np.array([x]) for x in (count, coins * chance, q, q * (1 - 2 * chance)))).round(6)
    >>> binomial(3, 10, 0.1), binomial(0, 1000, 1e-6)  # exact: Pr[N < 3] + Pr[N = 3]/2 = 0.958507, (1 − 1e-6)^1000/2
    (array([0.958507]), array([0.4995]))
    """
    coins, chance, place = _binomial(count, mean, variance, third)
    return np.asarray((_at_most(place - 1, coins, chance) + _at_most(place, coins, chance)) / 2)


def upper_tail(count: Array, mean: Array, variance: Array, third: Array) -> Array:
    """Probability of more, and half that of as many."""
    coins, chance, place = _binomial(count, mean, variance, third)
    return np.asarray((_more_than(place - 1, coins, chance) + _more_than(place, coins, chance)) / 2)


def _binomial(count: Array, mean: Array, variance: Array, third: Array) -> tuple[Array, Array, Array]:
    """Number of coins and their chance, neither whole nor one of the given, and what the count is once the law is moved to its mean."""
    lean = np.divide(third, variance, out=np.zeros_like(variance), where=variance > 0)
    chance = np.clip((1 - lean) / 2, EDGE, 1 - EDGE)
    coins = np.maximum(variance, 0.0) / (chance * (1 - chance))
    nearest = np.rint(count)
    count = np.where(np.abs(count - nearest) < WHOLE, nearest, count)
    return coins, chance, count - (mean - coins * chance)


def _at_most(count: Array, coins: Array, chance: Array) -> Array:
    from scipy.special import betaincc  # imported late: only a test needs it

    inside = (count > -1) & (count < coins)
    a, b = np.where(inside, count + 1, 1.0), np.where(inside, coins - count, 1.0)
    return np.where(inside, betaincc(a, b, chance), np.where(count < coins, 0.0, 1.0))


def _more_than(count: Array, coins: Array, chance: Array) -> Array:
    from scipy.special import betainc

    inside = (count > -1) & (count < coins)
    a, b = np.where(inside, count + 1, 1.0), np.where(inside, coins - count, 1.0)
    return np.where(inside, betainc(a, b, chance), np.where(count < coins, 1.0, 0.0))
