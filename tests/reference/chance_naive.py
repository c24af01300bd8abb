"""Slow and obvious: the exact law of a sum of unequal coins, intervals from every row's own chance, Holm by its definition."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import binom, gamma, norm


def coin_law(chances):
    """Probabilities of 0, 1, 2, … successes of independent coins."""
    law = np.array([1.0])
    for p in chances:
        law = np.append(law * (1 - p), 0.0) + np.append(0.0, law * p)
    return law


def mid_p(chances, seen):
    """Two-sided mid-p value of so many successes: the outcome itself counts half."""
    law = coin_law(chances)
    below, at = law[:seen].sum(), law[seen]
    return min(1.0, 2 * min(below + at / 2, 1 - below - at / 2))


def binomial_mid_p(coins, chance, seen):
    """The same for coins that are alike."""
    exactly = binom.pmf(seen, coins, chance)
    return min(1.0, 2 * min(binom.cdf(seen - 1, coins, chance) + exactly / 2, binom.sf(seen, coins, chance) + exactly / 2))


def pearson_upper(z, skewness):
    """Pr[Z > z] of the standardised gamma law, from its definition."""
    if abs(skewness) < 1e-6:
        return norm.sf(z)
    shape = 4 / skewness**2
    if skewness > 0:
        return gamma.sf(shape + z * np.sqrt(shape), shape)
    return gamma.cdf(shape - z * np.sqrt(shape), shape)


def tilt_interval(weights, chances, hits, level):
    """Limits of Σu(p(θ) − p)/Σu, with every row's own chance."""
    seen = weights @ (hits - chances)

    def tail(theta, upper):
        p = expit(logit(chances) + theta)
        shift = weights @ (p - chances)
        variance = weights**2 @ (p * (1 - p))
        skewness = weights**3 @ (p * (1 - p) * (1 - 2 * p)) / variance**1.5
        above = pearson_upper((seen - shift) / np.sqrt(variance), skewness)
        return (1 - above if upper else above) - level

    ends = []
    for upper in (False, True):
        theta = brentq(tail, -12, 12, args=(upper,), xtol=1e-13)
        ends.append(weights @ (expit(logit(chances) + theta) - chances) / weights.sum())
    return ends


def holm(p_values, tests):
    """Step by step from the smallest; nan is passed over, `tests` is the number that counts."""
    out, worst = [np.nan] * len(p_values), 0.0
    for step, i in enumerate(sorted((i for i, p in enumerate(p_values) if p == p), key=lambda i: p_values[i])):
        worst = max(worst, min(1.0, (tests - step) * p_values[i]))
        out[i] = worst
    return np.array(out)
