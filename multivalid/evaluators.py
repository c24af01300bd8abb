"""Ways to calculate what a practical model predicts: its formula is written once, in the classes of the model.

Arrays in memory and a single row are here; the expressions of an engine and SQL have their own rooms. All work in float64, and the two here
add in the same order, so that one row gives what a million give, to the last bit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from multivalid.properties.ops import NUMPY, Ops

if TYPE_CHECKING:
    from multivalid.groups.membership import Membership
    from multivalid.properties.base import Array

CHUNK = 1 << 12  # rows at a time: every intermediate result stays in cache; a multiple of 8, so that bits are cut between bytes


class Members(Protocol):
    """Who is in which group, for rows of some kind."""

    def total(self, values: Sequence[float]) -> Any:
        """Σ of the values of the groups that each row is in; one value per group, everyone left out."""

    def holds(self, group: int) -> Any:
        """Whether each row is in a group; 0 is everyone."""

    def total_of_pairs(self, ops: Ops, pairs: Sequence[tuple[int, int]], values: Sequence[float]) -> Any:
        """Σ of the values of the pairs of groups that each row is in both of."""

    def answers(self, conditions: Sequence[Any]) -> list[Any]:
        """Whether conditions on columns hold for each row, where rows have columns."""


class Evaluator(Protocol):
    """The functions of formulas, tables of steps, and results that are worked out once."""

    @property
    def ops(self) -> Ops:
        """Functions on this kind of number."""

    def place(self, value: Any, edges: Sequence[float], *, inclusive: bool = False) -> Any:
        """How many edges lie below the value, or at it where these count too."""

    def look_up(self, place: Any, values: Sequence[float]) -> Any:
        """values[place]."""

    def keep(self, name: str, value: Any) -> Any:
        """The value as something that may be used many times without being worked out again."""


class Arrays:
    """Rows in memory."""

    ops = NUMPY

    def place(self, value: Any, edges: Sequence[float], *, inclusive: bool = False) -> Any:
        return np.searchsorted(edges, value, side="right" if inclusive else "left")

    def look_up(self, place: Any, values: Sequence[float]) -> Any:
        return np.asarray(values)[place]

    def keep(self, name: str, value: Any) -> Any:
        return value


class PlainNumbers:
    """The functions of formulas on plain floats; NumPy's own where its last bit is its own."""

    maximum = staticmethod(lambda left, right: left if left > right else right)
    minimum = staticmethod(lambda left, right: left if left < right else right)
    absolute = staticmethod(abs)

    @staticmethod
    def power(value: float, exponent: float) -> float:
        return float(NUMPY.power(value, exponent))

    @staticmethod
    def where(condition: bool, yes: float, no: float) -> float:
        return yes if condition else no

    @staticmethod
    def exp(value: float) -> float:
        return float(np.exp(value))

    @staticmethod
    def log(value: float) -> float:
        return float(np.log(value))

    @staticmethod
    def number(condition: bool) -> float:
        return 1.0 if condition else 0.0

    @staticmethod
    def filled(value: float, like: float) -> float:
        return value


class OneRow:
    """A single row, in plain Python: no array is made."""

    ops: Ops = PlainNumbers()

    def place(self, value: Any, edges: Sequence[float], *, inclusive: bool = False) -> Any:
        return bisect_right(edges, value) if inclusive else bisect_left(edges, value)

    def look_up(self, place: Any, values: Sequence[float]) -> Any:
        return values[int(place)]

    def keep(self, name: str, value: Any) -> Any:
        return value


class PairByPair:
    """Members that say of every group whether rows are in it."""

    def holds(self, group: int) -> Any:
        raise NotImplementedError

    def total_of_pairs(self, ops: Ops, pairs: Sequence[tuple[int, int]], values: Sequence[float]) -> Any:
        first, *others = (ops.where(self.holds(i) & self.holds(j), value, 0.0) for (i, j), value in zip(pairs, values, strict=True))
        return sum(others, first)


