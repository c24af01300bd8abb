"""Trees over groups and all columns of the predictions given, boosted for all columns at once; rows held out say how many are worth it.

A single column is corrected by what its own predictions and the groups say. Beside it stand the other columns, which know more: how wide
a forecast is says how far its middle may be off, and the chance of one class is spread over the others differently from row to row.
Trees look at all of them, and at groups together, on top of what was fitted before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from multivalid.discover.bins import Codes
from multivalid.discover.forest import add_trees, scaled
from multivalid.discover.grow import Node, grow
from multivalid.discover.histogram import add_to_rows
from multivalid.evaluators import DenseMembers
from multivalid.groups.membership import Membership
from multivalid.properties.base import Array
from multivalid.several.forest import ColumnTrees
from multivalid.several.tree_columns import TreeColumn, columns_of

LEAST_ROWS = 2_000  # below, trees are not tried
NEEDED_FOR_ANY = 3.5  # standard errors by which held-out rows lean from the input towards the trees; their number was chosen there
NEEDED_FOR_MORE = 1.0  # t of the held-out gain over a fit that rows held out have confirmed already
MOST_ROUNDS = 300
PATIENCE = 6
FIRST = 4  # rounds within which the first gain must come: trees that stand on a good fit and find nothing are given up soon
REFRESH = 8  # rounds for which the slope of V is kept: it moves slowly, and costs passes over the rows

Index = NDArray[np.intp]


class Losses(Protocol):
    """Outcomes of some rows, and what is lost at η: (columns, rows), on the scale on which trees add; how deep trees go, and how fast."""

    depth: ClassVar[int]
    rate: ClassVar[float]

    def residuals(self, eta: Array) -> Sequence[Array]:
        """w·V of each column."""

    def slopes(self, eta: Array) -> Sequence[Array]:
        """The slope of w·V along η, of each column."""

    def losses(self, eta: Array) -> Array:
        """The weighted loss of each row after the constraint."""

    def leans(self, first: Array, then: Array) -> tuple[Array, Array]:
        """How far each row leans from one η towards another, and the variance of that if the first is right."""

    def take(self, rows: Index) -> Losses:
        """The same for some of the rows."""


class Trial:
    """Trees that were grown without the rows held out, the first in a random order.

    Attributes
    ----------
    held : Losses
        Of the rows held out.
    rounds : int
        After how many the rows held out lose least.
    there : array (columns, rows)
        η of the rows held out after these.
    """

    def __init__(self, start: Array, cut: int, losses: Losses, given: Array, membership: Membership, rounds: int) -> None:
        """At most so many on top of `start`; so many rows at the front say how many are worth it."""
        count = len(given)
        held, rest = np.arange(cut), np.arange(cut, count)
        self.losses, self.columns = losses, columns_of(given, membership)
        self.codes = ColumnTrees(tuple(self.columns), ()).codes(list(given.T), DenseMembers(membership, 0, count))
        self.held = losses.take(held)
        judge = _Judge(start[:, held], self.held, self.codes[held])
        made = _rounds(self.columns, start[:, rest], losses.take(rest), self.codes[rest], rounds, judge)
        self.rounds, self.there = judge.rounds, judge.there
        self.trees = [some[: judge.rounds] for some in made]
        self.rounds_of_all = round(judge.rounds * count / rest.size)

    def grown(self) -> ColumnTrees:
        """The trees as they are."""
        return ColumnTrees.of(self.columns, self.trees)

    def grown_again(self, start: Array) -> ColumnTrees:
        """As many for all rows."""
        return ColumnTrees.of(self.columns, _rounds(self.columns, start, self.losses, self.codes, self.rounds_of_all))


class _Judge:
    """The loss on rows held out after each round."""

    def __init__(self, eta: Array, losses: Losses, codes: Codes) -> None:
        self.eta, self.losses, self.codes = np.array(eta, order="C"), losses, codes
        self.rounds, self.seen = 0, 0
        self.best, self.there = losses.losses(self.eta), self.eta.copy()

    def go_on(self, trees: Sequence[Node]) -> bool:
        """Count one more round."""
        for row, tree in zip(self.eta, trees, strict=True):
            add_trees([tree], self.codes, row)
        self.seen += 1
        now = self.losses.losses(self.eta)
        if now.mean() < self.best.mean():
            self.best, self.there, self.rounds = now, self.eta.copy(), self.seen
        return self.seen - self.rounds < (PATIENCE if self.rounds else FIRST)


def _rounds(
    columns: Sequence[TreeColumn], start: Array, losses: Losses, codes: Codes, most: int, judge: _Judge | None = None
) -> list[list[Node]]:
    """A tree for each column in every round."""
    eta, everyone = np.array(start, order="C"), np.arange(len(codes), dtype=np.int32)
    made: list[list[Node]] = [[] for _ in eta]
    slopes = losses.slopes(eta)
    for turn in range(most):
        if turn and turn % REFRESH == 0:
            slopes = losses.slopes(eta)
        for row, trees, gradient, slope in zip(eta, made, losses.residuals(eta), slopes, strict=True):
            tree = grow(columns, codes, everyone, gradient, slope, losses.depth)
            for inside, value in tree.leaves:
                add_to_rows(row, inside, losses.rate * value)
            trees.append(scaled(tree.root, losses.rate))
        if judge is not None and not judge.go_on([trees[-1] for trees in made]):
            break
    return made
