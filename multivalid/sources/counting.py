"""What is counted of rows that pass by: columns summed over (number × group), by codes of the combinations of the groups' columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.cells.tabulate import Histogram, byte_histograms
from multivalid.evaluators import Evaluator, Members
from multivalid.groups.membership import Coded, Membership, unpack
from multivalid.properties.base import Array
from multivalid.steps.program import LANES

MOST_CELLS = 200_000  # (line × number) up to which lines are counted, and groups read off them


class Batch(NamedTuple):
    """Rows that pass by: arrays of some of them, or symbols that stand for all.

    `level` gives the number of the level of a grid that each value is nearest to.
    """

    by: Evaluator
    labels: Any
    predictions: Any
    weights: Any
    members: Members
    level: Callable[[Any, Any], Any]

    def predicted(self, predictor: Any) -> Any:
        """What a predictor makes of them."""
        return predictor.predicted(self.by, [self.predictions], self.members)[0]


class Counted(NamedTuple):
    """Columns to be summed over (number × group); the column of weights stands for ones where every weight is one.

    `number` is None where all rows have the same. `whole` are columns summed over all rows alone: they come after the others, the same
    for every number and group.
    """

    number: Any
    size: int
    columns: Sequence[Any]
    whole: Sequence[Any] = ()

    @property
    def distinct(self) -> list[Any]:
        """Each column once."""
        return list({id(column): column for column in self.columns}.values())

    @property
    def order(self) -> list[int]:
        """The place of every column among the distinct ones."""
        place = {number: k for k, number in enumerate(dict.fromkeys(id(column) for column in self.columns))}
        return [place[id(column)] for column in self.columns]


Kernel = Callable[[Batch], list[Counted]]


class Keys:
    """The codes that rows are counted by: their line where lines are few, else the groups of their line, part by part of the groups."""

    def __init__(self, members: Membership, size: int) -> None:
        self.counted: list[tuple[NDArray[Any] | None, Callable[[], Histogram]]] = []
        self.everyone: int | None = None  # the place of everyone's sums, which are those of any other part's codes together
        if size * members.rows <= MOST_CELLS:
            shares = unpack(members.by_row(), members.groups).astype(np.float64)
            self.counted.append((None, lambda: Histogram(members.rows, size, shares)))
            return
        for block in members.parts:
            if not isinstance(block, Coded):
                for codes, part in byte_histograms(block.by_row(), size, block.size):
                    self.counted.append((codes, partial(Histogram, part.size, size, part.shares)))
            elif self.everyone is None and len(members.parts) > 1 and block.size == 1 and block.codes.all():
                self.everyone = len(self.counted)
            else:
                self.counted.append((block.codes, partial(Histogram, block.size + 1, size, None)))

    def of(self, line: NDArray[Any]) -> list[NDArray[Any]]:
        """The codes of rows by their lines."""
        line = line.astype(np.uint32, copy=False)
        return [line if codes is None else codes[line] for codes, _ in self.counted]


class Table:
    """Sums over (number × group) that grow as rows pass by; `whole` are those over all rows, in a few parts."""

    def __init__(self, keys: Keys, asked: Counted) -> None:
        self.keys, self.parts, self.order = keys, [made() for _, made in keys.counted], asked.order
        self.whole: Array = np.zeros((len(asked.whole), LANES))

    def sums(self) -> Array:
        """(size, groups, columns)."""
        tables = [part.table() for part in self.parts]
        if self.keys.everyone is not None:
            tables.insert(self.keys.everyone, self.parts[0].whole())
        made = np.concatenate([table[:, :, self.order] for table in tables], axis=1)
        return np.concatenate([made, np.broadcast_to(self.whole.sum(axis=1), (*made.shape[:2], len(self.whole)))], axis=2)
