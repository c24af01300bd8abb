"""Group conditions as SQL: the same two-valued answer as on a data frame, whatever is missing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from multivalid.groups.kinds import DATE, DATETIME, moment
from multivalid.groups.nodes import (
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
)
from multivalid.sql.dialects import Dialect

_OPERATORS = {"==": "=", "!=": "<>"}
_NEEDS_NAN_GUARD = (">", ">=", "!=")  # a NaN is above every number here, and equal to none


@dataclass(frozen=True)
class ConditionWriter:
    """Conditions over the columns of the table `src`; every answer is true or false, never null."""

    dialect: Dialect
    column: Callable[[str], str]

    def write(self, node: Condition) -> str:
        match node:
            case And(parts):
                return "(" + " AND ".join(self.write(part) for part in parts) + ")"
            case Or(parts):
                return "(" + " OR ".join(self.write(part) for part in parts) + ")"
            case Not(inner):
                return f"(NOT {self.write(inner)})"
            case Flag(column):
                name = self.column(column.name)
                return f"({name} IS NOT NULL AND {name})"
            case Missing(term, negated):
                return self._there(term) if negated else f"(NOT {self._there(term)})"
            case Member(term, choices, negated):
                return self._member(term, choices, negated)
            case Compare(op, left, right):
                return self._compare(op, left, right)

    def _compare(self, op: str, left: Term, right: Term) -> str:
        operator = _OPERATORS.get(op, op)
        if not isinstance(right, Literal):
            first, second = self._value(left), self._value(right)
            return f"({self._there(left)} AND {self._there(right)} AND {first} {operator} {second})"
        value = self._beside(left, right.value)
        if isinstance(right.value, str) and op not in ("==", "!=") and not _is_moment(right.value):
            value = self.dialect.ordered(value)
        number = not isinstance(right.value, (str, bool))
        guard = self._there(left) if number and op in _NEEDS_NAN_GUARD else f"{self._value(left)} IS NOT NULL"
        held = self._in_utc(left, (right.value,), lambda one: f"{value} {operator} {self.dialect.constant(one[0])}")
        return f"({guard} AND {held})"

    def _member(self, term: Term, choices: tuple[Scalar, ...], negated: bool) -> str:
        fractions = any(isinstance(choice, float) for choice in choices)
        kind = choices[0] if not fractions else 0.5
        value = self._beside(term, kind)
        if isinstance(kind, str):
            held = self._in_utc(term, choices, lambda all_: f"{value} IN ({', '.join(map(self.dialect.constant, all_))})")
            return f"({self._there(term)} AND {'NOT ' if negated else ''}({held}))"
        listed = [self.dialect.constant(float(choice) if fractions else choice) for choice in choices if choice != 0]
        found = [f"{value} IN ({', '.join(listed)})"] if listed else []
        if len(listed) < len(choices):  # zero on its own: -0.0 is not always found in a list that has 0
            found.append(f"{value} = {self.dialect.constant(0.0 if fractions else choices[0].__class__(0))}")
        held = "(" + " OR ".join(found) + ")"
        return f"({self._there(term)} AND {'NOT ' if negated else ''}{held})"

    def _in_utc(self, term: Term, constants: Sequence[Scalar], write: Callable[[Sequence[Scalar]], str]) -> str:
        """A comparison with constants; beside a column of instants those that are dates or times are meant in UTC.

        The type of the column is not known here, and the database would read them in the zone of its session.
        """
        as_given = write(constants)
        instants = self.dialect.is_instant(self._value(term)) if isinstance(term, Column) else None
        if instants is None or not any(isinstance(constant, str) and _is_moment(constant) for constant in constants):
            return as_given
        return f"CASE WHEN {instants} THEN {write([_instant(constant) for constant in constants])} ELSE {as_given} END"

    def _there(self, term: Term) -> str:
        """Neither null nor a NaN."""
        value = self._value(term)
        return f"({value} IS NOT NULL AND NOT {self.dialect.is_nan(value)})"

    def _beside(self, term: Term, constant: Scalar) -> str:
        """The term as it is compared with a constant: next to a fraction everything is float64."""
        value = self._value(term)
        return self.dialect.as_double(value) if isinstance(constant, float) and isinstance(term, Column | DatePart) else value

    def _value(self, term: Term) -> str:
        if isinstance(term, DatePart):
            return self.dialect.date_part(term.part, self.column(term.column.name))
        return self.column(term.name) if isinstance(term, Column) else self._number(term)

    def _number(self, term: Term) -> str:
        match term:
            case Column(name):
                return self.dialect.as_double(self.column(name))
            case DatePart():
                return self.dialect.as_double(self._value(term))
            case Literal(constant):
                return self.dialect.number(float(constant))
            case Negate(inner):
                return f"(-{self._number(inner)})"
            case Arithmetic("/", left, right):
                zero = self.dialect.number(0.0)
                return f"({self._number(left)} / NULLIF({self._number(right)}, {zero}))"
            case Arithmetic(op, left, right):
                return f"({self._number(left)} {op} {self._number(right)})"


def _instant(constant: Scalar) -> Scalar:
    when = moment(constant, DATETIME, dt.UTC) if isinstance(constant, str) else None
    return constant if when is None else when.isoformat()


def _is_moment(text: str) -> bool:
    """A constant that may stand for a date or a time, whose column has an order of its own."""
    return moment(text, DATE, None) is not None or moment(text, DATETIME, None) is not None
