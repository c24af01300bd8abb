"""Conditions as narwhals expressions: the same two-valued answer on pandas, polars, Arrow, DuckDB, Spark.

Engines disagree about missing values (pandas keeps NaN for null; polars and DuckDB sort NaN above every number), about
integer overflow and about division by zero. So every comparison is guarded by "both sides are there", arithmetic is
done in float64, and a zero divisor is made null before dividing. Only operations that lazy engines have are used.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import narwhals as nw

from multivalid.errors import PredicateError
from multivalid.groups.calendar import PARTS
from multivalid.groups.kinds import BOOLEAN, DATE, DATETIME, NUMBER, TEXT, kind_of_dtype, moment, unknown_column
from multivalid.groups.nodes import (
    COMPARE,
    And,
    Arithmetic,
    Column,
    Compare,
    Condition,
    DatePart,
    Flag,
    Literal,
    Member,
    Missing,
    Negate,
    Not,
    Or,
    Scalar,
    Term,
    columns,
    render,
)

Schema = Mapping[str, nw.dtypes.DType]
_CALCULATE: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_ABOVE, _BELOW = ("<", "<=", "!="), (">", ">=", "!=")  # what holds for a constant above, and below, every value
_UNSIGNED = (nw.UInt64, nw.UInt128)
_NANOSECONDS = (dt.datetime(1677, 9, 22, tzinfo=dt.UTC), dt.datetime(2262, 4, 11, tzinfo=dt.UTC))
_UNITS = ("s", "ms", "us", "ns")
_WITH = dict.fromkeys(PARTS, "dates or times") | {"hour": "times"}  # types that have such a part
ANYTHING = "anything"  # a column in which every value is missing has no kind of its own


@dataclass(frozen=True)
class _Value:
    """A term on its way to being compared: what it is called, its kind, and which rows have it."""

    label: str
    kind: str
    expr: nw.Expr
    present: tuple[nw.Expr, ...]
    is_float: bool = False
    dtype: nw.dtypes.DType | None = None

    @property
    def zone(self) -> str | None:
        return getattr(self.dtype, "time_zone", None)

    @property
    def unit(self) -> str | None:
        return getattr(self.dtype, "time_unit", None)

    def in_utc(self) -> _Value:
        expr = self.expr.dt.convert_time_zone("UTC")
        return replace(self, expr=expr, dtype=nw.Datetime(self.unit, "UTC"))  # type: ignore[arg-type]

    def as_float(self) -> nw.Expr:
        # Dividing, because Arrow refuses to cast whole numbers beyond 2**53; the quotient is float64 on every engine.
        return self.expr if self.is_float else self.expr / 1


def condition_expression(condition: Condition, schema: Schema, text: str) -> nw.Expr:
    """A boolean expression without nulls.

    Parameters
    ----------
    condition : Condition
    schema : mapping from column name to narwhals type
        Of the frame the expression is for: guards and casts depend on it.
    text : str
        What to show in an error.
    """
    return _Compiler(schema, text).condition(condition)


class Conditions(Protocol):
    """Groups that exclude each other, each with its condition."""

    @property
    def size(self) -> int: ...
    def condition(self, code: int) -> Condition: ...


def code_expression(block: Conditions, schema: Schema) -> nw.Expr:
    """The code of each row, -1 for none; the codes of a block exclude each other, so they may be added."""
    conditions = [block.condition(k) for k in range(block.size)]
    held = [condition_expression(one, schema, render(one)).cast(nw.Int64) * (k + 1) for k, one in enumerate(conditions)]
    return balanced(held, operator.add) - 1


class _Compiler:
    def __init__(self, schema: Schema, text: str) -> None:
        self._schema = schema
        self._text = text

    def condition(self, node: Condition) -> nw.Expr:
        match node:
            case And(parts):
                return balanced([self.condition(part) for part in parts], operator.and_)
            case Or(parts):
                return balanced([self.condition(part) for part in parts], operator.or_)
            case Not(inner):
                return ~self.condition(inner)
            case Flag(column):
                return self._flag(column)
            case Missing(term, negated):
                present = _all(self._value(term).present)
                return present if negated else ~present
            case Member(term, choices, negated):
                return self._member(self._value(term), choices, negated)
            case Compare(op, left, right):
                return self._compare(op, left, right)

    def _flag(self, column: Column) -> nw.Expr:
        value = self._value(column)
        if value.kind == ANYTHING:
            return value.present[0]
        if value.kind != BOOLEAN:
            raise self._error(f"{value.label} is not boolean", "compare it with something, as in: age >= 18")
        return _all((*value.present, value.expr))

    def _compare(self, op: str, left: Term, right: Term) -> nw.Expr:
        first = self._value(left)
        self._check_order(op, first)
        if isinstance(right, Literal):
            return _all((*first.present, self._against(op, first, right.value)))
        return self._compare_columns(op, first, self._value(right))

    def _compare_columns(self, op: str, first: _Value, second: _Value) -> nw.Expr:
        if None not in (first.zone, second.zone) and first.zone != second.zone:  # polars does not compare two zones
            first, second = first.in_utc(), second.in_utc()
        if ANYTHING in (first.kind, second.kind):
            return _all((*first.present, *second.present))  # one of them holds nothing, so no row is left
        if first.kind != second.kind or (first.zone is None) != (second.zone is None):
            raise self._error(f"{first.label} cannot be compared with {second.label}", "compare values of one type")
        pair = first.expr, second.expr
        if first.is_float or second.is_float:
            pair = first.as_float(), second.as_float()
        elif (first.dtype in _UNSIGNED) != (second.dtype in _UNSIGNED):
            return _all((*first.present, *second.present, _compare_signs(op, first, second)))
        elif first.unit != second.unit:
            return _all((*first.present, *second.present, _compare_units(op, first, second)))
        return _all((*first.present, *second.present, COMPARE[op](*pair)))

    def _member(self, value: _Value, choices: Sequence[Scalar], negated: bool) -> nw.Expr:
        kind = _kind_of_constant(choices[0])
        if kind == NUMBER == value.kind:
            found = _number_member(value, [choice for choice in choices if not isinstance(choice, str)])
        elif kind == TEXT == value.kind:
            found = value.expr.is_in(list(choices))
        else:
            found = balanced([self._against("==", value, choice) for choice in choices], operator.or_)
        return _all((*value.present, ~found if negated else found))

    def _against(self, op: str, value: _Value, constant: Scalar) -> nw.Expr:
        """The term compared with a constant, where it is there."""
        kind = _kind_of_constant(constant)
        if value.kind == ANYTHING:
            return value.present[0]
        if kind == NUMBER == value.kind:
            assert not isinstance(constant, str)
            return _compare_number(op, value, constant)
        if kind == value.kind:
            answer: nw.Expr = COMPARE[op](value.expr, constant)
            return answer
        if isinstance(constant, str) and value.kind in (DATE, DATETIME):
            when = moment(constant, value.kind, self._zone(value))
            if when is not None:
                return _compare_moment(op, value, when)
        raise self._error(f"{value.label} cannot be compared with {constant!r}", "compare it with a constant of its own type")

    def _zone(self, value: _Value) -> ZoneInfo | None:
        try:
            return None if value.zone is None else ZoneInfo(value.zone)
        except (ZoneInfoNotFoundError, ValueError):
            raise self._error(f"the time zone of {value.label} is not known here", "convert the column") from None

    def _check_order(self, op: str, value: _Value) -> None:
        if value.kind == BOOLEAN and op not in ("==", "!="):
            raise self._error(f"{value.label} has no order", "use it on its own, or with == or !=")

    def _value(self, term: Term) -> _Value:
        if isinstance(term, Column):
            return self._column(term.name)
        if isinstance(term, DatePart):
            return self._date_part(term)
        expr = self._number(term)
        names = ", ".join(repr(name) for name in columns(term))
        # inf - inf is NaN on every engine, and a null stays a null: the result itself says whether it is there.
        return _Value(f"{render(term)} (from {names})", NUMBER, expr, (~expr.is_null(), ~expr.is_nan()), is_float=True)

    def _date_part(self, term: DatePart) -> _Value:
        whole, label = self._column(term.column.name), render(term)
        if whole.kind == ANYTHING:
            return _Value(label, ANYTHING, whole.expr, whole.present)
        if whole.kind != DATETIME and (whole.kind != DATE or term.part == "hour"):
            raise self._error(f"{whole.label} has no {term.part}", f"{label} needs a column of {_WITH[term.part]}")
        assert whole.dtype is not None
        expr = PARTS[term.part].expression(whole.expr, whole.dtype)
        return _Value(label, NUMBER, expr, whole.present, is_float=True)

    def _number(self, term: Term) -> nw.Expr:
        match term:
            case Column() | DatePart():
                value = self._value(term)
                if value.kind == ANYTHING:
                    return value.expr.cast(nw.Float64)
                if value.kind != NUMBER:
                    raise self._error(f"{value.label} cannot be calculated with", "use + - * / on numbers")
                return value.as_float()
            case Negate(inner):
                return self._number(inner) * -1.0
            case Arithmetic("/", left, right):
                divisor = self._operand(right)
                if isinstance(divisor, nw.Expr):
                    divisor = nw.when(divisor != 0.0).then(divisor)  # no otherwise: null where it is zero
                quotient: nw.Expr = self._operand(left) / divisor
                return quotient
            case Arithmetic(op, left, right):
                result: nw.Expr = _CALCULATE[op](self._operand(left), self._operand(right))
                return result
        raise AssertionError(term)  # pragma: no cover - the parser has worked out constants

    def _operand(self, term: Term) -> Any:
        return float(term.value) if isinstance(term, Literal) else self._number(term)

    def _column(self, name: str) -> _Value:
        if name not in self._schema:
            raise unknown_column(name, self._schema)
        dtype = self._schema[name]
        kind = ANYTHING if dtype == nw.Unknown else kind_of_dtype(dtype)
        label = f"column {name!r} of type {dtype}"
        if kind is None:
            raise self._error(f"{label} cannot be used", "convert it to numbers, strings, booleans or dates first")
        column = nw.col(name)
        present = (~column.is_null(),)
        if kind == NUMBER:
            return _number_column(label, column, dtype, present)
        # Dictionary-encoded text compares by code on some engines: compare what is written.
        expr = column.cast(nw.String) if kind == TEXT and dtype != nw.String else column
        return _Value(label, kind, expr, present, dtype=dtype)

    def _error(self, problem: str, hint: str) -> PredicateError:
        return PredicateError(f"predicate {self._text!r}: {problem}. Hint: {hint}.")


def _number_column(label: str, column: nw.Expr, dtype: nw.dtypes.DType, present: tuple[nw.Expr, ...]) -> _Value:
    if dtype.is_float():
        present = (*present, ~column.is_nan())
    if dtype.is_integer():
        # Narrow integers would overflow, or refuse the constant, on some engines.
        wide = dtype in (nw.Int64, nw.UInt64, nw.Int128, nw.UInt128)
        return _Value(label, NUMBER, column if wide else column.cast(nw.Int64), present, dtype=dtype if wide else nw.Int64())
    expr = column if dtype == nw.Float64 else column.cast(nw.Float64)
    return _Value(label, NUMBER, expr, present, is_float=True)


def _kind_of_constant(constant: Scalar) -> str:
    return BOOLEAN if isinstance(constant, bool) else TEXT if isinstance(constant, str) else NUMBER


def _compare_number(op: str, value: _Value, constant: float) -> nw.Expr:
    """Whole numbers are compared exactly, everything else in float64."""
    answer: nw.Expr
    if value.is_float or not isinstance(constant, int):
        answer = COMPARE[op](value.as_float(), float(constant))
    elif value.dtype not in _UNSIGNED:
        answer = COMPARE[op](value.expr, constant)
    elif constant < 0:  # which no engine can compare with values beyond 2**63
        return _always(value, op in _BELOW)
    else:
        answer = COMPARE[op](value.expr, nw.lit(constant, dtype=value.dtype))
    return answer


def _number_member(value: _Value, choices: Sequence[float]) -> nw.Expr:
    if value.is_float or not all(isinstance(choice, int) for choice in choices):
        # Adding zero turns -0.0 into 0.0: hash tables of some engines tell them apart.
        return (value.as_float() + 0.0).is_in([float(choice) + 0.0 for choice in choices])
    possible = [choice for choice in choices if choice >= 0] if value.dtype in _UNSIGNED else list(choices)
    return value.expr.is_in(possible) if possible else _always(value, False)


def _compare_signs(op: str, first: _Value, second: _Value) -> nw.Expr:
    """Whole numbers with a sign and others that go beyond 2**63."""
    signed, unsigned = (second, first) if first.dtype in _UNSIGNED else (first, second)
    negative = signed.expr < 0
    raised = nw.when(negative).then(nw.lit(0)).otherwise(signed.expr).cast(nw.UInt64)
    pair = (raised, unsigned.expr) if signed is first else (unsigned.expr, raised)
    where_negative = op in (_ABOVE if signed is first else _BELOW)
    compared: nw.Expr = ~negative & COMPARE[op](*pair)
    return compared | negative if where_negative else compared


def _compare_units(op: str, first: _Value, second: _Value) -> nw.Expr:
    """Times of two units, both in the finer one, which some engines would round to the coarser; nanoseconds end in the year 2262."""
    coarse, fine = sorted((first, second), key=lambda value: _UNITS.index(value.unit or ""))
    finer = nw.Datetime(fine.unit, coarse.zone)  # type: ignore[arg-type]
    if fine.unit != "ns":
        return _in_order(op, first is coarse, coarse.expr.cast(finer), fine.expr)
    low, high = (when if coarse.zone else when.replace(tzinfo=None) for when in _NANOSECONDS)
    below, above = coarse.expr <= low, coarse.expr >= high
    raised = nw.when(~below & ~above).then(coarse.expr).cast(finer)
    compared = ~below & ~above & _in_order(op, first is coarse, raised, fine.expr).fill_null(False)
    for outside, holds in ((below, _ABOVE if first is coarse else _BELOW), (above, _BELOW if first is coarse else _ABOVE)):
        compared = compared | outside if op in holds else compared
    return compared


def _in_order(op: str, as_given: bool, left: nw.Expr, right: nw.Expr) -> nw.Expr:
    answer: nw.Expr = COMPARE[op](*((left, right) if as_given else (right, left)))
    return answer


def _compare_moment(op: str, value: _Value, when: dt.date) -> nw.Expr:
    """A date or a time, with constants that a column of nanoseconds cannot hold."""
    answer: nw.Expr
    if isinstance(when, dt.datetime) and isinstance(value.dtype, nw.Datetime) and value.dtype.time_unit == "ns":
        instant = when if when.tzinfo is not None else when.replace(tzinfo=dt.UTC)
        if not _NANOSECONDS[0] < instant < _NANOSECONDS[1]:
            return _always(value, op in (_ABOVE if instant > _NANOSECONDS[0] else _BELOW))
        answer = COMPARE[op](value.expr, nw.lit(when, dtype=value.dtype))
    elif isinstance(when, dt.datetime) and value.unit in ("s", "ms") and when.microsecond:
        # polars would cut the constant to the unit of the column.
        answer = COMPARE[op](value.expr.cast(nw.Datetime("us", value.zone)), when)
    else:
        answer = COMPARE[op](value.expr, when)
    return answer


def _always(value: _Value, answer: bool) -> nw.Expr:
    """True or false wherever the value is there."""
    there = value.present[0]
    return there if answer else ~there


def _all(parts: Sequence[nw.Expr]) -> nw.Expr:
    return balanced(parts, operator.and_)


def balanced(parts: Sequence[nw.Expr], join: Callable[[Any, Any], Any]) -> nw.Expr:
    """Join many conditions as a shallow tree: engines walk expressions recursively."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    joined: nw.Expr = join(balanced(parts[:half], join), balanced(parts[half:], join))
    return joined
