"""The shapes a group condition can take, and the text each is written as.

A *term* is a value per row (a column, a constant, arithmetic); a *condition* is true or false per row. The parser
builds these, `engine` turns them into frame expressions and `rows` into Python closures: one meaning everywhere.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from multivalid.groups.source import is_plain_name

Scalar: TypeAlias = int | float | str | bool


@dataclass(frozen=True)
class Column:
    """The value of a column."""

    name: str


@dataclass(frozen=True)
class Literal:
    """A constant written in the text."""

    value: Scalar


@dataclass(frozen=True)
class DatePart:
    """The year, month, weekday (1 is Monday) or hour of a column of dates or times, a whole number."""

    part: str
    column: Column


@dataclass(frozen=True)
class Negate:
    """Minus a number."""

    operand: Term


@dataclass(frozen=True)
class Arithmetic:
    """`left op right`, always in float64 so that no engine overflows or rounds integers its own way."""

    op: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Compare:
    """`left op right`: false when either side is missing. A constant is always on the right."""

    op: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Member:
    """`term in [choices]` or `term not in [choices]`: false, both of them, when the term is missing."""

    term: Term
    choices: tuple[Scalar, ...]
    negated: bool = False


@dataclass(frozen=True)
class Missing:
    """`term is None` or `term is not None`."""

    term: Term
    negated: bool = False


@dataclass(frozen=True)
class Flag:
    """A boolean column on its own: false when missing."""

    column: Column


@dataclass(frozen=True)
class Not:
    """The other rows, also those where something is missing."""

    operand: Condition


@dataclass(frozen=True)
class And:
    """All of the parts."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Or:
    """At least one of the parts."""

    parts: tuple[Condition, ...]


Term: TypeAlias = Column | DatePart | Literal | Negate | Arithmetic
Condition: TypeAlias = Compare | Member | Missing | Flag | Not | And | Or
Node: TypeAlias = Term | Condition

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_STRENGTH = {"or": 0, "and": 1, "not": 2, "compare": 3, "+": 4, "-": 4, "*": 5, "/": 5, "negate": 6, "atom": 7}


def columns(node: Node) -> tuple[str, ...]:
    """The names of the columns used, in the order of first use."""
    return tuple(dict.fromkeys(_names(node)))


def _names(node: Node) -> Iterator[str]:
    match node:
        case Column(name) | DatePart(_, Column(name)):
            yield name
        case Negate(inner) | Not(inner) | Member(inner, _, _) | Missing(inner, _) | Flag(inner):
            yield from _names(inner)
        case Arithmetic(_, left, right) | Compare(_, left, right):
            yield from _names(left)
            yield from _names(right)
        case And(parts) | Or(parts):
            for part in parts:
                yield from _names(part)


def render(node: Node) -> str:
    """The canonical text: parsing it gives the same node back.

    Examples
    --------
    >>> render(Not(Compare("<", Arithmetic("*", Column("arr delay"), Literal(2)), Literal(-1.5))))
    'not `arr delay` * 2 < -1.5'
    """
    return _write(node)[0]


def write_name(name: str) -> str:
    """A column name as the grammar wants it: bare where it is an identifier, in backticks otherwise."""
    return name if is_plain_name(name) else f"`{name}`"


def _write(node: Node) -> tuple[str, int]:
    match node:
        case Column(name) | Flag(Column(name)):
            return write_name(name), _STRENGTH["atom"]
        case DatePart(part, Column(name)):
            return f"{part}({write_name(name)})", _STRENGTH["atom"]
        case Literal(value):
            return repr(value), _STRENGTH["atom"]
        case Negate(inner):
            return "-" + _inside(inner, "negate"), _STRENGTH["negate"]
        case Arithmetic(op, left, right):
            # Floating point is not associative: the right side keeps its parentheses, even where schoolbooks drop them.
            return f"{_inside(left, op)} {op} {_inside(right, op, strictly=True)}", _STRENGTH[op]
        case Compare(op, left, right):
            return f"{_inside(left, '+')} {op} {_inside(right, '+')}", _STRENGTH["compare"]
        case Member(term, choices, negated):
            listed = ", ".join(repr(choice) for choice in choices)
            return f"{_inside(term, '+')} {'not in' if negated else 'in'} [{listed}]", _STRENGTH["compare"]
        case Missing(term, negated):
            return f"{_inside(term, '+')} {'is not' if negated else 'is'} None", _STRENGTH["compare"]
        case Not(inner):
            return "not " + _inside(inner, "not"), _STRENGTH["not"]
        case And(parts):
            return " and ".join(_inside(part, "and", strictly=True) for part in parts), _STRENGTH["and"]
        case Or(parts):
            return " or ".join(_inside(part, "or", strictly=True) for part in parts), _STRENGTH["or"]


def _inside(node: Node, around: str, *, strictly: bool = False) -> str:
    text, strength = _write(node)
    needed = _STRENGTH[around] + strictly
    return text if strength >= needed else f"({text})"
