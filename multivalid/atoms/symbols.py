"""Properties as expressions over a label column, for engines that keep the rows to themselves.

The same V, moments and scores as in `properties`, written with operators alone: an engine evaluates them where the rows live.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from operator import mul
from typing import Any

import narwhals as nw
import numpy as np

from multivalid.errors import InputError
from multivalid.properties import (
    Entropic,
    EventProbability,
    Expectile,
    Huber,
    LpQuantile,
    Mean,
    Moment,
    Property,
    Quantile,
    Ratio,
)

Number = nw.Expr | float


@dataclass(frozen=True)
class Symbols:
    """What an engine needs of a property.

    Attributes
    ----------
    moments : label → t_1(y), t_2(y), … (t_0 = 1 is left out)
    identify : (prediction, label) → V
    score : (prediction, label) → S
    best : label → S at the prediction that scores best when the label is certain
    constant : (label, origin) → the part of the score that no prediction changes, sums being taken about `origin`
    monotone : whether V is monotone in the label, so that |V| is largest at the ends of the label range
    positive : label → a number that must be positive, None where every label is fine
    """

    moments: Callable[[nw.Expr], list[nw.Expr]]
    identify: Callable[[Any, Any], nw.Expr]
    score: Callable[[Any, Any], nw.Expr]
    best: Callable[[nw.Expr], Number] = lambda y: 0.0
    constant: Callable[[nw.Expr, float], Number] = lambda y, origin: 0.0
    monotone: bool = True
    positive: Callable[[nw.Expr], nw.Expr] | None = None


def symbols(prop: Property) -> Symbols:
    """The expressions of a property; an error with the way out where it has none.

    Examples
    --------
    >>> symbols(Quantile(0.9)).monotone
    True
    >>> symbols(Property.from_identification(lambda g, y: g - y))
    Traceback (most recent call last):
    multivalid.errors.InputError: <property '<lambda>'> has no moments that an engine could add up. Collect the rows into memory
    (or a random sample of them) and pass that frame as data=.
    """
    match prop:
        case Mean():
            return _expectation(lambda y: y, monotone=True)
        case Moment(g=int() as k):
            return _expectation(partial(power, k=k), monotone=False)
        case EventProbability(lo=lo, hi=hi):
            return _expectation(lambda y: ((y >= lo) & (y <= hi)).cast(nw.Float64), monotone=False)
        case Quantile(tau=tau):
            return _quantile(tau)
        case Expectile(tau=tau):
            return _expectile(tau)
        case Huber(k=k):
            return _huber(k)
        case LpQuantile(p=p, tau=tau) if prop.moments(np.zeros(1)) is not None:
            return _lp_quantile(int(p), tau)
        case Entropic(theta=theta):
            return _entropic(theta)
        case Ratio(numerator=int() as a, denominator=int() as b):
            return _ratio(a, b)
    raise InputError(
        f"{prop!r} has no moments that an engine could add up. Collect the rows into memory (or a random sample of them) "
        f"and pass that frame as data=."
    )


def power(y: nw.Expr, k: int) -> nw.Expr:
    """y multiplied by itself: engines differ in the last digit of their own power function."""
    return reduce(mul, [y] * k) if k else y * 0.0 + 1.0


def column(name: str) -> nw.Expr:
    """A column of the frame."""
    return nw.col(name)


def hinge(value: nw.Expr, knot: float) -> nw.Expr:
    """(value − knot)₊."""
    return choose(value > knot, value - knot, 0.0)


def choose(condition: nw.Expr, yes: Any, no: Any) -> nw.Expr:
    """`yes` where the condition holds, else `no`."""
    return nw.when(condition).then(_double(yes)).otherwise(_double(no))


def _double(value: Any) -> Any:
    """A plain number as float64: an engine that reads it from text would take it for a decimal, whose products overflow."""
    return nw.lit(value, dtype=nw.Float64) if isinstance(value, float) else value


def _expectation(transform: Callable[[nw.Expr], nw.Expr], monotone: bool) -> Symbols:
    return Symbols(
        lambda y: [transform(y)],
        lambda g, y: transform(y) * -1.0 + g,
        lambda g, y: (transform(y) - g) * (transform(y) - g) / 2,
        constant=lambda y, origin: transform(y - origin) * transform(y - origin) / 2,
        monotone=monotone,
    )


def _quantile(tau: float) -> Symbols:
    return Symbols(
        lambda y: [y],
        lambda g, y: _side(g, y, 1 - tau, -tau),
        lambda g, y: choose(y > g, y - g, 0.0) + g * (1 - tau),
        best=lambda y: y * (1 - tau),
        constant=lambda y, origin: (1 - tau) * origin,
    )


def _expectile(tau: float) -> Symbols:
    return Symbols(
        lambda y: [y, y * y],
        lambda g, y: _side(g, y, 2 * (1 - tau), 2 * tau) * (g - y),
        lambda g, y: _side(g, y, 1 - tau, tau) * (g - y) * (g - y),
    )


def _huber(k: float) -> Symbols:
    def score(g: Any, y: Any) -> nw.Expr:
        u = (g - y).abs()
        return choose(u > k, (u - k / 2) * k, u * u / 2)

    return Symbols(lambda y: [y, y * y], lambda g, y: _clip(g - y, k), score)


def _lp_quantile(p: int, tau: float) -> Symbols:
    def identify(g: Any, y: Any) -> nw.Expr:
        u = g - y
        return _side(g, y, p * (1 - tau), p * tau * (-1) ** p) * power(u, p - 1)

    def score(g: Any, y: Any) -> nw.Expr:
        return _side(g, y, 1 - tau, tau) * power((g - y).abs(), p)

    return Symbols(lambda y: [power(y, k) for k in range(1, p + 1)], identify, score)


def _entropic(theta: float) -> Symbols:
    def grown(y: Any) -> Any:
        return (y * theta).exp() if isinstance(y, nw.Expr) else np.exp(theta * y)

    return Symbols(
        lambda y: [grown(y)],
        lambda g, y: (grown(g) - grown(y)) / theta,
        lambda g, y: grown(g) / theta**2 - grown(y) * g / theta,
        best=lambda y: grown(y) / theta**2 - y * grown(y) / theta,
    )


def _ratio(a: int, b: int) -> Symbols:
    def best(y: nw.Expr) -> nw.Expr:
        return power(y, a) * power(y, a) / power(y, b) * -0.5

    return Symbols(
        lambda y: [power(y, a), power(y, b)],
        lambda g, y: power(y, b) * g - power(y, a),
        lambda g, y: (power(y, b) * g / 2 - power(y, a)) * g,
        best=best,
        monotone=False,
        positive=lambda y: power(y, b),
    )


def _side(g: Any, y: Any, covered: float, missed: float) -> nw.Expr:
    return choose(y <= g, covered, missed)


def _clip(u: nw.Expr, k: float) -> nw.Expr:
    return choose(u > k, k, choose(u < -k, -k, u))
