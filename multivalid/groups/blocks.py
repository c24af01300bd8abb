"""Fitted groups, item by item. A block gives every row at most one of its codes: a column is looked at once, however many values.

Each block answers the same three questions: the codes of a frame's rows (−1 for none), the code of one dict row, and
the condition one of its groups stands for (which lazy engines run).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.groups.calendar import PARTS
from multivalid.groups.kinds import BOOLEAN, DATE, DATETIME, NUMBER, TEXT, kind_of_dtype, kind_of_value, value_in
from multivalid.groups.nodes import And, Column, Compare, Condition, DatePart, Literal, Missing, columns, render
from multivalid.groups.rows import Row, RowTest, row_test

if TYPE_CHECKING:  # what reads frames is imported where a frame is read: a single row needs none of it
    import narwhals as nw

    from multivalid.groups.columns import Columns

Codes = NDArray[np.int16]  # at most 10,000 groups per block
LARGEST_TABLE = 1 << 22  # values looked up in a table; beyond it they are searched for


class Block(Protocol):
    """The groups of one item."""

    @property
    def size(self) -> int: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    def codes(self, frame: Columns) -> Codes: ...
    def code(self, row: Row) -> int: ...
    def condition(self, code: int) -> Condition: ...


@dataclass(frozen=True)
class Holds:
    """One group: the rows where a condition holds."""

    test: Condition

    size = 1

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return columns(self.test)

    def codes(self, frame: Columns) -> Codes:
        return evaluate([self], frame.frame(self.columns))[0].astype(np.int16) - np.int16(1)

    def code(self, row: Row) -> int:
        return 0 if self.row_test(row) else -1

    def condition(self, code: int) -> Condition:
        return self.test

    def expression(self, frame: nw.DataFrame[Any]) -> nw.Expr:
        from multivalid.groups.engine import condition_expression

        return condition_expression(self.test, frame.schema, render(self.test))

    @cached_property
    def row_test(self) -> RowTest:
        """Whether a row is in the group."""
        return row_test(self.test, render(self.test))

    def __reduce__(self) -> tuple[object, tuple[Condition]]:
        return Holds, (self.test,)  # the compiled closure could not be pickled


def evaluate(blocks: Sequence[Holds], frame: nw.DataFrame[Any]) -> list[NDArray[np.bool_]]:
    """Many conditions in one pass over the frame."""
    from multivalid.groups.frames import booleans

    answers = frame.select(*(block.expression(frame).alias(f"p{i}") for i, block in enumerate(blocks)))
    return [booleans(answers[f"p{i}"]) for i in range(len(blocks))]


class OneColumn:
    """What blocks of one column share: groups of rows that have a value, and with `missing` one more, the last, of those without."""

    column: str
    missing: bool

    @property
    @abstractmethod
    def size(self) -> int: ...

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def nowhere(self) -> int:
        """The code of a missing value."""
        return self.size - 1 if self.missing else -1

    def _nothing(self, rows: int) -> Codes:
        """The codes of a column in which every value is missing."""
        return np.full(rows, self.nowhere, dtype=np.int16)


@dataclass(frozen=True)
class Values(OneColumn):
    """One group per value of a text or integer column, in the order of the values, or the two of a boolean column."""

    column: str
    values: tuple[str, ...] | tuple[int, ...]
    kind: str
    missing: bool = False

    @property
    def size(self) -> int:
        return len(self.values) + self.missing

    def codes(self, frame: Columns) -> Codes:
        series = _column_of_kind(frame, self.column, self.kind)
        if series is None:
            return self._nothing(frame.rows)
        if self.kind == TEXT:
            number, texts = frame.texts(self.column)
            code = [self._index.get(text, -1) for text in texts]
            return np.array([*code, self.nowhere], dtype=np.int16)[number]  # a missing text has number -1, the last
        return self._flag_codes(series) if self.kind == BOOLEAN else whole_codes(series, self.values, self.nowhere)

    def _flag_codes(self, series: nw.Series[Any]) -> Codes:
        from multivalid.groups.frames import booleans

        held = np.where(booleans(series.fill_null(False)), self._index.get(True, -1), self._index.get(False, -1))
        return np.where(series.is_null().to_numpy(), self.nowhere, held).astype(np.int16)

    def code(self, row: Row) -> int:
        value = value_in(row, self.column)
        if value is None:
            return self.nowhere
        if kind_of_value(value) != self.kind:
            raise InputError(
                f"groups: column {self.column!r} held {self.kind} values when the groups were fitted, "
                f"but the row has {value!r} of type {type(value).__name__}."
            )
        return self._index.get(value, -1)

    def condition(self, code: int) -> Condition:
        if code == self.nowhere:
            return Missing(Column(self.column))
        return Compare("==", Column(self.column), Literal(self.values[code]))

    @cached_property
    def _index(self) -> dict[Any, int]:
        return {value: code for code, value in enumerate(self.values)}


@dataclass(frozen=True)
class DateParts(OneColumn):
    """One group per year, month, weekday or hour of a column of dates or times."""

    column: str
    part: str
    values: tuple[int, ...]
    missing: bool = False

    @property
    def size(self) -> int:
        return len(self.values) + self.missing

    def codes(self, frame: Columns) -> Codes:
        import narwhals as nw

        series = _column_of_kind(frame, self.column, *((DATETIME,) if self.part == "hour" else (DATETIME, DATE)))
        if series is None:
            return self._nothing(frame.rows)
        part = PARTS[self.part].expression(nw.col(self.column), series.dtype)
        return whole_codes(frame.frame([self.column]).select(part.alias("part"))["part"], self.values, self.nowhere)

    def code(self, row: Row) -> int:
        value = value_in(row, self.column)
        if value is None:
            return self.nowhere
        kind = kind_of_value(value)
        if kind != DATETIME and (kind != DATE or self.part == "hour"):
            raise InputError(f"groups: column {self.column!r} must hold times for its {self.part}, but the row has {value!r}.")
        return self._index.get(PARTS[self.part].of(value), -1)

    def condition(self, code: int) -> Condition:
        column = Column(self.column)
        return Missing(column) if code == self.nowhere else Compare("==", DatePart(self.part, column), Literal(self.values[code]))

    @cached_property
    def _index(self) -> dict[int, int]:
        return {value: code for code, value in enumerate(self.values)}


def whole_codes(series: nw.Series[Any], values: Sequence[Any], nowhere: int = -1) -> Codes:
    """The place of each row's whole number among the values, -1 for others, `nowhere` for missing; the column may be a float one."""
    from multivalid.groups.frames import numbers

    known = np.asarray(values, dtype=np.int64)
    if series.dtype.is_integer() and not series.null_count():
        seen, missing = np.asarray(series.to_numpy()), None
    elif series.dtype.is_integer():
        seen, missing = np.asarray(series.fill_null(0).to_numpy()), series.is_null().to_numpy()
    else:
        seen = numbers(series)
        missing = np.isnan(seen)
    if known.size == 0:
        return np.full(len(series), -1, dtype=np.int16) if missing is None else np.where(missing, nowhere, -1).astype(np.int16)
    low, high = int(known[0]), int(known[-1])
    if series.dtype.is_signed_integer() and high - low <= LARGEST_TABLE and missing is None:
        inside = (seen >= low) & (seen <= high)
        shifted = seen.astype(np.int64, copy=False) - low
        codes = _places(known - low, shifted if inside.all() else np.where(inside, shifted, -1), high - low + 1)
    else:
        codes = _places(known, seen, LARGEST_TABLE + 1)
    if missing is not None:
        codes[missing] = nowhere
    return codes