class NoColumns(PairByPair):
    """Members of rows whose columns are not at hand."""

    def answers(self, conditions: Sequence[Any]) -> list[Any]:
        raise NotImplementedError


class RowMembers(NoColumns):
    """The groups of a single row, as their numbers in order, and the row itself for what looks at its columns."""

    def __init__(self, groups: Sequence[int], row: Any = None) -> None:
        self.numbers, self.row = groups, row

    def total(self, values: Sequence[float]) -> float:
        out = 0.0
        for group in self.numbers:
            out += values[group - 1]
        return out

    def holds(self, group: int) -> bool:
        return group == 0 or group in self.numbers


class WithLevels(NoColumns):
    """Groups and, after them, one group for each level that edges cut a value into (the other coordinate of a pair)."""

    def __init__(self, by: Evaluator, groups: Members | None, count: int, level: Any) -> None:
        self._by, self._groups, self._count, self._level = by, groups, count, level

    def total(self, values: Sequence[float]) -> Any:
        here = self._by.look_up(self._level, values[self._count :])
        return here if self._groups is None else self._groups.total(values[: self._count]) + here

    def holds(self, group: int) -> Any:
        level = group - 1 - self._count
        if level >= 0:
            return (self._level >= level) & (self._level <= level)
        return self._level >= 0 if self._groups is None else self._groups.holds(group)


class Nobody(NoColumns):
    """Rows in no group but everyone's."""

    def total(self, values: Sequence[float]) -> Any:
        return 0.0

    def holds(self, group: int) -> Any:
        return group == 0


class DenseMembers(NoColumns):
    """Groups of consecutive rows in memory: a code per row for groups that exclude each other, else a line of zeros and ones per group."""

    def __init__(self, membership: Membership, start: int, stop: int) -> None:
        from multivalid.groups.membership import Coded

        self._rows = stop - start
        self._parts = [
            (part.codes[start:stop], part.size) if isinstance(part, Coded) else (part.dense(start, stop), part.size)
            for part in membership.parts
        ]

    def total(self, values: Sequence[float]) -> Array:
        # A row is in one group of a code at most, and parts are in the order of their groups: a single row adds the same numbers.
        out, start, amounts = np.zeros(self._rows), 0, np.append(0.0, values)  # everyone has no value
        for places, size in self._parts:
            here = amounts[start : start + size]
            if places.ndim == 1 and here.any():
                out += np.append(0.0, here)[places]
            elif places.ndim == 2:
                _add_lines(out, places, here)
            start += size
        return out

    def holds(self, group: int) -> Any:
        for places, size in self._parts:
            if group < size:
                return places == group + 1 if places.ndim == 1 else places[group] == 1
            group -= size
        raise IndexError(group)

    def sums(self, values: Array) -> Array:
        """Σ of each line of values over each group: lines × groups."""
        short = values.astype(np.float32)
        found: list[Array] = []
        for places, size in self._parts:
            if places.ndim == 1:
                found.append(np.stack([np.bincount(places, line, size + 1)[1:] for line in values]))
            else:
                found.append((short @ places.T.astype(np.float32)).astype(np.float64))
        return np.concatenate(found, axis=1)


def _add_lines(out: Array, lines: NDArray[np.uint8], values: Array) -> None:
    part = np.empty_like(out)
    for flags, value in zip(lines, values, strict=True):
        if value:
            np.multiply(flags, value, out=part)
            out += part


def in_memory(formula: Callable[[Evaluator, list[Any], Members], list[Any]], predictions: Array, membership: Membership) -> Array:
    """A formula of all columns on rows in memory, some at a time."""
    out = np.array(predictions)
    with np.errstate(over="ignore"):  # a link of an absurd prediction may be infinite; it is clipped
        for rows in pieces(len(out)):
            members = DenseMembers(membership, rows.start, rows.stop)
            out[rows] = np.stack(formula(Arrays(), list(predictions[rows].T), members), axis=1)
    return out


def pieces(rows: int) -> list[slice]:
    """Consecutive rows that are evaluated together."""
    return [slice(start, min(start + CHUNK, rows)) for start in range(0, rows, CHUNK)]
