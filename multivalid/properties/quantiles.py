"""Several quantiles at once, which must not cross."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from multivalid import validate
from multivalid.errors import InputError
from multivalid.properties.base import Array, Property
from multivalid.properties.ops import Ops
from multivalid.properties.quantile import Quantile
from multivalid.properties.scale import check_size
from multivalid.properties.target import Keep, OwnColumn, Target, as_it_is


@dataclass(frozen=True, init=False)
class Quantiles(Target):
    """The quantiles at two or more increasing levels; a prediction has one column per level, and never falls from one to the next.

    Each column is calibrated by itself; `mend` restores the order where predictions cross. Sorting never raises the summed pinball
    loss of a row, whatever its label [1].

    References
    ----------
    [1] Chernozhukov, Fernández-Val & Galichon (2010), Quantile and probability curves without crossing, Econometrica 78.

    Examples
    --------
    >>> import numpy as np
    >>> fan = Quantiles([0.1, 0.5, 0.9])
    >>> [coordinate.name for coordinate in fan.coordinates]
    ['quantile 0.1', 'quantile 0.5', 'quantile 0.9']
    >>> fan.residuals([[1.0, 2.0, 3.0]], [2.0])
    array([[-0.1,  0.5,  0.1]])
    >>> fan.breaks(np.array([[1.0, 3.0, 2.0], [1.0, 1.0, 4.0]]))
    array([ True, False])
    >>> fan.mend(np.array([[1.0, 3.0, 2.0]]))
    array([[1., 2., 3.]])
    """

    taus: tuple[float, ...]

    def __init__(self, taus: Iterable[float]) -> None:
        if isinstance(taus, (str, bytes)) or not np.iterable(taus):
            raise InputError(f"taus must be a list of levels such as [0.1, 0.5, 0.9], got {taus!r}.")
        levels = tuple(validate.fraction(tau, f"taus[{i}]") for i, tau in enumerate(taus))
        if len(levels) < 2:
            raise InputError(f"taus must have at least two levels, got {list(levels)!r}; for one level use Quantile(tau).")
        falls = next((i for i in range(1, len(levels)) if not levels[i - 1] < levels[i]), None)
        if falls is not None:
            raise InputError(
                f"taus must increase, got {levels[falls]!r} after {levels[falls - 1]!r}; order levels and columns from low to high."
            )
        object.__setattr__(self, "taus", levels)

    def __repr__(self) -> str:
        return f"Quantiles([{', '.join(map(repr, self.taus))}])"

    @property
    def properties(self) -> tuple[Property, ...]:
        """One quantile per column."""
        return tuple(map(Quantile, self.taus))

    @property
    def coordinates(self) -> tuple[OwnColumn, ...]:
        return tuple(OwnColumn(Quantile(tau), i, f"quantile {tau:g}") for i, tau in enumerate(self.taus))

    @property
    def spec(self) -> str:
        return f"quantiles:{','.join(map(repr, self.taus))}"

    def check_labels(self, values: Any, name: str = "y_true") -> Array:
        labels = validate.vector(values, name)
        check_size(labels, name)
        return labels

    def solve(self, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
        """All quantiles of the weighted empirical law of `labels`; they never cross."""
        return np.array([prop.solve(labels, sample_weight) for prop in self.properties])

    def losses(self, predictions: Array, codes: Array) -> Array:
        """The pinball losses of all levels, summed.

        Examples
        --------
        >>> import numpy as np
        >>> Quantiles([0.1, 0.9]).losses(np.array([[0.0, 1.0]]), np.array([3.0])).round(6)
        array([2.1])
        """
        gaps = codes[:, None] - predictions
        taus = np.array(self.taus)
        return np.asarray(np.maximum(taus * gaps, (taus - 1) * gaps).sum(axis=1))

    def breaking(self, ops: Ops, columns: Sequence[Any]) -> Any:
        return reduce(or_, (low > high for low, high in pairwise(columns)))

    def broken(self, rows: int, among: int) -> str:
        return f"In {rows:,} of {among:,} rows the quantiles cross: a lower level is predicted above a higher one." if rows else ""

    def constrained(self, ops: Ops, columns: Sequence[Any], keep: Keep = as_it_is) -> list[Any]:
        """Sorted, by comparing neighbours in turn: a formula, which an engine can follow."""
        out = list(columns)
        for turn in range(len(out)):
            for i in range(turn % 2, len(out) - 1, 2):
                low, high = ops.minimum(out[i], out[i + 1]), ops.maximum(out[i], out[i + 1])
                place = turn * len(out) + i
                out[i], out[i + 1] = keep(place, low), keep(place + 1, high)
        return out

    def mend(self, predictions: Array) -> Array:
        return np.sort(predictions, axis=1)
