"""Bayes pairs: a property together with the smallest mean score it can reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.base import Array, Interval, Property
from multivalid.properties.expectile import Expectile
from multivalid.properties.ops import Ops
from multivalid.properties.pairs.base import Pair, PairFacts, target_facts
from multivalid.properties.pairs.sides import check_sides
from multivalid.properties.quantile import Quantile

PROBES = 257


@dataclass(frozen=True)
class BayesPair(Pair):
    """A property with its own Bayes risk min_γ E[S(γ, Y)]; the pseudo-label is the score of the first prediction.

    Notes
    -----
    V¹ = γ¹ − S(γ⁰, y). A wrong γ⁰ raises the mean of the pseudo-label by at most D·|mean V(γ⁰, ·)|, D the length of the range.
    `facts` reads the hull of the scores off a mesh of labels (at the two ends of the range, where a convex score is largest, and at
    the label's own best prediction, where it is smallest).

    Examples
    --------
    >>> from multivalid.properties.mean import Mean
    >>> BayesPair(Mean()).solve([0, 1])  # half the variance, as S = (γ − y)²/2
    (0.5, 0.125)
    """

    prop: Property

    def __post_init__(self) -> None:
        if not isinstance(self.prop, Property):
            raise InputError(f"prop must be a property with a score, such as Quantile(0.9), got {self.prop!r}.")

    @property
    def first(self) -> Property:
        return self.prop

    @property
    def names(self) -> tuple[str, str]:
        own = self.prop.spec or repr(self.prop)
        return own, f"risk of {own}"

    def pseudo_label(self, ops: Ops, first: Any, label: Any) -> Any:
        return self.prop.scoring(ops, first, label)

    def target(self, first: ArrayLike, label: ArrayLike) -> Array:
        return self.prop.score(first, label)  # a user's property may know arrays only

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> PairFacts:
        first = self.prop.facts(lo, hi)
        return target_facts(first, _score_hull(self.prop, lo, hi), first.bound, 1.0)

    @property
    def spec(self) -> str | None:
        return None if self.prop.spec is None else f"bayes:{self.prop.spec}"


def _score_hull(prop: Property, lo: float, hi: float) -> Interval:
    """Least and largest score over the range and the labels."""
    ends = prop.facts(lo, hi).range
    y = np.unique(np.append(np.linspace(lo, hi, PROBES), np.clip(0.0, lo, hi)))
    best = np.clip(prop.solve_segments(y, np.ones_like(y), np.arange(y.size)), *ends)
    scores = np.concatenate([prop.score(g, y) for g in (ends.lo, ends.hi, best)])
    return Interval(float(scores.min()), float(scores.max()))


@dataclass(frozen=True)
class QuantileCVaR(Pair):
    """The tau-quantile (value at risk) with CVaR (expected shortfall), the mean of the highest 1 − tau share of the labels.

    Notes
    -----
    target = γ⁰ + (y − γ⁰)₊/(1 − τ), the quantile's score divided by 1 − τ. With γ⁰ too low the target reaches
    lo + (hi − lo)/(1 − τ), far above every label: the grid of the second coordinate must go that far.

    References
    ----------
    Rockafellar & Uryasev (2000), Optimization of conditional value-at-risk, Journal of Risk 2.

    Examples
    --------
    >>> QuantileCVaR(0.5).solve([0, 1, 2, 3])
    (1.0, 2.5)
    >>> QuantileCVaR(0.75).facts(0, 10).second_range
    Interval(lo=0.0, hi=40.0)
    """

    tau: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", validate.fraction(self.tau, "tau"))

    @property
    def first(self) -> Property:
        return Quantile(self.tau)

    @property
    def names(self) -> tuple[str, str]:
        return f"quantile {self.tau:g}", f"CVaR {self.tau:g}"

    def pseudo_label(self, ops: Ops, first: Any, label: Any) -> Any:
        return first + ops.maximum(label - first, 0.0) / (1 - self.tau)

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> PairFacts:
        tail = 1 - self.tau
        hull = Interval(float(lo), float(lo + (hi - lo) / tail))
        return target_facts(self.first.facts(lo, hi), hull, max(1.0, self.tau / tail), 1 / tail)

    def of_returns(self) -> LowerQuantileCVaR:
        return LowerQuantileCVaR(self.tau)

    def check_sides(self, predictions: Array, labels: Array, most: float = 0.0) -> None:
        check_sides(labels, predictions[:, 0], predictions[:, 1], self.tau, losses=True, most=most)

    @property
    def spec(self) -> str:
        return f"quantile_cvar:{self.tau!r}"


@dataclass(frozen=True)
class LowerQuantileCVaR(Pair):
    """Value at risk with expected shortfall of returns: the (1 − tau)-quantile with the mean of the lowest 1 − tau share of the labels.

    `QuantileCVaR` turned round: what it says of losses −y, this says of returns y. tau is the confidence level for both.

    Notes
    -----
    target = γ⁰ − (γ⁰ − y)₊/(1 − τ), whose largest mean is at the quantile. With γ⁰ too high it reaches hi − (hi − lo)/(1 − τ).

    Examples
    --------
    >>> LowerQuantileCVaR(0.5).solve([0, 1, 2, 3])
    (1.0, 0.5)
    >>> QuantileCVaR(0.95).of_returns()
    LowerQuantileCVaR(tau=0.95)
    """

    tau: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", validate.fraction(self.tau, "tau"))

    @property
    def first(self) -> Property:
        return Quantile(1 - self.tau)

    @property
    def names(self) -> tuple[str, str]:
        return f"quantile {1 - self.tau:g}", f"CVaR {self.tau:g} of returns"

    @property
    def of_gains(self) -> bool:
        return True

    def pseudo_label(self, ops: Ops, first: Any, label: Any) -> Any:
        return first - ops.maximum(first - label, 0.0) / (1 - self.tau)

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> PairFacts:
        tail = 1 - self.tau
        hull = Interval(float(hi - (hi - lo) / tail), float(hi))
        return target_facts(self.first.facts(lo, hi), hull, max(1.0, self.tau / tail), 1 / tail)

    def of_returns(self) -> LowerQuantileCVaR:
        return self

    def check_sides(self, predictions: Array, labels: Array, most: float = 0.0) -> None:
        check_sides(-labels, -predictions[:, 0], -predictions[:, 1], self.tau, losses=False, most=most)

    @property
    def spec(self) -> str:
        return f"lower_quantile_cvar:{self.tau!r}"


@dataclass(frozen=True)
class QuantileSpectral(Pair):
    """The tau-quantile with share × CVaR + (1 − share) × mean.

    Examples
    --------
    >>> QuantileSpectral(0.5, 0.5).solve([0, 1], sample_weight=[3, 1])
    (0.0, 0.375)
    """

    tau: float
    share: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", validate.fraction(self.tau, "tau"))
        object.__setattr__(self, "share", validate.fraction(self.share, "share"))

    @property
    def first(self) -> Property:
        return Quantile(self.tau)

    @property
    def names(self) -> tuple[str, str]:
        return f"quantile {self.tau:g}", f"{self.share:g} CVaR {self.tau:g} + {1 - self.share:g} mean"

    def pseudo_label(self, ops: Ops, first: Any, label: Any) -> Any:
        return self.share * QuantileCVaR(self.tau).pseudo_label(ops, first, label) + (1 - self.share) * label

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> PairFacts:
        tail = 1 - self.tau
        hull = Interval(float(lo), float(lo + (hi - lo) * (self.share / tail + 1 - self.share)))
        slope = self.share * max(1.0, self.tau / tail)
        return target_facts(self.first.facts(lo, hi), hull, slope, self.share / tail)

    @property
    def spec(self) -> str:
        return f"quantile_spectral:{self.tau!r}:{self.share!r}"


@dataclass(frozen=True)
class ExpectileVariantile(Pair):
    """The tau-expectile with its variantile, the Bayes risk of the asymmetric square.

    Examples
    --------
    >>> first, second = ExpectileVariantile(0.8).solve([0, 1])
    >>> round(first, 12), round(second, 12)
    (0.8, 0.08)
    """

    tau: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", validate.fraction(self.tau, "tau"))

    @property
    def first(self) -> Property:
        return Expectile(self.tau)

    @property
    def names(self) -> tuple[str, str]:
        return f"expectile {self.tau:g}", f"variantile {self.tau:g}"

    def pseudo_label(self, ops: Ops, first: Any, label: Any) -> Any:
        return self.first.scoring(ops, first, label)

    def facts(self, lo: float = 0.0, hi: float = 1.0) -> PairFacts:
        most, length = max(self.tau, 1 - self.tau), hi - lo
        return target_facts(self.first.facts(lo, hi), Interval(0.0, most * length**2), 2 * most * length, 1.0)

    @property
    def spec(self) -> str:
        return f"expectile_variantile:{self.tau!r}"
