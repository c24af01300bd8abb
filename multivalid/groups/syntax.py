"""Text to nodes: Python's own parser, then a whitelist. Nothing is ever evaluated as code.

Why Python's parser: users already know its precedence, and an expression tree that only ever passes through the `match`
below cannot call, look up or import anything. What is not listed here is refused, with a caret at the column.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

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

MAX_LENGTH = 10_000
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
_ARITHMETIC: dict[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_FOLD: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}
_REFUSED: dict[type[ast.AST], str] = {
    ast.Call: "calls are not part of the language",
    ast.Attribute: "attributes (a dot after a name) are not part of the language",
    ast.Subscript: "subscripts (square brackets after a name) are not part of the language",
    ast.Lambda: "lambdas are not part of the language",
    ast.JoinedStr: "f-strings are not part of the language",
    ast.NamedExpr: "assignments are not part of the language",
    ast.IfExp: "if/else is not part of the language",
    ast.Starred: "the star is not part of the language",
}
_TOKEN = re.compile(
    r"""(?P<string>'(?:[^'\\\n\r]|\\[^\n\r])*'|"(?:[^"\\\n\r]|\\[^\n\r])*")|(?P<name>`[^`\n\r]*`)|(?P<space>\s)|(?P<other>.)""",
    re.DOTALL,
)
_UNFINISHED = {
    "'": ("this string is not closed", "end it with the same quote, on the same line"),
    '"': ("this string is not closed", "end it with the same quote, on the same line"),
    "`": ("this column name is not closed", "end it with a backtick"),
    "#": ("comments are not part of the language", "leave the comment out"),
    "\\": ("a backslash may only stand inside a string", "leave it out; a long predicate may simply span several lines"),
    "@": ("the operator @ is not part of the language", "use + - * /"),
    "$": ("the character $ is not part of the language", "write a column name with special characters in backticks"),
}
_GRAMMAR = "combine comparisons of columns and constants with and, or, not, in, is None and + - * /"


def parse_condition(text: str) -> Condition:
    """The condition a text stands for; `PredicateError` with a caret when it is not in the language."""
    if not isinstance(text, str):
        raise PredicateError(f"a predicate is a string such as \"age >= 18\", got {type(text).__name__}.")
    if len(text) > MAX_LENGTH:
        raise PredicateError(
            f"a predicate may have at most {MAX_LENGTH:,} characters, this one has {len(text):,}; "
            f"make a boolean column for it and name that column. It starts: {_printable(text[:60])}"
        )
    return _Reader(text).read()


def fail(text: str, at: int, problem: str, hint: str) -> PredicateError:
    """The error for the character `at` of `text`: what is wrong, the text with a caret, what to do."""
    at = min(max(at, 0), len(text))
    start = max(0, at - 50)
    window = _printable(text[start : at + 50])
    return PredicateError(
        f"predicate, column {at + 1}: {problem}.\n    {window}\n    {' ' * (at - start)}^\n  Hint: {hint}."
    )


def _printable(text: str) -> str:
    # One character for one character, so that the caret stays where it belongs and any terminal can show the message.
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)


