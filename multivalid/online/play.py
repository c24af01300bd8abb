"""One round between its prediction and its outcome."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.intp]


class Ticket(NamedTuple):
    """A prediction whose outcome is still to come."""

    id: int
    prediction: float


class Play(NamedTuple):
    """What a round needs when its outcome comes: groups, level, the guide's guess (None if a base was given), outcomes seen."""

    active: Index
    level: int
    guess: float | None
    seen: int
