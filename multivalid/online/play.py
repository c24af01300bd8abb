"""One round between its prediction and its outcome."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.intp]


class Ticket(NamedTuple):
    """A prediction whose outcome is still to come.

    Examples
    --------
    >>> from multivalid.online import OnlineMulticalibrator
    >>> learner = OnlineMulticalibrator("mean", groups=1, m=4, seed=1)
    >>> ticket = learner.ask([True])
    >>> learner.tell(ticket, 1.0)
    >>> ticket.id, learner.rounds
    (0, 1)
    """

    id: int
    prediction: float


class Play(NamedTuple):
    """What a round needs when its outcome comes: groups, level, the guide's guess (None if a base was given), outcomes seen."""

    active: Index
    level: int
    guess: float | None
    seen: int
