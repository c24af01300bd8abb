"""One round of a classic algorithm between its prediction and its outcome."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.intp]


class Play(NamedTuple):
    """What a round needs when its outcome comes: groups, level, the guide's guess (None if a base was given), outcomes seen."""

    active: Index
    level: int
    guess: float | None
    seen: int
    prediction: float

    def to_json(self) -> list[Any]:
        """Plain data."""
        return [self.active.tolist(), self.level, self.guess, self.seen]