@dataclass
class _Reader:
    """One pass over one text. Offsets are characters of the text as the user wrote it."""

    text: str

    def read(self) -> Condition:
        self.quoted: dict[int, str] = {}
        source = self._scan()
        self.indent = len(source) - len(source.lstrip(" "))
        self.source = source.strip(" ")
        if not self.source:
            raise fail(self.text, 0, "the predicate is empty", 'write a condition such as "age >= 18"')
        self.encoded = self.source.encode()
        return self._condition(self._parse(), 0)

    def _scan(self) -> str:
        """The text for Python's parser, with every character in its place: one line, backticked names blanked out."""
        pieces = []
        for token in _TOKEN.finditer(self.text):
            kind, piece, at = token.lastgroup, token.group(), token.start()
            if kind == "name":
                self.quoted[at] = self._checked_name(piece[1:-1], at)
                piece = "_" * len(piece)  # found again by its place, so it does not matter that it is not unique
            elif kind == "space":
                piece = " "
            elif kind == "other":
                self._check_character(piece, at)
            elif self.text[at : at + 3] in ("'''", '"""'):
                raise self._error(at, "triple quotes are not part of the language", "use single quotes")
            pieces.append(piece)
        return "".join(pieces)

    def _check_character(self, character: str, at: int) -> None:
        if character in _UNFINISHED:
            raise self._error(at, *_UNFINISHED[character])
        if not character.isprintable():
            raise self._error(at, f"the character U+{ord(character):04X} is not part of the language", "leave it out")

    def _parse(self) -> ast.expr:
        hint = f"{_GRAMMAR}; a column name that is not a plain word goes in backticks"
        try:
            # A warning of the parser (a stray escape such as '\d', '1or') means the text is not what it seems: refuse it.
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return ast.parse(self.source, mode="eval").body
        except SyntaxError as error:
            at = self.indent + max((error.offset or 1) - 1, 0)
            raise self._error(at, f"this does not read as a condition ({error.msg})", hint) from None
        except (MemoryError, RecursionError):
            raise self._too_deep(self.indent) from None
        except (ValueError, OverflowError, Warning) as error:
            raise self._error(self.indent, f"this cannot be read ({_printable(str(error))})", hint) from None

    # -- conditions ----------------------------------------------------------------------------------------------------

    def _condition(self, node: ast.expr, depth: int) -> Condition:
        self._check_depth(node, depth)
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                return And(tuple(self._flat(values, And, depth)))
            case ast.BoolOp(op=ast.Or(), values=values):
                return Or(tuple(self._flat(values, Or, depth)))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Not(self._condition(operand, depth + 1))
            case ast.Compare():
                return self._comparison(node, depth)
            case ast.Name():
                return Flag(self._column(node))
            case ast.Constant() | ast.BinOp() | ast.UnaryOp():
                self._term(node, depth)  # names a worse problem first: a bit operator, a number out of range
                raise self._error_at(node, "this is a value, not a condition", 'compare it with something, as in "age >= 18"')
        raise self._refused(node)

    def _flat(self, values: list[ast.expr], kind: type[And] | type[Or], depth: int) -> Iterator[Condition]:
        for value in values:
            part = self._condition(value, depth + 1)
            if isinstance(part, kind):
                yield from part.parts
            else:
                yield part

    def _comparison(self, node: ast.Compare, depth: int) -> Condition:
        """`a < b <= c` is `a < b and b <= c`, as in Python."""
        sides = [node.left, *node.comparators]
        links = [
            self._link(op, left, right, depth)
            for op, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True)
        ]
        return links[0] if len(links) == 1 else And(tuple(links))

    def _link(self, op: ast.cmpop, left: ast.expr, right: ast.expr, depth: int) -> Condition:
        term = self._term(left, depth + 1)
        condition: Condition
        if isinstance(op, ast.Is | ast.IsNot):
            if not (isinstance(right, ast.Constant) and right.value is None):
                raise self._error_at(right, "'is' only goes with None", "compare values with ==")
            condition = Missing(term, isinstance(op, ast.IsNot))
        elif isinstance(op, ast.In | ast.NotIn):
            condition = Member(term, self._choices(right, depth + 1), isinstance(op, ast.NotIn))
        else:
            condition = Compare(_COMPARISONS[type(op)], term, self._term(right, depth + 1))
        if not columns(condition):
            raise self._error_at(left, "this compares constants only", "a comparison needs at least one column")
        return condition

    def _choices(self, node: ast.expr, depth: int) -> tuple[Scalar, ...]:
        if not isinstance(node, ast.List | ast.Tuple | ast.Set):
            raise self._error_at(node, "'in' needs a list of constants", "write for example origin in ['JFK', 'LGA']")
        if not node.elts:
            raise self._error_at(node, "this list is empty, so no row could be in it", "list at least one constant")
        values = [self._choice(element, depth) for element in node.elts]
        kinds = {_kind(value) for value in values}
        if len(kinds) > 1:
            raise self._error_at(node, f"this list mixes {' and '.join(sorted(kinds))}", "list constants of one kind")
        return tuple(dict.fromkeys(values))

    def _choice(self, node: ast.expr, depth: int) -> Scalar:
        if isinstance(node, ast.Constant) and node.value is None:
            raise self._error_at(node, "None cannot be in a list", "write: x is None or x in [...]")
        term = self._term(node, depth)
        if not isinstance(term, Literal):
            raise self._error_at(node, "a list after 'in' may only hold constants", "compare columns with ==")
        return term.value

    # -- terms ---------------------------------------------------------------------------------------------------------

    def _term(self, node: ast.expr, depth: int) -> Term:
        self._check_depth(node, depth)
        match node:
            case ast.Name():
                return self._column(node)
            case ast.Constant(value=value):
                # 2**63 is let through here: only with its minus sign is it an int64, and _literal sees that.
                return self._literal(node, value, extra=1)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._negated(node, self._number(operand, depth + 1))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                sides = self._number(left, depth + 1), self._number(right, depth + 1)
                return self._folded(node, _ARITHMETIC[type(op)], *sides)
            case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
                raise self._error_at(node, "this is a condition where a value is needed", "combine conditions with and, or, not")
        raise self._refused(node)

    def _number(self, node: ast.expr, depth: int) -> Term:
        term = self._term(node, depth)
        if isinstance(term, Literal) and isinstance(term.value, bool | str):
            raise self._error_at(node, f"{_kind(term.value)} cannot be calculated with", "use numbers with + - * /")
        return term
