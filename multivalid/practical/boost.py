"""Boosting on the link scale: trees of Newton steps on V, as many as rows held out ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from multivalid.discover.bins import Bins, Codes
from multivalid.discover.forest import add_trees, scaled
from multivalid.discover.grow import Node, grow
from multivalid.discover.histogram import add_to_rows
from multivalid.practical.data import Matching, Outcomes
from multivalid.properties.base import Array

MOST_TREES = 400
PATIENCE = 20
DEPTH = 3
SHARE = 0.3  # of the rows on which V changes within the window of its slope
REFRESH = 4  # trees for which the slope of V is kept: it moves slowly, and costs two passes
MANY_ROWS = 50_000  # from here on steps may be longer
RATE, RATE_OF_MANY = 0.1, 0.15


@dataclass(frozen=True)
class CodedRows:
    """Rows to boost on: outcomes, codes of the columns, and η so far."""

    outcomes: Outcomes
    codes: Codes
    eta: Array


def rate_for(rows: int) -> float:
    """The share of a Newton step that a tree takes, where all rows together are so many."""
    return RATE_OF_MANY if rows >= MANY_ROWS else RATE


class Boosting:
    """Trees grown one after the other on some rows; with rows held out, the loss that these have gained after each (none first)."""

    def __init__(self, bins: Sequence[Bins], rows: CodedRows, loss: Matching, rate: float, held: CodedRows | None = None) -> None:
        self.bins, self.rows, self.rate = bins, rows, rate
        self.loss = Matching(loss.prop, loss.link)  # with a window of its own
        self.everyone = np.arange(len(rows.outcomes), dtype=np.int32)
        self.eta, self.slope = rows.eta.copy(), np.zeros(0)
        self.trees: list[Node] = []
        self.judge = None if held is None else _Judge(held, self.loss)

    @property
    def gained(self) -> list[float]:
        """On the rows held out."""
        return [] if self.judge is None else self.judge.gained

    def grow(self) -> None:
        """One more tree."""
        outcomes = self.rows.outcomes
        if len(self.trees) % REFRESH == 0:
            self.loss.widen(self.eta, outcomes, SHARE)
            self.slope = np.maximum(self.loss.slope(self.eta, outcomes), 0.0)
        made = grow(self.bins, self.rows.codes, self.everyone, self.loss.identify(self.eta, outcomes), self.slope, DEPTH)
        for inside, value in made.leaves:
            add_to_rows(self.eta, inside, self.rate * value)
        self.trees.append(scaled(made.root, self.rate))
        if self.judge is not None:
            self.judge.count(self.trees[-1])


def boost(boosting: Boosting, trees: int, tell: Callable[[], None] = lambda: None) -> list[Node]:
    """So many trees."""
    for _ in range(trees):
        boosting.grow()
        tell()
    return boosting.trees


def boost_together(parts: Sequence[Boosting], tell: Callable[[], None] = lambda: None) -> int:
    """Grow trees on every part until `PATIENCE` in a row have gained nothing on all rows held out; the one number that gained most."""
    best = 0
    for k in range(1, MOST_TREES + 1):
        for part in parts:
            part.grow()
            tell()
        total = np.sum([part.gained for part in parts], axis=0)
        best = int(np.argmax(total))
        if k - best >= PATIENCE:
            break
    return best


class _Judge:
    """The loss on rows held out, as each tree changes it."""

    def __init__(self, held: CodedRows, loss: Matching) -> None:
        self.held, self.loss = held, loss
        self.gained = [0.0]
        self.eta = held.eta.copy()
        self.identification = loss.identify(self.eta, held.outcomes)

    def count(self, tree: Node) -> None:
        """One more tree; M is never evaluated, its change is V times the step, by the trapezoid rule."""
        before = self.eta.copy()
        add_trees([tree], self.held.codes, self.eta)
        now = self.loss.identify(self.eta, self.held.outcomes)
        self.gained.append(self.gained[-1] - float((self.identification + now) @ (self.eta - before)) / 2)
        self.identification = now
