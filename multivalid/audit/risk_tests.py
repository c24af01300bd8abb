"""The tests of a backtest, for one group: how often the value at risk is exceeded, in which order, and by how much.

X = (loss − VaR)/(ES − VaR) of a loss beyond VaR has mean 1 when both forecasts are right. Exceedances come in tens, so the law of their
t statistic matters: see `severity_law`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from multivalid.audit.severity_law import severity_tails
from multivalid.cells.clusters import FEWEST
from multivalid.cells.pearson import lower_tail, upper_tail
from multivalid.properties.base import Array

Tails = tuple[float, float]  # of few or small, of many or large
UNKNOWN: Tails = (float("nan"), float("nan"))


@dataclass(frozen=True)
class Dependence:
    """How rows share their luck: whole clusters (numbers from 0), neighbours in time (`lags`), or not at all."""

    cluster: NDArray[np.intp] | None = None
    lags: int = 0

    def of(self, inside: NDArray[np.bool_]) -> Dependence:
        """The same for some of the rows."""
        return self if self.cluster is None else Dependence(self.cluster[inside], self.lags)

    def stretch(self, terms: Array) -> float:
        """How many times the variance of independent terms their sum has, at least 1."""
        alone = float(terms @ terms)
        if alone <= 0:
            return 1.0
        if self.cluster is not None:
            together = np.bincount(self.cluster, weights=terms)
            return max(1.0, float(together @ together) / alone)
        lags = min(self.lags, terms.size - 1)
        extra = sum((1 - k / (lags + 1)) * float(terms[k:] @ terms[:-k]) for k in range(1, lags + 1))
        return max(1.0, 1 + 2 * extra / alone)

    def freedom(self, weights: Array) -> float:
        """Degrees of freedom of a t: clusters of equal weight that would tell as much, less one."""
        if self.cluster is None:
            return float("inf")
        sizes = np.bincount(self.cluster, weights=weights)
        return float(sizes.sum() ** 2 / max(sizes @ sizes, 1e-300)) - 1


@dataclass(frozen=True)
class Outcomes:
    """The rows of a group: whether each outcome lies beyond its VaR, whether it equals it, and its weight.

    Where many outcomes are equal (no claim at all), fewer than a share 1 − τ may lie beyond the right VaR; some of those that equal it
    then belong to the tail, and how many do is nobody's mistake.
    """

    exceeded: NDArray[np.bool_]
    tied: NDArray[np.bool_]
    weights: Array
    tau: float

    @property
    def expected(self) -> float:
        """Weight that the tail should have."""
        return (1 - self.tau) * float(self.weights.sum())

    @property
    def beyond(self) -> float:
        """Weight of the outcomes beyond VaR."""
        return float(self.weights @ self.exceeded)

    @property
    def equal(self) -> float:
        """Weight of the outcomes that equal VaR."""
        return float(self.weights @ self.tied)

    @property
    def tail(self) -> float:
        """Weight of the tail: as near to what is expected as ties allow."""
        return min(max(self.beyond, self.expected), self.beyond + self.equal)


def frequency_tails(rows: Outcomes, dependence: Dependence) -> Tails:
    """Probability of so few and of so many exceedances: binomial mid-p values; by moments with weights or dependence.

    Outcomes equal to VaR count among the few, not among the many.
    """
    weights, tau = rows.weights, rows.tau
    if weights.size == 0:
        return UNKNOWN
    counts = rows.exceeded | rows.tied, rows.exceeded
    if dependence.cluster is not None or dependence.lags:
        few, many = (_dependent_tails(weights * (hit - (1 - tau)), weights, tau, dependence) for hit in counts)
    elif np.all(weights == weights[0]):
        few, many = (_binomial_tails(int(hit.sum()), weights.size, 1 - tau) for hit in counts)
    else:
        few, many = (_moment_tails(float(weights @ (hit - (1 - tau))), weights, tau) for hit in counts)
    return few[0], many[1]


def _moment_tails(total: float, weights: Array, tau: float) -> Tails:
    variance = tau * (1 - tau) * float(weights @ weights)
    skewness = tau * (1 - tau) * (2 * tau - 1) * float((weights**3).sum()) / variance**1.5
    z = total / sqrt(variance)
    return float(lower_tail(z, skewness)), float(upper_tail(z, skewness))


def _binomial_tails(count: int, rows: int, chance: float) -> Tails:
    from scipy.special import bdtr, bdtrc, betaln

    fewer = float(bdtr(count - 1, rows, chance)) if count else 0.0
    exactly = np.exp(count * log(chance) + (rows - count) * log(1 - chance) - log(rows + 1) - betaln(rows - count + 1, count + 1))
    return fewer + float(exactly) / 2, float(bdtrc(count, rows, chance)) + float(exactly) / 2


def _dependent_tails(terms: Array, weights: Array, tau: float, dependence: Dependence) -> Tails:
    from scipy.special import stdtr

    freedom = dependence.freedom(weights)
    if freedom < FEWEST - 1:
        return UNKNOWN
    alone = tau * (1 - tau) * float(weights @ weights)
    z = float(terms.sum()) / sqrt(max(alone, dependence.stretch(terms) * float(terms @ terms)))
    return float(stdtr(min(freedom, 1e9), z)), float(stdtr(min(freedom, 1e9), -z))


@dataclass(frozen=True)
class Severity:
    """How large losses beyond VaR are: their mean in units of ES − VaR (1 is right), tails, and the relative error that is found."""

    mean: float
    tails: Tails
    spread: float  # standard error of the mean


def severity(excess: Array, rows: Outcomes, dependence: Dependence) -> Severity:
    """From X of every row (0 where VaR is not exceeded); nan for fewer than two exceedances.

    The mean is over the tail. Where ties fill it up, X of the tail adds up to what is expected only on average, so the number of
    exceedances adds its own noise, as far as ties make up for it.
    """
    weights = rows.weights[rows.exceeded]
    if weights.size == 0:
        return Severity(float("nan"), UNKNOWN, float("nan"))
    tail, ratio = rows.tail, excess[rows.exceeded]
    mean = float(weights @ ratio / tail)
    total, squares = weights.sum(), float(weights @ weights)
    effective = float(total**2 / squares)
    if effective < 2 - 1e-9 or dependence.of(rows.exceeded).freedom(weights) < 1:
        return Severity(mean, UNKNOWN, float("nan"))
    if not np.isfinite(mean):  # an ES equal to its VaR says that no loss goes beyond
        return Severity(mean, (1.0, 0.0), float("inf"))
    own = float(weights @ ratio / total)
    terms = weights * (ratio - own)
    counted = own**2 * min(squares * (1 - total / rows.weights.sum()), rows.equal**2 / 4)
    variance = (float(terms @ terms) * effective / (effective - 1) + counted) / tail**2
    spread = sqrt(variance * _severity_stretch(excess, rows, dependence))
    if spread <= 0:
        return Severity(mean, UNKNOWN, float("nan"))
    return Severity(mean, severity_tails((mean - 1) / spread, effective), spread)


def _severity_stretch(excess: Array, rows: Outcomes, dependence: Dependence) -> float:
    """Of the sum of X − 1 over the exceedances; of X − (1 − τ) over all rows where ties fill the tail up."""
    if rows.tail > rows.beyond:
        return dependence.stretch(rows.weights * (excess - (1 - rows.tau)))
    return dependence.of(rows.exceeded).stretch((rows.weights * (excess - 1))[rows.exceeded])


def by_name(rows: Outcomes) -> tuple[tuple[float, float], tuple[float, float]]:
    """Kupiec's and Christoffersen's tests of a group, for rows that count alike.

    Where ties fill the tail up, Kupiec's takes as many of them as it needs; which days they would be is open, so Christoffersen's is nan.
    """
    alike = Outcomes(rows.exceeded, rows.tied, np.ones(rows.weights.size), rows.tau)
    if alike.tail > alike.beyond:
        return kupiec(alike.tail, alike.weights.size, rows.tau), UNKNOWN
    return kupiec(alike.beyond, alike.weights.size, rows.tau), christoffersen(rows.exceeded, rows.tau)


def kupiec(exceedances: float, rows: int, tau: float) -> tuple[float, float]:
    """Kupiec's proportion of failures: likelihood ratio and its p-value (χ², one degree of freedom).

    Examples
    --------
    >>> statistic, p = kupiec(10, 250, 0.99)
    >>> round(statistic, 2), round(p, 4)
    (12.96, 0.0003)
    """
    from scipy.special import gammaincc

    if rows == 0:
        return float("nan"), float("nan")
    statistic = 2 * (_likelihood(exceedances, rows, exceedances / rows) - _likelihood(exceedances, rows, 1 - tau))
    return statistic, float(gammaincc(0.5, max(statistic, 0.0) / 2))


def christoffersen(exceeded: NDArray[np.bool_], tau: float) -> tuple[float, float]:
    """Christoffersen's conditional coverage: frequency and independence of consecutive days together (χ², two degrees of freedom).

    Rows must be in order of time.

    Examples
    --------
    >>> days = np.zeros(250, dtype=bool)
    >>> days[100:105] = True  # five in a row
    >>> statistic, p = christoffersen(days, 0.98)
    >>> round(statistic, 1), p < 1e-4
    (31.0, True)
    """
    from scipy.special import gammaincc

    if exceeded.size < 2:
        return float("nan"), float("nan")
    before, after = exceeded[:-1], exceeded[1:]
    quiet, loud = int((~before).sum()), int(before.sum())
    one, two = int((~before & after).sum()), int((before & after).sum())
    apart = _likelihood(one, quiet, one / max(quiet, 1)) + _likelihood(two, loud, two / max(loud, 1))
    statistic = 2 * (apart - _likelihood(one + two, quiet + loud, 1 - tau))
    return statistic, float(gammaincc(1.0, max(statistic, 0.0) / 2))


def _likelihood(events: float, rows: int, chance: float) -> float:
    """Log-likelihood of so many events; 0·log 0 is 0."""
    return (events * log(chance) if events else 0.0) + ((rows - events) * log(1 - chance) if rows > events else 0.0)
