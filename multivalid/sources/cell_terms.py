"""The terms whose sums over (level × group) make an audit's table, as expressions of an engine or as columns of rows that pass by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from multivalid.cells.gather import ChanceTerms
from multivalid.cells.sums import CellSums
from multivalid.properties.base import Array
from multivalid.sources.totals import Totals

if TYPE_CHECKING:
    from multivalid.properties.ops import Ops
    from multivalid.properties.target import Coordinate

FIELDS = ("rows", "weight", "squares", "residual", "residual_squares", "prediction", "score")


def chance_of(coordinate: Coordinate, totals: Totals) -> ChanceTerms:
    """What is known of V when predictions are right, and the units of its sums."""
    ends = [totals.least, totals.most, totals.lowest, totals.highest]
    largest = max((abs(end) for end in ends if math.isfinite(end)), default=1.0)
    mean_weight, said = totals.weight / max(totals.rows, 1), (totals.lowest, totals.highest)
    return ChanceTerms.of(coordinate, binary=totals.of_events, mean_weight=mean_weight, largest=largest, ends=said)


class CellTerms(NamedTuple):
    """Those of every cell (`FIELDS`), those that decide Γ where they do, and those of chance.

    One object is one sum, however often it occurs among them.
    """

    common: tuple[Any, ...]
    moments: tuple[Any, ...]
    luck: tuple[Any, ...]
    chance: ChanceTerms

    @classmethod
    def of(
        cls, coordinate: Coordinate, chance: ChanceTerms, ops: Ops, prediction: Any, label: Any, weight: Any, *, plain: bool
    ) -> CellTerms:
        """For columns of any kind; `plain` says that every weight is one, so that many of the sums are the same."""
        prop, y, p, w = coordinate.predicted, label, prediction, weight
        v, s = prop.residual(ops, p, y), prop.scoring(ops, p, y)

        def weighted(value: Any) -> Any:
            return value if plain else w * value

        wv = weighted(v)
        rows, squares = (w, w) if plain else (ops.number(w > 0), w * w)
        statistics = prop.statistics(ops, y) or []
        decided = prop.solve_moments(np.ones((1, 1 + len(statistics)))) is not None
        moments = (w, *(weighted(t) for t in statistics)) if decided else ()
        luck = chance.terms(ops, [p], y, w, v, plain)
        common = (rows, w, squares, wv, wv * wv, weighted(p), weighted(s))
        return cls(common, moments, tuple(luck[name] for name in chance.law.names), chance)

    @property
    def columns(self) -> list[Any]:
        """All of them."""
        return [*self.common, *self.moments, *self.luck]

    def sums(self, table: Array) -> CellSums:
        """The sums by name, from the table that was asked for: (levels, groups, terms)."""
        common, moments, luck = np.split(table, [len(self.common), len(self.common) + len(self.moments)], axis=2)
        named: dict[str, Any] = dict(zip(FIELDS, np.moveaxis(common, 2, 0), strict=True))
        made = CellSums(**named, moments=moments if self.moments else None)
        found = dict(zip(self.chance.law.names, np.moveaxis(luck, 2, 0), strict=True))
        return made.with_chance(self.chance.law, found, self.chance.mean_weight, self.chance.scale)
