"""Text to nodes: Python's own parser, then a whitelist. Nothing is ever evaluated as code.

Why Python's parser: users already know its precedence, and a tree that only passes through the `match` statements below
cannot call, look up or import anything. What is not listed here is refused, with a caret at its column.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Iterator
from typing import Any

from multivalid.errors import PredicateError
from multivalid.groups.nodes import (
    And,
    Arithmetic,
    Column,
    Compare,
    Condition,
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
)
from multivalid.groups.source import Source

MAX_DEPTH = 60
INT64 = range(-(2**63), 2**63)

_COMPARISONS: dict[type[ast.AST], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_ARITHMETIC: dict[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_FOLD = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_REFUSED: dict[type[ast.AST], str] = {
    ast.Call: "calls are",
    ast.Attribute: "an attribute (a dot after a name) is",
    ast.Subscript: "a subscript (square brackets after a name) is",
    ast.Lambda: "a lambda is",
    ast.JoinedStr: "an f-string is",
    ast.NamedExpr: "an assignment is",
    ast.IfExp: "if/else is",
    ast.ListComp: "a comprehension is",
    ast.SetComp: "a comprehension is",
    ast.DictComp: "a comprehension is",
    ast.GeneratorExp: "a comprehension is",
    ast.List: "a list outside 'in' is",
    ast.Tuple: "a comma outside a list is",
    ast.Set: "a set outside 'in' is",
    ast.BinOp: "this operator is",
    ast.UnaryOp: "this operator is",
}
_HINT = "only comparisons, and, or, not, in, is None and + - * / may be used; make a column for anything else"


def parse_condition(text: str) -> Condition:
    """The condition a text stands for; `PredicateError` with a caret when it is not in the language."""
    source = Source(text)
    return _Reader(source).condition(source.tree(), 0)


class _Reader:
    """The whitelist: one method per rule of the grammar."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def condition(self, node: ast.expr, depth: int) -> Condition:
        self._check_depth(node, depth)
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                return And(tuple(self._flat(values, And, depth)))
            case ast.BoolOp(op=ast.Or(), values=values):
                return Or(tuple(self._flat(values, Or, depth)))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Not(self.condition(operand, depth + 1))
            case ast.Compare():
                return self._comparison(node, depth)
            case ast.Name():
                return Flag(self._column(node))
        self._term(node, depth)  # names the worse problem first: a call, a number out of range
        raise self._error(node, "this is a value, not a condition", 'compare it with something, as in "age >= 18"')

    def _flat(self, values: list[ast.expr], kind: type[And] | type[Or], depth: int) -> Iterator[Condition]:
        for value in values:
            part = self.condition(value, depth + 1)
            if isinstance(part, kind):
                yield from part.parts
            else:
                yield part

    def _comparison(self, node: ast.Compare, depth: int) -> Condition:
        """`a < b <= c` is `a < b and b <= c`, as in Python."""
        sides = [node.left, *node.comparators]
        links = [self._link(op, left, right, depth + 1) for op, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True)]
        return links[0] if len(links) == 1 else And(tuple(links))

    def _link(self, op: ast.cmpop, left: ast.expr, right: ast.expr, depth: int) -> Condition:
        term = self._term(left, depth)
        condition: Condition
        if isinstance(op, ast.Is | ast.IsNot):
            if not _is_none(right):
                raise self._error(right, "'is' only goes with None", "compare values with ==")
            condition = Missing(term, isinstance(op, ast.IsNot))
        elif isinstance(op, ast.In | ast.NotIn):
            condition = Member(term, self._choices(right, depth), isinstance(op, ast.NotIn))
        else:
            condition = _ordered(_COMPARISONS[type(op)], term, self._term(right, depth))
        if not columns(condition):
            raise self._error(left, "this compares constants only", "a comparison needs at least one column")
        return condition

    def _choices(self, node: ast.expr, depth: int) -> tuple[Scalar, ...]:
        if not isinstance(node, ast.List | ast.Tuple | ast.Set):
            raise self._error(node, "'in' needs a list of constants", "write for example origin in ['JFK', 'LGA']")
        if not node.elts:
            raise self._error(node, "this list is empty, so no row could be in it", "list at least one constant")
        values = [self._choice(element, depth + 1) for element in node.elts]
        kinds = {_kind(value) for value in values}
        if len(kinds) > 1:
            raise self._error(node, f"this list mixes {' and '.join(sorted(kinds))}", "list constants of one kind")
        return tuple(dict.fromkeys(values))

    def _choice(self, node: ast.expr, depth: int) -> Scalar:
        term = self._term(node, depth)
        if not isinstance(term, Literal):
            raise self._error(node, "a list after 'in' may only hold constants", "compare columns with ==")
        return term.value

    def _term(self, node: ast.expr, depth: int) -> Term:
        self._check_depth(node, depth)
        match node:
            case ast.Name():
                return self._column(node)
            case ast.Constant(value=value):
                return self._literal(node, value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if not isinstance(value, bool):
                return self._literal(node, -value)  # with its sign: -2**63 is an int64, 2**63 is not
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                term = self._number(operand, depth + 1)
                return self._literal(node, _negative(term)) if isinstance(term, Literal) else Negate(term)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                first, second = self._number(left, depth + 1), self._number(right, depth + 1)
                return self._arithmetic(node, _ARITHMETIC[type(op)], first, second)
            case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
                raise self._error(node, "this is a condition where a value is needed", "join conditions with and, or")
        raise self._error(node, f"{_REFUSED.get(type(node), 'this is')} not part of the language", _HINT)

    def _number(self, node: ast.expr, depth: int) -> Term:
        term = self._term(node, depth)
        if isinstance(term, Literal) and isinstance(term.value, bool | str):
            raise self._error(node, f"{_kind(term.value)} cannot be calculated with", "use numbers with + - * /")
        return term

    def _arithmetic(self, node: ast.expr, op: str, left: Term, right: Term) -> Term:
        if isinstance(right, Literal) and op == "/" and right.value == 0:
            raise self._error(node, "this divides by zero", "divide by something else")
        if isinstance(left, Literal) and isinstance(right, Literal):
            # Constants are worked out here, once, so that engines only see arithmetic on columns.
            return self._literal(node, _FOLD[op](left.value, right.value))
        return Arithmetic(op, left, right)

    def _literal(self, node: ast.expr, value: Any) -> Literal:
        if value is None:
            raise self._error(node, "None only goes with 'is'", "write: x is None, or: x is not None")
        if not isinstance(value, bool | int | float | str):
            raise self._error(node, f"a constant of type {type(value).__name__} is not part of the language", _HINT)
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error(node, "this number is too large for a float64", "use a number below 1.8e308")
        if isinstance(value, int) and value not in INT64:
            raise self._error(node, "this whole number is beyond 64 bits", "write it as a float, with a point")
        if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            raise self._error(node, "this string holds half a character (a surrogate)", "write the character itself")
        return Literal(value)

    def _column(self, node: ast.Name) -> Column:
        name = self._source.name(node)
        if name.startswith("__"):
            raise self._error(node, f"names that start with two underscores ({name}) are refused", "rename the column")
        return Column(name)

    def _check_depth(self, node: ast.expr, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise self._error(node, f"the predicate is nested more than {MAX_DEPTH} deep", "split it up")

    def _error(self, node: ast.expr, problem: str, hint: str) -> PredicateError:
        return self._source.error(node, problem, hint)


def _ordered(op: str, left: Term, right: Term) -> Compare:
    return Compare(_FLIPPED.get(op, op), right, left) if isinstance(left, Literal) else Compare(op, left, right)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _negative(term: Literal) -> int | float:
    assert not isinstance(term.value, str)  # _number has refused strings
    return -term.value


def _kind(value: Scalar) -> str:
    return "a boolean" if isinstance(value, bool) else "a string" if isinstance(value, str) else "numbers"
