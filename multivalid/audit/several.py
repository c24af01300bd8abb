"""The audit of a target whose coordinates are judged one by one: several quantiles, several classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid.audit.audit import Audit
from multivalid.cells.adjust import holm

if TYPE_CHECKING:
    from multivalid.properties import Target
    from multivalid.sources.open import Source

SHARED = ("name", "rows", "weight")


class SeveralAudit(Audit):
    """What `audit` found for a target of several coordinates, each on the levels of its own prediction.

    Attributes
    ----------
    parts : tuple of Audit
        One per coordinate.
    table : dict of arrays
        One row per group: name, rows, weight, and the columns of `Audit.table` of each coordinate, which begin with its name. Holm's
        correction covers all groups of all coordinates; other simultaneous statements hold within a coordinate.
    cells : dict of arrays
        The cells of all coordinates, with a column that says which.

    Examples
    --------
    >>> import multivalid as mv
    >>> found = mv.audit([1.0, 2.0, 3.0], [[1.0, 2.0]] * 3, groups=[], property=mv.Quantiles([0.3, 0.7]))
    >>> len(found.parts), found.error == max(part.error for part in found.parts)
    (2, True)
    """

    def __init__(self, source: Source, target: Target, parts: Sequence[Audit]) -> None:
        self.property, self.parts, self._source = target, tuple(parts), source
        self.groups, self.grids = parts[0].groups, tuple(part.grid for part in parts)
        adjusted = holm(np.concatenate([part.table["p_value"] for part in parts])).reshape(len(parts), -1)
        for part, column in zip(parts, adjusted, strict=True):
            part.table["p_adjusted"] = column
        self.coordinates = tuple(part.coordinates[0] for part in parts)
        self.table = self._table()
        names = [np.full(part.cells["group"].size, key) for part, key in zip(parts, target.keys, strict=True)]
        self.cells = {"coordinate": np.concatenate(names)} | {
            name: np.concatenate([part.cells[name] for part in parts]) for name in parts[0].cells
        }

    def _table(self) -> dict[str, NDArray[Any]]:
        table = {name: self.parts[0].table[name] for name in SHARED}
        for part, key in zip(self.parts, self.property.keys, strict=True):
            table |= {f"{key}_{name}": column for name, column in part.table.items() if name not in SHARED}
        return table

    @property
    def error(self) -> float:
        """The largest V-error of any group and coordinate."""
        return max(part.error for part in self.parts)

    @property
    def verdict(self) -> str:
        """How many groups are off beyond chance, for each coordinate."""
        return " ".join(f"{key}: {part.verdict}" for part, key in zip(self.parts, self.property.keys, strict=True))

    def summary(self, k: int = 10) -> str:
        """The verdict and the k worst groups of each coordinate, as text that fits a terminal."""
        told = [f"{key}\n{part.summary(k)}" for part, key in zip(self.parts, self.property.keys, strict=True)]
        return "\n\n".join(told)
