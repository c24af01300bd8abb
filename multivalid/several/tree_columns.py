"""What trees of several columns look at, as codes of rows in memory and as questions to rows of any kind.

Groups that exclude each other share one column of codes; each column of the predictions given is one, and so is the gap between any two:
how wide a forecast is, or how far ahead a class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations, pairwise
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid import json_checks as read
from multivalid.discover.bins import Codes
from multivalid.errors import ModelFileError
from multivalid.evaluators import Members
from multivalid.groups.membership import Membership
from multivalid.properties.base import Array
from multivalid.rounding import UnevenBoundaries

EDGES = 100  # cuts of a column of predictions
SETTLING = 50_000  # rows that settle where the cuts are
MOST_EDGES = 250  # in a file: codes are single bytes
MOST_BLOCK = 200  # groups that share a column of codes
MOST_GAPS = 6  # columns of predictions up to which every two have their gap; beyond, neighbours only

Left = NDArray[np.bool_]  # one flag per code


@dataclass(frozen=True)
class InAny:
    """Whether a row is in one of some groups, by number; 1 is the first group after everyone."""

    groups: tuple[int, ...]

    def answer(self, given: Sequence[Any], members: Members) -> Any:
        """For rows of any kind."""
        return reduce(or_, [members.holds(group) for group in self.groups])


@dataclass(frozen=True)
class Below:
    """Whether a number made of the predictions given is below an edge."""

    number: Number
    edge: float

    def answer(self, given: Sequence[Any], members: Members) -> Any:
        """For rows of any kind."""
        return self.number.value(given) < self.edge


Question = InAny | Below


@dataclass(frozen=True)
class Block:
    """Groups that exclude each other: the code of a row is 0 where it is in none of them, k in the k-th."""

    groups: tuple[int, ...]

    ordered = False

    @property
    def size(self) -> int:
        """How many codes there are; the last, for what is missing, never occurs."""
        return len(self.groups) + 2

    def codes(self, given: Sequence[Array], members: Members) -> Codes:
        """Of rows in memory."""
        out = np.zeros(len(given[0]), dtype=np.uint8)
        for code, group in enumerate(self.groups):
            out[members.holds(group)] = code + 1
        return out

    def question(self, left: Left) -> tuple[Question, bool]:
        """What tells rows whose code is among `left` from the others, and whether they are those who answer yes."""
        yes = not left[0]
        return InAny(tuple(group for group, side in zip(self.groups, left[1:], strict=False) if side == yes)), yes

    def check(self, left: Left) -> None:
        """Refuse what no question tells apart."""
        if left[:-1].all() or not left[:-1].any():
            raise ModelFileError("trees: a split must send some groups to each side.")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"groups": list(self.groups)}


@dataclass(frozen=True)
class Number:
    """A column of predictions, or the gap above another one, cut at edges: code k holds edges[k-1] <= value < edges[k]."""

    column: int
    less: int | None
    edges: tuple[float, ...]

    ordered = True

    @property
    def size(self) -> int:
        """How many codes there are; the last, for what is missing, never occurs."""
        return len(self.edges) + 2

    def value(self, given: Sequence[Any]) -> Any:
        """The number itself, for rows of any kind."""
        return given[self.column] if self.less is None else given[self.column] - given[self.less]

    def codes(self, given: Sequence[Array], members: Members) -> Codes:
        """Of rows in memory."""
        return np.asarray(len(self.edges) - self._turned.below(-self.value(given)), dtype=np.uint8)

    @cached_property
    def _turned(self) -> UnevenBoundaries:
        """The edges on the line turned round: those strictly below a value there are the ones above it, and an edge at the value is not."""
        return UnevenBoundaries(-np.array(self.edges)[::-1])

    def question(self, left: Left) -> tuple[Question, bool]:
        """What tells rows whose code is among `left` from the others, and whether they are those who answer yes."""
        return Below(self, self.edges[int(np.argmin(left[:-1])) - 1]), True

    def check(self, left: Left) -> None:
        """Refuse what no question tells apart."""
        if left[:-1].all() or not left[0] or (np.diff(left[:-1].astype(np.int8)) > 0).any():
            raise ModelFileError("trees: a split of numbers must send the lower ones to the left.")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"column": self.column, "less": self.less, "edges": list(self.edges)}


TreeColumn = Block | Number


def columns_of(given: Array, membership: Membership) -> list[TreeColumn]:
    """What there is to look at for these rows."""
    width = given.shape[1]
    pairs = combinations(range(width), 2) if width <= MOST_GAPS else pairwise(range(width))
    wanted: list[tuple[int, int | None]] = [*((k, None) for k in range(width)), *((high, low) for low, high in pairs)]
    some = given[:: max(len(given) // SETTLING, 1)]
    numbers = [_cut(Number(column, less, ()), some) for column, less in wanted]
    return [*_blocks(membership), *(one for one in numbers if one.edges)]


def _cut(number: Number, given: Array) -> Number:
    """With edges at quantiles, where the values of these rows differ."""
    values = number.value(list(given.T))
    edges = np.unique(np.quantile(values, np.arange(1, EDGES) / EDGES))
    return Number(number.column, number.less, tuple(edges[edges > values.min()].tolist()))


def _blocks(membership: Membership) -> list[Block]:
    """Consecutive groups no two of which share a row; groups without rows are left out."""
    found: list[list[int]] = [[]]
    taken = np.zeros(membership.rows, dtype=bool)
    for group in range(1, membership.groups):
        mask = membership.mask(group)
        if len(found[-1]) == MOST_BLOCK or (taken & mask).any():
            found.append([])
            taken[:] = False
        if mask.any():
            found[-1].append(group)
            taken |= mask
    return [Block(tuple(groups)) for groups in found if groups]


def column_from_json(data: Any, width: int, groups: int) -> TreeColumn:
    """What `to_json` described, every number checked; `groups` are counted with everyone."""
    if isinstance(data, dict) and "groups" in data:
        read.record(data, "trees: groups", ("groups",))
        listed = tuple(read.whole(one, "trees: a group", groups - 1) for one in read.items(data["groups"], "trees: groups"))
        if not 1 <= len(listed) <= MOST_BLOCK or 0 in listed or len(set(listed)) < len(listed):
            raise ModelFileError(f"trees: groups must be from 1 to {MOST_BLOCK} of them, each once, and not everyone.")
        return Block(listed)
    read.record(data, "trees: a column", ("column", "less", "edges"))
    column, less = (
        None if data[name] is None and name == "less" else read.whole(data[name], f"trees: {name}", width - 1)
        for name in ("column", "less")
    )
    edges = read.increasing(data["edges"], "trees: edges")
    if column is None or not 1 <= edges.size <= MOST_EDGES:
        raise ModelFileError(f"trees: a column needs from 1 to {MOST_EDGES} edges.")
    return Number(column, less, tuple(edges.tolist()))
