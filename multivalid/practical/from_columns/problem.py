"""What is asked of a fit with columns: all rows on the link scale and as codes, and what the user fixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multivalid.groups.recode import with_codes
from multivalid.practical.boost import rate_for
from multivalid.practical.columns import Columns
from multivalid.practical.data import LinkRows, Matching
from multivalid.practical.goal import Goal
from multivalid.practical.link import choose_link
from multivalid.properties.base import Array, Property
from multivalid.sources.memory import MemorySource as Rows

Index: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True)
class Problem:
    """All rows, in link space and as codes, and what was asked for; `base` are the predictions themselves, `of_events`: labels say whether
    an event happened."""

    every: LinkRows
    base: Array
    columns: Columns
    loss: Matching
    goal: Goal
    rate: float
    of_events: bool

    @classmethod
    def of(cls, rows: Rows, prop: Property, goal: Goal, columns: Columns, blocks: NDArray[Any] | None) -> Problem:
        """Rows on the scale that suits the property; `blocks` says which of them belong together."""
        link = choose_link(prop, rows.labels, rows.predictions)
        base, member = link.forward(rows.predictions), with_codes(rows.membership)
        every = LinkRows(rows.labels, rows.weights / rows.weights.mean(), base, member, blocks)
        wide = columns.with_prediction(rows.predictions)
        return cls(every, rows.predictions, wide, Matching(prop, link), goal, rate_for(len(rows)), rows.totals.of_events)

    def tell(self) -> None:
        """A sign of life."""
        self.goal.control.tell(0, float("nan"), float("nan"))
