"""What rows say of every (place × group), as sums with names: they merge by addition, whoever made them.

V is the residual of a coordinate of the target (for a mean, prediction − outcome), w the weight of a row, S its score. A place is a
level of the predictions, or a combination of levels where several coordinates are conditioned on together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from multivalid.cells.terms import Law
from multivalid.properties.base import Array


@dataclass(frozen=True)
class CellSums:
    """Sums of one coordinate, arrays of shape (places, groups); group 0 is the population. Rows without weight count nowhere.

    Attributes
    ----------
    rows : number of rows
    weight, squares : Σw, Σw²
    residual, residual_squares : ΣwV, Σ(wV)²
    prediction : Σw·prediction
    score : ΣwS where it costs no pass of its own, else None
    moments : Σw·t_k(y), shape (places, groups, K), t_0 = 1; None where Γ does not follow from them
    chance : the sums that tests, intervals and limits need, by name (see `terms`), in relative weights and units of `scale`
    law, scale : what is known of V when predictions are right, and the unit of V in `chance`

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> both = CellSums(one, one, one, -one, one, one) + CellSums(one, one, one, one, one, one)
    >>> both.rows, both.residual
    (array([[2.]]), array([[0.]]))
    """

    rows: Array
    weight: Array
    squares: Array
    residual: Array
    residual_squares: Array
    prediction: Array
    score: Array | None = None
    moments: Array | None = None
    chance: Mapping[str, Array] | None = None
    law: Law | None = None
    scale: float = 1.0

    def __add__(self, other: CellSums) -> CellSums:
        """The sums of both sets of rows; `chance` is dropped, as its units are those of one set."""
        both: dict[str, Any] = {name: _both(mine, getattr(other, name)) for name, mine in self._named()}
        return CellSums(**both)

    def along(self, shape: tuple[int, ...], axis: int) -> CellSums:
        """For places that are combinations of levels (`shape`): the sums by the level of one coordinate."""
        if len(shape) == 1:
            return self
        others = tuple(k for k in range(len(shape)) if k != axis)

        def kept(table: Array) -> Array:
            return np.asarray(table.reshape(*shape, *table.shape[1:]).sum(axis=others))

        made: dict[str, Any] = {name: None if mine is None else kept(mine) for name, mine in self._named()}
        chance = None if self.chance is None else {name: kept(table) for name, table in self.chance.items()}
        return CellSums(**made, chance=chance, law=self.law, scale=self.scale)

    def with_chance(self, law: Law, found: dict[str, Array], mean_weight: float, scale: float) -> CellSums:
        """The same with the sums of a law; those that every law shares are these sums in relative weights."""
        common = {
            "rows": self.rows,
            "weight": self.weight / mean_weight,
            "weight2": self.squares / mean_weight / mean_weight,
            "v": self.residual / mean_weight / scale,
            "prediction": self.prediction / mean_weight,
        }
        return replace(self, chance=law.complete(common | found), law=law, scale=scale)

    def _named(self) -> list[tuple[str, Any]]:
        return [(field.name, getattr(self, field.name)) for field in fields(self) if field.name not in ("chance", "law", "scale")]


def _both(mine: Array | None, other: Array | None) -> Array | None:
    return None if mine is None or other is None else np.asarray(mine + other)
