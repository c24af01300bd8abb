"""Which cell moves next, where to, and when to stop: the theorem's rule and the printed one.

A cell has mass p and mean identification v. A rule gives each cell of a level a priority (negative: leave it alone), and for the
chosen cell a destination, or none when the cell cannot be improved (it is then *blocked*).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from multivalid.properties.base import Array


class Curves(Protocol):
    """What a rule asks of a cell: its share of the weight, and its mean V and S at every level."""

    @property
    def weight(self) -> float: ...

    @property
    def identify(self) -> Array: ...

    @property
    def score(self) -> Array: ...


class Rule(Protocol):
    """When to stop, what to move, and where."""

    def priority(self, mass: Array, identification: Array) -> Array:
        """Larger is more urgent, negative is never; identification is p·v."""

    def satisfied(self, mass: Array, identification: Array) -> bool:
        """Whether the whole table already meets the goal."""

    def destination(self, cell: Curves, level: int) -> int | None:
        """Level to move to; None when no level is better."""


def violation(mass: Array, identification: Array) -> Array:
    """p·v² of each cell, 0 where it is empty."""
    # Where there is no mass there is no identification either: any divisor will do.
    return np.asarray(identification * identification / (mass + (mass <= 0)))


def worst_error(mass: Array, identification: Array) -> float:
    """The largest error of any group: Σ p·v² over its levels."""
    return float(violation(mass, identification).sum(axis=0).max())


def nearest_minimum(values: Array, level: int, scale: float) -> int:
    """Index of the smallest value; among values equal up to rounding, the one nearest to `level`, then the lower."""
    ties = (values <= values.min() + 1e-12 * scale).nonzero()[0]
    return int(ties[0] if ties.size == 1 else ties[np.argmin(np.abs(ties - level))])


def spread_of(values: Array) -> float:
    """Largest minus smallest value."""
    return float(values.max() - values.min())


@dataclass(frozen=True)
class TheoremRule:
    """Move cells with p·v² ≥ threshold and |v| > reach to the level of least score, if that lowers the mean score by `least_drop`.

    With reach = 2Lg and least_drop = threshold/(4L) every update lowers the potential by least_drop, whatever the labels; where V
    rises by at most Lg between neighbouring levels no cell is ever blocked.
    """

    threshold: float
    reach: float
    least_drop: float

    def priority(self, mass: Array, identification: Array) -> Array:
        size = violation(mass, identification)
        return np.where((size >= self.threshold) & (np.abs(identification) > self.reach * mass), size, -1.0)

    def satisfied(self, mass: Array, identification: Array) -> bool:
        return False  # the priorities say it all

    def destination(self, cell: Curves, level: int) -> int | None:
        # Rounding of sums must not make a drop of exactly least_drop look short of it.
        least = self.least_drop * (1 - 1e-9)
        if cell.weight * (cell.score[level] - cell.score.min()) < least:
            return None
        to = nearest_minimum(cell.score, level, spread_of(cell.score))
        return to if to != level and cell.weight * (cell.score[level] - cell.score[to]) >= least else None


@dataclass(frozen=True)
class PrintedRule:
    """While some group's error exceeds alpha, move the cell of largest p·v² to the level of least |V|.

    The printed text breaks ties in |V| anyhow; here the lower score decides, then nearness. Where the destination is the cell's own
    level, or would not lower the potential, the printed loop can repeat for ever: the cell is blocked instead.
    """

    alpha: float

    def priority(self, mass: Array, identification: Array) -> Array:
        return np.where(mass > 0, violation(mass, identification), -1.0)

    def satisfied(self, mass: Array, identification: Array) -> bool:
        return worst_error(mass, identification) <= self.alpha

    def destination(self, cell: Curves, level: int) -> int | None:
        size = np.abs(cell.identify)
        ties = size <= size.min() + 1e-12 * size.max()
        spread = spread_of(cell.score)
        to = nearest_minimum(np.where(ties, cell.score, np.inf), level, spread)
        # A drop that rounding could have made does not count: a loop of such drops need not end.
        return to if to != level and cell.score[level] - cell.score[to] > 1e-12 * spread else None
