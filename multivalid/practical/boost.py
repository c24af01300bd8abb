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
class Boosted:
    """Trees in the order they were grown, and the loss on rows held out that each number of them has gained (none first)."""

    trees: list[Node]
    gained: Array


@dataclass(frozen=True)
class CodedRows:
    """Rows to boost on: outcomes, codes of the columns, and η so far."""

    outcomes: Outcomes
    codes: Codes
    eta: Array


def boost(
    bins: Sequence[Bins],
    rows: CodedRows,
    loss: Matching,
    *,
    held: CodedRows | None = None,
    most: int = MOST_TREES,
    tell: Callable[[], None] = lambda: None,
) -> Boosted:
    """At most `most` trees; with rows held out, until `PATIENCE` trees in a row have gained nothing on them."""
    step = RATE_OF_MANY if len(rows.outcomes) >= MANY_ROWS else RATE
    loss = Matching(loss.prop, loss.link)  # with a window of its own
    everyone = np.arange(len(rows.outcomes), dtype=np.int32)
    eta, slope = rows.eta.copy(), np.zeros(0)
    judge = _Judge(held, loss)
    trees: list[Node] = []
    for k in range(most):
        if k % REFRESH == 0:
            loss.widen(eta, rows.outcomes, SHARE)
            slope = np.maximum(loss.slope(eta, rows.outcomes), 0.0)
        made = grow(bins, rows.codes, everyone, loss.identify(eta, rows.outcomes), slope, DEPTH)
        for inside, value in made.leaves:
            add_to_rows(eta, inside, step * value)
        trees.append(scaled(made.root, step))
        tell()
        if not judge.go_on(trees[-1]):
            break
    return Boosted(trees, np.array(judge.gained))


class _Judge:
    """The loss on rows held out, as each tree changes it."""

    def __init__(self, held: CodedRows | None, loss: Matching) -> None:
        self.held, self.loss = held, loss
        self.gained = [0.0]
        if held is not None:
            self.eta = held.eta.copy()
            self.identification = loss.identify(self.eta, held.outcomes)

    def go_on(self, tree: Node) -> bool:
        """Count one more tree; M is never evaluated, its change is V times the step, by the trapezoid rule."""
        if self.held is None:
            return True
        before = self.eta.copy()
        add_trees([tree], self.held.codes, self.eta)
        now = self.loss.identify(self.eta, self.held.outcomes)
        self.gained.append(self.gained[-1] - float((self.identification + now) @ (self.eta - before)) / 2)
        self.identification = now
        return len(self.gained) - 1 - int(np.argmax(self.gained)) < PATIENCE
