"""What is summed over the rows of every (level, group): everything said about chance follows from these sums.

All of them add up, so a cell of two batches, partitions or engines is the sum of the parts. They are written once, for NumPy columns and
for an engine's expressions alike: a term uses + − * / and comparisons only. Weights w are relative (mean 1 over all rows) and V is
divided by a scale common to all rows, so that fourth powers stay within float64 whatever the units of labels and weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

Term = Any  # a NumPy column or an engine's expression

AS_NUMBER = partial(np.asarray, dtype=np.float64)  # of conditions on arrays
COMMON = ("rows", "weight", "weight2", "v", "prediction")


@dataclass(frozen=True)
class Row:
    """One row, or all rows as columns: relative weight, V, prediction, and the two values that V can take where there are only two."""

    weight: Term
    v: Term
    prediction: Term
    low: Term = None
    high: Term = None
    tied: Term = None  # whether label and prediction are equal, for V that jumps there
    plain: bool = False  # all weights are 1 and V's two values differ by 1: powers of u are then one and the same column
    as_number: Callable[[Any], Any] = AS_NUMBER  # from a condition to 0 and 1


class Law(ABC):
    """What is known of V when predictions are right."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The sums needed besides `COMMON`."""

    @abstractmethod
    def terms(self, row: Row) -> dict[str, Term]:
        """The terms of those sums."""

    def complete(self, sums: dict[str, Any]) -> dict[str, Any]:
        """What follows from the sums taken, beside them."""
        return sums

    def all_terms(self, row: Row) -> dict[str, Term]:
        """The terms of every sum, by name."""
        w = row.weight
        common = {
            "rows": w if row.plain else row.as_number(w > 0),
            "weight": w,
            "weight2": w if row.plain else w * w,
            "v": w * row.v,
            "prediction": w * row.prediction,
        }
        return common | self.terms(row)


@dataclass(frozen=True)
class TwoValued(Law):
    """Given the prediction V has two values, low ≤ 0 ≤ high; its mean is 0, so it is high with probability p = −low/(high − low).

    So it is for the probability of an event (labels 0 and 1, p = 1 − prediction). With u = w·(high − low): wV = u·(b − p), b the
    indicator of the high value, and q = p(1 − p) is the variance of b.

    `jumps` says whether V jumps where label and prediction are equal; such ties may be counted on either side. `outside` says whether
    predictions may lie outside the range of their labels, where V cannot average to 0.
    """

    jumps: bool = False
    outside: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Σu, Σu², Σu³, Σu⁴, Σu(1−p), Σuq, Σuq(1−2p), Σu²q, Σu³q(1−2p), Σu⁴q, Σu⁴q², what ties carry, and S whatever happens."""
        more = (*(("tied",) if self.jumps else ()), *(("beyond",) if self.outside else ()))
        return ("u", "u2", "u3", "u4", "ur", "uq", "ut", "u2q", "u3t", "u4q", "u4qq", *more)

    def terms(self, row: Row) -> dict[str, Term]:
        """The terms of `names`, for a row with `low` and `high`."""
        # A prediction outside the range of its labels leaves no room for chance: p is then 0 or 1, and what it says too much or too
        # little is part of S whatever happens.
        low, high = row.low * row.as_number(row.low < 0), row.high * row.as_number(row.high > 0)
        p, rest = (
            -low / (high - low),
            high / (high - low),
        )  # both from themselves: 1 − p of a probability of 1e-15 has no digits left
        q = p * rest
        t = q * (rest - p)
        u, u2, u3, u4 = powers(row)
        uq, ut = u * q, u * t
        made = {"u": u, "u2": u2, "u3": u3, "u4": u4, "ur": row.high if row.plain else row.weight * row.high, "uq": uq, "ut": ut}
        made |= {"u2q": uq, "u3t": ut, "u4q": uq} if row.plain else {"u2q": u2 * q, "u3t": u3 * t, "u4q": u4 * q}
        made["u4qq"] = u4 * q * q
        if self.jumps:
            made["tied"] = u * row.as_number(row.tied)
        if self.outside:
            made["beyond"] = row.weight * ((row.low - low) + (row.high - high))
            made["ur"] = made["ur"] - made["beyond"]
        return made

    def complete(self, sums: dict[str, Any]) -> dict[str, Any]:
        """With what follows where no prediction lies outside."""
        return {"beyond": 0.0 * sums["u"]} | sums


@dataclass(frozen=True)
class Coverage(TwoValued):
    """Two values with one and the same probability in every row: a quantile covers with p = τ, whatever the law of the labels.

    V jumps where label and prediction are equal.
    """

    jumps: bool = True
    chance: float = 0.5

    @property
    def names(self) -> tuple[str, ...]:
        """Σu, Σu², Σu³, Σu⁴ and what ties carry: the rest follows."""
        return ("u", "u2", "u3", "u4", "tied")

    def terms(self, row: Row) -> dict[str, Term]:
        """The terms of `names`."""
        u, u2, u3, u4 = powers(row)
        return {"u": u, "u2": u2, "u3": u3, "u4": u4, "tied": u * row.as_number(row.tied)}

    def complete(self, sums: dict[str, Any]) -> dict[str, Any]:
        """The sums of any two-valued V."""
        q = self.chance * (1 - self.chance)
        t = q * (1 - 2 * self.chance)
        factors = {"ur": ("u", 1 - self.chance), "uq": ("u", q), "ut": ("u", t), "u2q": ("u2", q), "u3t": ("u3", t)}
        factors |= {"u4q": ("u4", q), "u4qq": ("u4", q * q)}
        return super().complete(sums | {name: sums[power] * factor for name, (power, factor) in factors.items()})


def powers(row: Row) -> tuple[Term, Term, Term, Term]:
    """u to the first four powers; one and the same column where it is 1 everywhere."""
    if row.plain:
        return row.weight, row.weight, row.weight, row.weight
    u = row.weight * (row.high - row.low)
    return u, u * u, u * u * u, u * u * u * u


@dataclass(frozen=True)
class Residual(Law):
    """V may have any law with mean 0; its spread is learned from the rows. With x = wV."""

    @property
    def names(self) -> tuple[str, ...]:
        """Σx², Σx³, Σx⁴, Σw²V, and how many rows have V above and below 0."""
        return ("x2", "x3", "x4", "w2v", "above", "below")

    def terms(self, row: Row) -> dict[str, Term]:
        """The terms of `names`."""
        x = row.weight * row.v
        x2 = x * x
        return {
            "x2": x2, "x3": x2 * x, "x4": x2 * x2, "w2v": row.weight * x,
            "above": row.as_number(x > 0), "below": row.as_number(x < 0),
        }  # fmt: skip
