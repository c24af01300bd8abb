"""Conditions as Python closures on one dict row, for the online learner: no frame is built.

Each closure answers what `engine` answers for the same row in a frame: two-valued, float64 arithmetic, the same
type errors.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from multivalid.errors import InputError, PredicateError
from multivalid.groups.calendar import PARTS
from multivalid.groups.kinds import BOOLEAN, DATE, DATETIME, NUMBER, instant, kind_of_value, moment, value_in
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
    render,
)

Row: TypeAlias = Mapping[str, Any]
RowTest: TypeAlias = Callable[[Row], bool]
RowValue: TypeAlias = Callable[[Row], Any]

_CALCULATE: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


EXACT = 2**53  # whole numbers below are the same as float64


def row_test(condition: Condition, text: str) -> RowTest:
    """A function from a row to True or False; `text` is what errors show."""
    test = _Compiler(text).condition(condition)

    def guarded(row: Row) -> bool:
        try:
            return test(row)
        except OverflowError:
            raise InputError(f"predicate {text!r}: a value of the row is too large for a float64.") from None

    return _sooner(condition, guarded)


def _sooner(condition: Condition, test: RowTest) -> RowTest:
    """The same answer as `test`, sooner where a column is compared with a constant and its value has the usual type."""
    kind: type[Any]
    constant: Scalar
    match condition:
        case Compare(op, Column(name), Literal(str() as text)):
            kind, constant = str, text
        case Compare(op, Column(name), Literal(int() | float() as number)) if type(number) is not bool and abs(number) < EXACT:
            kind, constant = float, float(number)
        case _:
            return test
    compare, differs = COMPARE[op], op == "!="

    def quick(row: Row) -> bool:
        value = row.get(name)
        if type(value) is kind and (not differs or value == value):  # a NaN compares with nothing, but differs from everything
            answer: bool = compare(value, constant)
            return answer
        return test(row)

    return quick


class _Compiler:
    def __init__(self, text: str) -> None:
        self._text = text

    def condition(self, node: Condition) -> RowTest:
        match node:
            case And(parts):
                tests = [self.condition(part) for part in parts]
                return lambda row: all(test(row) for test in tests)
            case Or(parts):
                tests = [self.condition(part) for part in parts]
                return lambda row: any(test(row) for test in tests)
            case Not(inner):
                test = self.condition(inner)
                return lambda row: not test(row)
            case Flag(column):
                return self._flag(column)
            case Missing(term, negated):
                value = self._value(term)
                return lambda row: (value(row) is None) is not negated
            case Member(term, choices, negated):
                return self._member(term, choices, negated)
            case Compare(op, left, right):
                return _sooner(node, self._compare(op, left, right))

    def _flag(self, column: Column) -> RowTest:
        name = column.name

        def test(row: Row) -> bool:
            value = value_in(row, name)
            if value is True or value is False:
                return value is True
            if value is None:
                return False
            raise self._mismatch(column, value, "is not boolean")

        return test

    def _compare(self, op: str, left: Term, right: Term) -> RowTest:
        compare, ordered = COMPARE[op], op not in ("==", "!=")
        first, second = self._value(left), self._value(right)
        constant = right.value if isinstance(right, Literal) else None

        def test(row: Row) -> bool:
            a, b = first(row), second(row)
            if a is None or b is None:
                return False
            kind = kind_of_value(a)
            if kind is None or (ordered and kind == BOOLEAN):
                raise self._mismatch(left, a, "cannot be compared this way")
            if kind == NUMBER == kind_of_value(b):
                if type(a) is not type(b):
                    a, b = float(a), float(b)
            elif kind != kind_of_value(b):
                b = self._convert(left, a, constant, b)
            elif kind == DATETIME and (a.tzinfo is None) != (b.tzinfo is None):
                raise self._mismatch(left, a, f"cannot be compared with {b!r}")
            if kind == DATETIME and a.tzinfo is not None:
                a, b = instant(a), instant(b)
            return bool(compare(a, b))

        return test

    def _member(self, term: Term, choices: tuple[Scalar, ...], negated: bool) -> RowTest:
        value = self._value(term)
        kind = kind_of_value(choices[0])
        # Next to a fraction everything is compared in float64, as in `engine`.
        whole = all(type(choice) is int for choice in choices)
        chosen = frozenset(choices if kind != NUMBER or whole else map(float, choices))
        floats = frozenset(map(float, choices)) if kind == NUMBER else frozenset()

        def test(row: Row) -> bool:
            a = value(row)
            if a is None:
                return False
            if kind_of_value(a) != kind:
                whens = [self._convert(term, a, choice, choice) for choice in choices]
                aware = getattr(a, "tzinfo", None) is not None
                found = instant(a) in map(instant, whens) if aware else a in whens
            elif kind == NUMBER and (type(a) is float or not whole):
                found = float(a) in floats
            else:
                found = a in chosen
            return found is not negated

        return test

    def _convert(self, term: Term, value: Any, constant: Scalar | None, other: Any) -> dt.date:
        """A constant string as the date or time it stands for next to this value."""
        kind = kind_of_value(value)
        if isinstance(constant, str) and kind in (DATE, DATETIME):
            when = moment(constant, kind, getattr(value, "tzinfo", None))
            if when is not None:
                return when
        raise self._mismatch(term, value, f"cannot be compared with {other!r}")

    def _value(self, term: Term) -> RowValue:
        match term:
            case Column(name):
                return lambda row: value_in(row, name)
            case Literal(constant):
                return lambda row: constant
            case DatePart():
                return self._date_part(term)
        number = self._number(term)

        def present(row: Row) -> float | None:
            result = number(row)
            return None if result is None or result != result else result

        return present

    def _number(self, term: Term) -> Callable[[Row], float | None]:
        match term:
            case Literal(constant):
                known = float(constant)
                return lambda row: known
            case Column(name):
                return self._number_column(term, name)
            case DatePart():
                part = self._date_part(term)
                return lambda row: None if (value := part(row)) is None else float(value)
            case Negate(inner):
                operand = self._number(inner)
                return lambda row: None if (value := operand(row)) is None else value * -1.0
            case Arithmetic(op, left, right):
                return self._arithmetic(op, self._number(left), self._number(right))

    def _date_part(self, term: DatePart) -> Callable[[Row], int | None]:
        def read(row: Row) -> int | None:
            value = value_in(row, term.column.name)
            if value is None:
                return None
            kind = kind_of_value(value)
            if kind != DATETIME and (kind != DATE or term.part == "hour"):
                raise self._mismatch(term.column, value, f"has no {term.part}")
            return PARTS[term.part].of(value)

        return read

    def _number_column(self, column: Term, name: str) -> Callable[[Row], float | None]:
        def read(row: Row) -> float | None:
            value = value_in(row, name)
            if value is None:
                return None
            if kind_of_value(value) != NUMBER:
                raise self._mismatch(column, value, "cannot be calculated with")
            return float(value)

        return read

    def _arithmetic(
        self, op: str, left: Callable[[Row], float | None], right: Callable[[Row], float | None]
    ) -> Callable[[Row], float | None]:
        calculate = _CALCULATE[op]
        dividing = op == "/"

        def result(row: Row) -> float | None:
            a, b = left(row), right(row)
            if a is None or b is None or (dividing and b == 0.0):
                return None
            return calculate(a, b)

        return result

    def _mismatch(self, term: Term, value: object, problem: str) -> PredicateError:
        what = f"column {term.name!r}" if isinstance(term, Column) else render(term)
        return PredicateError(
            f"predicate {self._text!r}: {what} of type {type(value).__name__} {problem} (the value is {value!r}). "
            f"Hint: compare it with a constant of its own type."
        )
