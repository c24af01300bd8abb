"""Predictions whose outcomes are still to come."""

from __future__ import annotations

from typing import Any, NamedTuple


class Ticket(NamedTuple):
    """A prediction whose outcome is still to come, with a number and, where one was given, a key of the user's.

    Examples
    --------
    >>> from multivalid.online import OnlineMulticalibrator
    >>> learner = OnlineMulticalibrator("mean", groups=1, labels=(0, 1))
    >>> ticket = learner.ask([True], key="order 17")
    >>> learner.open_tickets()
    (Ticket(id=0, prediction=0.5, key='order 17'),)
    >>> learner.tell(y=1.0, key="order 17")
    >>> learner.rounds, learner.open_tickets()
    (1, ())
    """

    id: int
    prediction: Any  # a number, or one per level
    key: str | int | None = None
