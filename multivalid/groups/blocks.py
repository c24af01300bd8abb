"""Fitted groups, item by item. A block gives every row at most one of its codes: a column is looked at once, however many values.

Each block answers the same three questions: the codes of a frame's rows (−1 for none), the code of one dict row, and
the condition one of its groups stands for (which lazy engines run).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.groups.engine import condition_expression
from multivalid.groups.frames import booleans, numbers, text_values
from multivalid.groups.kinds import NUMBER, TEXT, kind_of_dtype, kind_of_value, value_in
from multivalid.groups.nodes import And, Column, Compare, Condition, Literal, Missing, columns, render
from multivalid.groups.rows import Row, RowTest, row_test

Codes = NDArray[np.int16]  # at most 10,000 groups per block


class Block(Protocol):
    """The groups of one item."""

    @property
    def size(self) -> int: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    def codes(self, frame: nw.DataFrame[Any]) -> Codes: ...
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

    def codes(self, frame: nw.DataFrame[Any]) -> Codes:
        return evaluate([self], frame)[0].astype(np.int16) - np.int16(1)

    def code(self, row: Row) -> int:
        return 0 if self._row_test(row) else -1

    def condition(self, code: int) -> Condition:
        return self.test

    def expression(self, frame: nw.DataFrame[Any]) -> nw.Expr:
        return condition_expression(self.test, frame.schema, render(self.test))

    @cached_property
    def _row_test(self) -> RowTest:
        return row_test(self.test, render(self.test))

    def __reduce__(self) -> tuple[object, tuple[Condition]]:
        return Holds, (self.test,)  # the compiled closure could not be pickled


def evaluate(blocks: Sequence[Holds], frame: nw.DataFrame[Any]) -> list[NDArray[np.bool_]]:
    """Many conditions in one pass over the frame."""
    answers = frame.select(*(block.expression(frame).alias(f"p{i}") for i, block in enumerate(blocks)))
    return [booleans(answers[f"p{i}"]) for i in range(len(blocks))]


@dataclass(frozen=True)
class Values:
    """One group per value of a text or integer column, in the order of the values."""

    column: str
    values: tuple[str, ...] | tuple[int, ...]
    kind: str

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def codes(self, frame: nw.DataFrame[Any]) -> Codes:
        series = frame[self.column]
        _check_kind(self.column, series.dtype, self.kind)
        return text_codes(series, self.values) if self.kind == TEXT else whole_codes(series, self.values)

    def code(self, row: Row) -> int:
        value = value_in(row, self.column)
        if value is None:
            return -1
        if kind_of_value(value) != self.kind:
            raise InputError(
                f"groups: column {self.column!r} held {self.kind} values when the groups were fitted, "
                f"but the row has {value!r} of type {type(value).__name__}."
            )
        return self._index.get(value, -1)

    def condition(self, code: int) -> Condition:
        return Compare("==", Column(self.column), Literal(self.values[code]))

    @cached_property
    def _index(self) -> dict[Any, int]:
        return {value: code for code, value in enumerate(self.values)}


def text_codes(series: nw.Series[Any], values: Sequence[Any]) -> Codes:
    """The place of each row's text among the values, -1 for others and for missing."""
    if not values:
        return np.full(len(series), -1, dtype=np.int16)
    places = list(range(len(values)))
    found = text_values(series).replace_strict(list(values), places, default=-1, return_dtype=nw.Int16)
    codes = np.array(found.to_numpy(), dtype=np.int16)
    codes[series.is_null().to_numpy()] = -1  # a categorical may have turned its nulls into text
    return codes


def whole_codes(series: nw.Series[Any], values: Sequence[Any]) -> Codes:
    """The same for whole numbers, also when a missing value has made the column a float one."""
    known = np.asarray(values, dtype=np.int64)
    if series.dtype.is_integer():
        missing = series.is_null().to_numpy()
        seen = np.asarray(series.fill_null(0).to_numpy())
    else:
        seen = numbers(series)
        missing = np.isnan(seen)
    place = np.searchsorted(known, seen)
    place[place == known.size] = 0
    codes = place.astype(np.int16)
    codes[missing | (known[place] != seen)] = -1
    return codes


@dataclass(frozen=True)
class Intervals:
    """One group per bin of a numeric column; the first and the last reach out to infinity."""

    column: str
    edges: tuple[float, ...]

    @property
    def size(self) -> int:
        return len(self.edges) - 1

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @cached_property
    def inner(self) -> tuple[float, ...]:
        return self.edges[1:-1]

    def codes(self, frame: nw.DataFrame[Any]) -> Codes:
        series = frame[self.column]
        _check_kind(self.column, series.dtype, NUMBER)
        values = numbers(series)
        codes = np.searchsorted(np.array(self.inner, dtype=np.float64), values, side="right").astype(np.int16)
        codes[np.isnan(values)] = -1
        return codes

    def code(self, row: Row) -> int:
        value = value_in(row, self.column)
        if value is None:
            return -1
        if kind_of_value(value) != NUMBER:
            raise InputError(f"groups: column {self.column!r} must hold numbers, but the row has {value!r}.")
        return bisect_right(self.inner, value)

    def condition(self, code: int) -> Condition:
        column = Column(self.column)
        sides: list[Condition] = []
        if code > 0:
            sides.append(Compare(">=", column, Literal(self.edges[code])))
        if code < self.size - 1:
            sides.append(Compare("<", column, Literal(self.edges[code + 1])))
        return And(tuple(sides)) if len(sides) == 2 else sides[0] if sides else Missing(column, negated=True)


@dataclass(frozen=True)
class Product:
    """One group per combination of the groups of other blocks; only the listed combinations count."""

    parts: tuple[Holds | Values | Intervals, ...]
    combinations: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        return len(self.combinations)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    def codes(self, frame: nw.DataFrame[Any]) -> Codes:
        keys = product_keys(self.parts, frame)
        known = np.array([self._key(combination) for combination in self.combinations], dtype=np.int64)
        place = np.searchsorted(known, keys)  # the combinations are sorted, so their keys are
        place[place == known.size] = 0
        codes = place.astype(np.int16)
        codes[known[place] != keys] = -1
        return codes

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


def product_keys(parts: Sequence[Block], frame: nw.DataFrame[Any]) -> NDArray[np.int64]:
    """One number per combination of codes, mixed radix; -1 where a part has none."""
    keys = np.zeros(len(frame), dtype=np.int64)
    outside = np.zeros(len(frame), dtype=np.bool_)
    for part in parts:
        codes = part.codes(frame)
        outside |= codes < 0
        keys = keys * part.size + codes
    keys[outside] = -1
    return keys


def _check_kind(column: str, dtype: nw.dtypes.DType, expected: str) -> None:
    if kind_of_dtype(dtype) != expected:
        raise InputError(
            f"groups: column {column!r} held {expected} values when the groups were fitted, "
            f"but here its type is {dtype}; convert it first."
        )