@dataclass(frozen=True)
class Intervals(OneColumn):
    """One group per bin of a numeric column; the first and the last reach out to infinity."""

    column: str
    edges: tuple[float, ...]
    missing: bool = False

    @property
    def size(self) -> int:
        return len(self.edges) - 1 + self.missing

    @cached_property
    def inner(self) -> tuple[float, ...]:
        return self.edges[1:-1]

    def codes(self, frame: Columns) -> Codes:
        from multivalid.groups.frames import numbers

        series = _column_of_kind(frame, self.column, NUMBER)
        if series is None:
            return self._nothing(frame.rows)
        values = numbers(series)
        codes = np.searchsorted(np.array(self.inner, dtype=np.float64), values, side="right").astype(np.int16)
        codes[np.isnan(values)] = self.nowhere
        return codes

    def code(self, row: Row) -> int:
        value = value_in(row, self.column)
        if value is None:
            return self.nowhere
        if kind_of_value(value) != NUMBER:
            raise InputError(f"groups: column {self.column!r} must hold numbers, but the row has {value!r}.")
        return bisect_right(self.inner, value)

    def condition(self, code: int) -> Condition:
        column = Column(self.column)
        if code == self.nowhere:
            return Missing(column)
        sides: list[Condition] = []
        if code > 0:
            sides.append(Compare(">=", column, Literal(self.edges[code])))
        if code < len(self.edges) - 2:
            sides.append(Compare("<", column, Literal(self.edges[code + 1])))
        return And(tuple(sides)) if len(sides) == 2 else sides[0] if sides else Missing(column, negated=True)


