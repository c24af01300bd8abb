"""Every law over every property, and wrong properties that the laws must catch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import PropertyError
from multivalid.properties.base import Array, Facts, Pieces, Property

from . import fact_laws, laws
from .registry import CATALOGUE, REGISTRY, Case, at_label

LAWS = [
    laws.zero_at_value, laws.oriented, laws.monotone, laws.score_is_integral, laws.score_has_slope_v, laws.consistent,
    laws.order_sensitive, laws.ties_and_edges, laws.weight_is_repetition, laws.weights_matter, laws.scalar_is_vector,
    fact_laws.bound_holds, fact_laws.lipschitz_holds, fact_laws.anti_lipschitz_holds, fact_laws.pieces_reproduce,
    fact_laws.shift_as_declared, fact_laws.travels,
]  # fmt: skip


@pytest.mark.parametrize("case", REGISTRY, ids=lambda case: case.name)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law(law, case):
    law(case)


def test_the_registry_holds_every_property():
    public = {kind for kind in vars(mv).values() if isinstance(kind, type) and issubclass(kind, Property) and kind is not Property}
    assert public == {type(case.prop) for case in REGISTRY} & public
    assert len(public) == 11
    assert len({case.prop for case in CATALOGUE}) == len(CATALOGUE)


# ---- wrong properties: each is a small change to a right one, and some law must notice ------------------------------------
class Negated(mv.Quantile):
    """V with the wrong sign."""

    def identify(self, prediction, label):
        return -super().identify(prediction, label)


class VarianceBySquares(mv.Mean):
    """The variance, scored as if it were a mean."""

    def solve_segments(self, labels, weights, starts):
        mean = super().solve_segments(labels, weights, starts)
        return super().solve_segments((labels - np.repeat(mean, np.diff(np.append(starts, labels.size)))) ** 2, weights, starts)


class Falling(mv.Mean):
    """V that dips in the middle of the range, with the score that belongs to it."""

    def identify(self, prediction, label):
        g = np.asarray(prediction, dtype=float)
        return super().identify(g, label) - 0.4 * np.sin(6 * np.pi * g) * np.ones_like(label)


class Unweighted(mv.Mean):
    def solve_segments(self, labels, weights, starts):
        return super().solve_segments(labels, np.ones_like(weights), starts)


class LeftClosed(mv.Quantile):
    """Counts a label on the prediction as not covered, in V only."""

    def identify(self, prediction, label):
        return np.where(np.asarray(label) < np.asarray(prediction), 1 - self.tau, -self.tau) * 1.0


class TooLipschitz(mv.Expectile):
    def facts(self, lo=0.0, hi=1.0) -> Facts:
        return replace(super().facts(lo, hi), lipschitz=1.0)


class TooAntiLipschitz(mv.Expectile):
    def facts(self, lo=0.0, hi=1.0) -> Facts:
        return replace(super().facts(lo, hi), anti_lipschitz=0.6)


class WrongUnits(mv.Mean):
    """Constants for [0, 1] whatever the labels."""

    def facts(self, lo=0.0, hi=1.0) -> Facts:
        return replace(super().facts(lo, hi), bound=1.0, span=0.5)


class WrongScore(mv.Expectile):
    def score(self, prediction, label):
        return np.abs(np.asarray(super().score(prediction, label))) ** 1.5


class WrongPieces(mv.Expectile):
    def pieces(self, points: Array) -> Pieces:
        right = super().pieces(points)
        return right._replace(score=right.score[::-1])


@dataclass(frozen=True)
class Forgetful(mv.Quantile):
    """A parameter that copies lose from the text."""

    def __repr__(self) -> str:
        return "Quantile(tau=0.5)"


class ClaimsShift(mv.Entropic):
    @property
    def shift_invariant(self) -> bool:
        return True


WRONG = [
    (Case(Negated(0.3), breaks=at_label), laws.oriented),
    (Case(Negated(0.3), breaks=at_label), laws.monotone),
    (Case(Negated(0.3), breaks=at_label), laws.score_is_integral),
    (Case(VarianceBySquares()), laws.consistent),
    (Case(VarianceBySquares()), laws.zero_at_value),
    (Case(VarianceBySquares()), laws.order_sensitive),
    (Case(Falling()), laws.monotone),
    (Case(Falling()), laws.score_has_slope_v),
    (Case(Unweighted()), laws.weight_is_repetition),
    (Case(Unweighted()), laws.weights_matter),
    (Case(LeftClosed(0.3), breaks=at_label), fact_laws.pieces_reproduce),
    (Case(TooLipschitz(0.8), breaks=at_label), fact_laws.lipschitz_holds),
    (Case(TooAntiLipschitz(0.8), breaks=at_label), fact_laws.anti_lipschitz_holds),
    (Case(WrongUnits(), -3, 7), fact_laws.bound_holds),
    (Case(WrongScore(0.8), breaks=at_label), laws.score_is_integral),
    (Case(WrongScore(0.8), breaks=at_label), laws.score_has_slope_v),
    (Case(WrongPieces(0.8), breaks=at_label), fact_laws.pieces_reproduce),
    (Case(Forgetful(0.3), breaks=at_label), fact_laws.travels),
    (Case(ClaimsShift(0.7)), fact_laws.shift_as_declared),
]


@pytest.mark.parametrize(("case", "law"), WRONG, ids=lambda x: type(x.prop).__name__ if isinstance(x, Case) else x.__name__)
def test_a_wrong_property_is_caught(case, law):
    with pytest.raises(AssertionError):
        law(case)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Property.from_identification(lambda g, y: y - g), "wrong orientation.*Change its sign"),
        (lambda: Property.from_identification(lambda g, y: 0.2 - (y <= g)), "wrong orientation"),
        (
            lambda: Property.from_identification(lambda g, y: g - y - 0.4 * np.sin(20 * g)),
            r"not monotone.*at prediction \d+.* for label \d+",
        ),
        (lambda: Property.from_identification(lambda g, y: 0 * g + y - 0.5), "constant"),
        (lambda: Property.from_identification(lambda g, y: g + 1 + y), "wrong range.*give range="),
        (lambda: Property.from_identification(lambda g, y: g - y, score=lambda g, y: (g - y) ** 2), "disagree"),
        (lambda: Property.from_score(lambda g, y: -((g - y) ** 2)), "wrong orientation"),
        (lambda: Property.from_score(lambda g, y: np.cos(9 * (g - y))), "not monotone"),
        (lambda: Property.from_identification(lambda g, y: np.log(g) - y), "must be finite"),
        (lambda: Property.from_identification(lambda g: g), "raised TypeError"),
        (lambda: mv.Shortfall(lambda x: x + 1), r"loss\(0\) must be 0"),
        (lambda: mv.Shortfall(lambda x: -x), "must increase"),
    ],
)
def test_construction_says_which_law_fails(build, message):
    with pytest.raises(PropertyError, match=message):
        build()
