"""What a model adds for the groups of a row, looked up: it is worked out once per combination of the groups' columns, and joined.

A row is known by a code: whole numbers and truth values are packed into one number, by arithmetic that every engine does fast; texts stay
keys of their own. So no condition is evaluated row by row, however many groups there are.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.join_keys import WHOLE
from multivalid.evaluators import DenseMembers, NoColumns
from multivalid.groups.engine import balanced
from multivalid.groups.family import FittedGroups
from multivalid.groups.membership import Membership
from multivalid.groups.remote import Frame, join, schema_of
from multivalid.properties.expressions import where
from multivalid.properties.ops import NUMPY, Ops
from multivalid.sources.key_codes import Digits, values_of

LARGEST_TABLE = 1 << 22  # codes looked up in a table; beyond it they are searched for
ROOM = 1 << 52  # codes stay below this: they are whole numbers in float64 too
TALLIED = (*WHOLE, nw.String, nw.Categorical, nw.Enum)  # values that every engine tells apart alike
CODE = "__mv_code0"


@dataclass(frozen=True)
class Lines:
    """The combinations of values that occur: their keys, which the frame has as columns, and the groups of each."""

    table: dict[str, NDArray[Any]]
    membership: Membership
    digits: tuple[_Digit, ...] = ()  # of the code, the lowest first

    @classmethod
    def of(cls, frame: Frame, groups: FittedGroups, tallied: nw.DataFrame[Any] | None) -> tuple[Frame, Lines | None]:
        """The frame with its keys, and the lines, from combinations that were counted; None where there are none, or texts are missing."""
        known = frame.implementation
        if tallied is None or not groups.columns or not (known.is_duckdb() or known.is_polars() or known.is_pyspark()):
            return frame, None
        schema, names = schema_of(frame), list(groups.columns)
        lines = tallied.select(names)
        if len(tallied.columns) > len(names) + 1:  # they were counted by more columns than these
            lines = lines.unique()
        digits = [_Digit.of(name, lines[name]) for name in names if schema[name] in WHOLE]
        texts = [name for name in names if schema[name] not in WHOLE]
        if any(schema[name] != nw.String or lines[name].null_count() for name in texts):
            return frame, None
        sizes = [digit.size for digit in digits]
        if np.prod([float(size) for size in sizes]) > ROOM:
            return frame, None
        strides = [int(stride) for stride in np.cumprod([1, *sizes])[:-1]]
        code, table = np.zeros(len(lines), dtype=np.int64), {}
        for digit, stride in zip(digits, strides, strict=True):
            code += digit.values * stride
        keys = [nw.col(name).alias(f"__mv_code{i}") for i, name in enumerate(texts, 1)]
        if digits:
            parts = [digit.expression * stride for digit, stride in zip(digits, strides, strict=True)]
            keys, table = [balanced(parts, operator.add).alias(CODE), *keys], {CODE: code}
        table |= {f"__mv_code{i}": np.asarray(lines[name].to_list(), dtype=object) for i, name in enumerate(texts, 1)}
        members = groups.membership(lines.to_native(), n_rows=len(lines))
        return frame.with_columns(*keys), cls(table, members, tuple(digits))

    def join(self, frame: Frame, columns: dict[str, NDArray[Any]]) -> Frame:
        """The frame with these columns, one value per line."""
        if not columns:
            return frame
        return join(frame, list(self.table), self.table | columns)

    @property
    def by_code(self) -> bool:
        """Whether the code alone is the key."""
        return self.keys == (CODE,)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that rows are known by."""
        return tuple(self.table)

    def at(self, found: nw.DataFrame[Any]) -> Membership:
        """The groups of lines of a result that was grouped by the code."""
        return self.membership.take(self.numbers(np.asarray(found[CODE].to_numpy(), dtype=np.int64)))

    def numbers(self, codes: NDArray[np.int64]) -> NDArray[np.intp]:
        """The line of every code."""
        order, known = self._order
        if known[-1] < LARGEST_TABLE:
            return self._by_code[codes]
        return order[np.searchsorted(known, codes)]

    def lines_of(self, keys: Sequence[str], digits: Digits) -> NDArray[np.intp]:
        """The line of each code of other digits, of columns among which are those of these lines; anything where no row has the code."""
        values = values_of(np.arange(np.prod([digit.size for digit in digits])), digits)
        code, stride = np.zeros(values.shape[1], dtype=np.int64), 1
        for own in self.digits:
            value, missing = values[2 * keys.index(own.name) :][:2]
            code += np.clip(np.where(missing, own.size - 1, value - own.least), 0, own.size - 1) * stride
            stride *= own.size
        return self.numbers(np.minimum(code, self._order[1][-1]))

    @cached_property
    def _order(self) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        order = np.argsort(self.table[CODE])
        return order, self.table[CODE][order]

    @cached_property
    def _by_code(self) -> NDArray[np.intp]:
        order, known = self._order
        out = np.zeros(int(known[-1]) + 1, dtype=np.intp)
        out[known] = order
        return out


