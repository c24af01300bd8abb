"""Every property that the laws run over, with the labels it is tried on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import multivalid as mv
from multivalid.properties.base import Array, Property


def at_label(labels: Array) -> Array:
    """V breaks where the prediction passes the label."""
    return labels[:, None]


def nowhere(labels: Array) -> Array:
    return np.empty((labels.size, 0))


@dataclass(frozen=True)
class Case:
    """A property and where it is tried.

    `breaks` gives, per label, the predictions where V is not smooth. `agreement` is how closely S and V agree, relative to their
    size. `tight` says that the declared constants are attained, not only respected. `text` says that `repr` reads back.
    """

    prop: Property
    lo: float = 0.0
    hi: float = 1.0
    breaks: Callable[[Array], Array] = nowhere
    agreement: float = 1e-12
    tight: bool = True
    text: bool = True

    @property
    def name(self) -> str:
        return f"{self.prop!r} on [{self.lo:g}, {self.hi:g}]"

    @property
    def length(self) -> float:
        return self.hi - self.lo


def cube(labels: Array) -> Array:
    return np.asarray(labels**3)


def kinked_loss(excess: Array) -> Array:
    return np.where(excess > 0, 3.0 * excess, 0.5 * excess)


def lower_third(prediction: Array, label: Array) -> Array:
    return (label <= prediction) - 1 / 3


def two_jumps(prediction: Array, label: Array) -> Array:
    """Half the force at the label, half once the prediction is 0.1 past it."""
    return 0.5 * (label <= prediction) + 0.5 * (label + 0.1 <= prediction) - 0.4


def two_jumps_at(labels: Array) -> Array:
    return np.stack([labels, labels + 0.1], axis=1)


def skewed_square(prediction: Array, label: Array) -> Array:
    return (1.0 + label) * (prediction - label) ** 2 / 2


def skewed_pull(prediction: Array, label: Array) -> Array:
    return (1.0 + label) * (prediction - label)


def linex(prediction: Array, label: Array) -> Array:
    return np.expm1(prediction - label) - (prediction - label)


def huber_breaks(k: float) -> Callable[[Array], Array]:
    return lambda labels: np.stack([labels - k, labels + k], axis=1)


def shifted(case: Case) -> Case:
    """The same property in raw units that are not [0, 1]."""
    return replace(case, lo=-3.0, hi=7.0)


CATALOGUE = [
    Case(mv.Mean()),
    *(Case(mv.Quantile(tau), breaks=at_label) for tau in (0.1, 0.5, 0.9)),
    *(Case(mv.Expectile(tau), breaks=at_label) for tau in (0.1, 0.5, 0.8)),
    *(Case(mv.Huber(k), breaks=huber_breaks(k)) for k in (0.05, 0.3, 20.0)),
    *(Case(mv.LpQuantile(p, tau), breaks=at_label) for p in (1.5, 2.0, 3.0, 4.5) for tau in (0.3, 0.9)),
    *(Case(mv.Entropic(theta)) for theta in (0.7, -1.3)),
    Case(mv.Moment(2)),
    Case(mv.Moment(3, range=(-27.0, 343.0)), tight=False),
    Case(mv.EventProbability(-np.inf, 0.4)),
]
ONE_SCALE = [Case(mv.EventProbability(0.25, 0.75)), Case(mv.EventProbability(-1.5, 2.0), -3.0, 7.0)]
FROM_FUNCTIONS = [
    Case(mv.Moment(cube), text=False),
    Case(mv.Shortfall(np.expm1), tight=False, text=False),
    Case(mv.Shortfall(kinked_loss), breaks=at_label, text=False),
]
POSITIVE_LABELS = [
    Case(mv.GeometricMean(), 0.5, 4.0, tight=False),
    Case(mv.Ratio(2, 1), 0.5, 4.0, tight=False),
    Case(mv.Ratio(1, 0), 0.5, 4.0),
    Case(mv.Ratio(np.sqrt, np.exp), 0.5, 2.0, tight=False, text=False),
]
CUSTOM = [
    Case(mv.Property.from_identification(lower_third, name="third"), breaks=at_label, tight=False, text=False),
    Case(
        mv.Property.from_identification(two_jumps, range=(0.0, 1.1), labels=(0.0, 1.0), breakpoints=two_jumps_at),
        breaks=two_jumps_at, tight=False, text=False,
    ),
    Case(
        mv.Property.from_identification(skewed_pull, score=skewed_square, lipschitz=2.0, anti_lipschitz=1.0), tight=False, text=False
    ),
    # Its V is a numerical derivative, good to nine digits.
    Case(mv.Property.from_score(linex, range=(-1.0, 2.0), labels=(0.0, 1.0)), agreement=1e-7, tight=False, text=False),
]  # fmt: skip
REGISTRY = [
    *CATALOGUE,
    *ONE_SCALE,
    *map(shifted, CATALOGUE),
    *FROM_FUNCTIONS,
    *map(shifted, FROM_FUNCTIONS),
    *POSITIVE_LABELS,
    *CUSTOM,
]
