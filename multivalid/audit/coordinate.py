"""One coordinate of an audited pair, with the fields that a report and its figures read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from multivalid.audit.text import verdict_line
from multivalid.grid import Grid
from multivalid.properties import Property
from multivalid.properties.pairs.base import SecondCoordinate

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Coordinate:
    """What was found for one of the two predictions.

    Attributes
    ----------
    table : dict of arrays
        One row per group, the columns of `PairAudit.table` that are of this coordinate.
    cells : dict of arrays
        One row per non-empty (group, level of this prediction); V¹ is taken at the predicted f⁰.
    """

    grid: Grid
    table: Columns
    cells: Columns
    fingerprint: str | None
    score = None  # a joint score of both exists for some pairs, none for one coordinate

    @property
    def verdict(self) -> str:
        """How many groups are off beyond chance."""
        return verdict_line(self.table)

    property: Property | SecondCoordinate  # last: it hides the decorator