@dataclass(frozen=True)
class _Digit:
    """A column of whole numbers as a digit: its distance from the least value, or one more than the largest where it is missing."""

    name: str
    least: int
    expression: nw.Expr
    values: NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, name: str, series: nw.Series[Any]) -> _Digit:
        gone = np.asarray(series.is_null().to_numpy(), dtype=np.bool_)
        numbers = np.asarray(series.cast(nw.Int64).fill_null(0).to_numpy(), dtype=np.int64)
        there = numbers[~gone]
        least, most = (int(there.min()), int(there.max())) if there.size else (0, 0)
        column, missing = nw.col(name).cast(nw.Int64) - least, most - least + 1
        values = np.where(gone, missing, numbers - least)
        place = where(column.is_null(), nw.lit(missing, dtype=nw.Int64), column) if gone.any() else column
        return cls(name, least, place, values, missing + 1)


@dataclass
class LineMembers(NoColumns):
    """Groups of rows through their lines; what was asked is remembered as columns of the lines, to be joined."""

    lines: Lines
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    _names: dict[Any, str] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.Lock)  # rows pass by in lanes

    def total(self, values: Sequence[float]) -> nw.Expr:
        return nw.col(self._column(tuple(values), lambda: self._dense.total(values)))

    def total_of_lines(self, values: Sequence[float]) -> NDArray[np.float64]:
        """The same for the lines themselves."""
        return self.columns[self._column(tuple(values), lambda: self._dense.total(values))]

    def total_of_pairs(self, ops: Ops, pairs: Sequence[tuple[int, int]], values: Sequence[float]) -> nw.Expr:
        return nw.col(self._paired(pairs, values))

    def pairs_of_lines(self, pairs: Sequence[tuple[int, int]], values: Sequence[float]) -> NDArray[np.float64]:
        """The same for the lines themselves."""
        return self.columns[self._paired(pairs, values)]

    def holds(self, group: int) -> nw.Expr:
        return nw.col(self._held(group)) > 0

    def held_by_lines(self, group: int) -> NDArray[np.int64]:
        """The same for the lines themselves."""
        return self.columns[self._held(group)]

    def _held(self, group: int) -> str:
        return self._column(group, lambda: np.asarray(self._dense.holds(group)).astype(np.int64))

    def _paired(self, pairs: Sequence[tuple[int, int]], values: Sequence[float]) -> str:
        return self._column((tuple(pairs), tuple(values)), lambda: self._dense.total_of_pairs(NUMPY, pairs, values))

    @property
    def _dense(self) -> DenseMembers:
        return DenseMembers(self.lines.membership, 0, self.lines.membership.rows)

    def _column(self, asked: Any, values: Any) -> str:
        with self._lock:
            if asked not in self._names:
                self._names[asked] = f"__mv_line{len(self._names)}"
                self.columns[self._names[asked]] = values()
            return self._names[asked]


class PassingMembers(NoColumns):
    """Groups of rows that pass by, through their lines: what was worked out for the lines is taken for the rows."""

    def __init__(self, of_lines: LineMembers, line: NDArray[Any]) -> None:
        self._of_lines, self._line = of_lines, line

    def total(self, values: Sequence[float]) -> NDArray[np.float64]:
        return np.asarray(self._of_lines.total_of_lines(values)[self._line])

    def total_of_pairs(self, ops: Ops, pairs: Sequence[tuple[int, int]], values: Sequence[float]) -> NDArray[np.float64]:
        return np.asarray(self._of_lines.pairs_of_lines(pairs, values)[self._line])

    def holds(self, group: int) -> NDArray[np.bool_]:
        return np.asarray(self._of_lines.held_by_lines(group)[self._line] > 0)
