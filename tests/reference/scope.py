"""Slow and obvious: functionals of a law {value: probability} in exact rational arithmetic."""

from fractions import Fraction
from itertools import pairwise


def mix(first, second, weight):
    law = {}
    for part, share in ((first, weight), (second, 1 - weight)):
        for value, probability in part.items():
            law[value] = law.get(value, Fraction(0)) + share * probability
    return {value: probability for value, probability in law.items() if probability}


def mean(law):
    return sum(value * probability for value, probability in law.items())


def central_moment(law, power):
    centre = mean(law)
    return sum((value - centre) ** power * probability for value, probability in law.items())


def gini(law):
    return sum(abs(a - b) * p * q for a, p in law.items() for b, q in law.items())


def quantile(law, level):
    total = Fraction(0)
    for value in sorted(law):
        total += law[value]
        if total >= level:
            return value
    raise AssertionError


def cvar(law, level):
    """Least mean of γ + (y − γ)₊/(1 − level): reached at one of the labels."""
    return min(sum((g + max(value - g, 0) / (1 - level)) * probability for value, probability in law.items()) for g in law)


def distortion(law, h):
    """Σ of label × increment of h along the survival function."""
    total, above = Fraction(0), Fraction(0)
    for value in sorted(law, reverse=True):
        total += value * (h(above + law[value]) - h(above))
        above += law[value]
    return total


def expectile(law, level):
    """The zero of the piecewise linear balance of excess and shortfall, found piece by piece."""
    values = sorted(law)
    if len(values) == 1:
        return values[0]
    for low, high in pairwise(values):
        sides = {value: (1 - level if value <= low else level) * probability for value, probability in law.items()}
        zero = sum(value * side for value, side in sides.items()) / sum(sides.values())
        if low <= zero <= high:
            return zero
    raise AssertionError


def variantile(law, level):
    at = expectile(law, level)
    return sum((1 - level if value <= at else level) * (value - at) ** 2 * p for value, p in law.items())
