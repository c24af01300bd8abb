"""The columns in which groups may be found, as codes of every row; and groups with further ones after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.names import PREDICTION
from multivalid.discover.bins import MOST_CODES, Bins, Codes, Ordered
from multivalid.discover.fit_bins import fit_edges
from multivalid.groups.membership import Membership, pack_masks
from multivalid.properties.base import Array


@dataclass(frozen=True)
class Columns:
    """The columns in which groups may be found: bins and codes of every row, the prediction's own last unless only rules are wanted."""

    bins: list[Bins]
    codes: Codes
    readable: bool

    def with_prediction(self, predictions: Array) -> Columns:
        """With the prediction as one more column."""
        edges = fit_edges(np.sort(predictions), MOST_CODES, whole=False)
        own = Ordered(PREDICTION, "number", tuple(edges.tolist()))
        return replace(self, bins=[*self.bins, own], codes=np.column_stack([self.codes, own.codes_of(predictions)]))

    def codes_for(self, bins: Sequence[Bins]) -> Codes:
        """Codes of some of the columns, in this order."""
        place = {one.column: k for k, one in enumerate(self.bins)}
        return np.ascontiguousarray(self.codes[:, [place[one.column] for one in bins]])


def widen(membership: Membership, masks: Sequence[NDArray[np.bool_]]) -> Membership:
    """The groups with further ones after them."""
    return Membership.of([*membership.parts, pack_masks(masks, membership.rows)], membership.rows)


def several(count: int, what: str) -> str:
    """A number of things.

    Examples
    --------
    >>> several(1, "tree"), several(30, "rule")
    ('1 tree', '30 rules')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"