Simple: TypeAlias = Holds | Values | DateParts | Intervals


@dataclass(frozen=True)
class Product:
    """One group per combination of the groups of other blocks; only the listed combinations count."""

    parts: tuple[Simple, ...]
    combinations: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        return len(self.combinations)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    def codes(self, frame: Columns) -> Codes:
        known = np.array([self._key(combination) for combination in self.combinations], dtype=np.int64)
        return _places(known, frame.keys(self.parts), math.prod(part.size for part in self.parts))

    def code(self, row: Row) -> int:
        combination = tuple(part.code(row) for part in self.parts)
        return self._index.get(combination, -1)

    def condition(self, code: int) -> Condition:
        pairs = zip(self.parts, self.combinations[code], strict=True)
        return And(tuple(part.condition(member) for part, member in pairs))

    def _key(self, combination: tuple[int, ...]) -> int:
        key = 0
        for part, member in zip(self.parts, combination, strict=True):
            key = key * part.size + member
        return key

    @cached_property
    def _index(self) -> dict[tuple[int, ...], int]:
        return {combination: code for code, combination in enumerate(self.combinations)}


def _places(known: NDArray[np.int64], seen: NDArray[Any], space: int) -> Codes:
    """The place of each value among the known ones, which are sorted; -1 for others. Values lie in 0 … space − 1, or are -1."""
    if space <= LARGEST_TABLE:
        table = np.full(space + 1, -1, dtype=np.int16)
        table[known] = np.arange(known.size)
        return np.asarray(table[seen])  # -1 is the last
    place = np.searchsorted(known, seen)
    place[place == known.size] = 0
    codes = place.astype(np.int16)
    codes[known[place] != seen] = -1
    return codes


def _column_of_kind(frame: Columns, column: str, *kinds: str) -> nw.Series[Any] | None:
    """The column, which must be of one of these kinds; None where nothing is in it, as such a column has no kind of its own."""
    series = frame[column]
    from multivalid.groups.frames import numbers

    if kind_of_dtype(series.dtype) in kinds:
        return series
    if series.null_count() == len(series) or (series.dtype.is_float() and bool(np.isnan(numbers(series)).all())):
        return None
    raise InputError(
        f"groups: column {column!r} held {kinds[0]} values when the groups were fitted, "
        f"but here its type is {series.dtype}; convert it first."
    )
