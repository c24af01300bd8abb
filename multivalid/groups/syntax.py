"""Words to nodes, by the strength of operators. What is not listed here is refused, with a caret at its column.

The precedence is Python's, which users know; the text is never handed to Python's own parser, whose cost is not bounded by the
length of the text and whose grammar is far larger than this one.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple, NoReturn

from multivalid.errors import PredicateError
from multivalid.groups.calendar import PARTS
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
    columns,
    render,
)
from multivalid.groups.source import END, MAX_LENGTH, NAME, NUMBER, SIGN, STRING, Source, Token

MAX_DEPTH = 60
INT64 = range(-(2**63), 2**63)

# How strongly operators bind, weakest first.
OR, AND, NOT, COMPARE, SUM, PRODUCT = range(6)
_ORDER = ("==", "!=", "<", "<=", ">", ">=")
_STRENGTH = (
    {"or": OR, "and": AND} | dict.fromkeys((*_ORDER, "in", "not", "is"), COMPARE) | {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT}
)
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_FOLD = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_REFUSED = ("%", "&", "|", "^", "~", "@", "**", "//", "<<", ">>")
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_CONSTANTS: dict[str, Scalar] = {"True": True, "False": False}
_AFTER_A_VALUE = {
    "(": "calls are",
    ".": "an attribute (a dot after a name) is",
    "[": "a subscript (square brackets after a name) is",
    ":=": "an assignment is",
    ",": "a comma outside a list is",
}
_IN_PLACE_OF_A_VALUE = {"[": "a list outside 'in' is", "{": "a set outside 'in' is"}
_HINT = "only comparisons, and, or, not, in, is None and + - * / may be used; make a column for anything else"


class Piece(NamedTuple):
    """A term or condition, the character where it starts, and how many nodes deep it is."""

    node: Term | Condition
    at: int
    height: int = 0


def parse_condition(text: str, longest: int = MAX_LENGTH) -> Condition:
    """The condition a text stands for; `PredicateError` with a caret when it is not in the language."""
    source = Source(text, longest)
    try:
        return _Reader(source, source.tokens()).everything()
    except RecursionError:  # the caller is deep in calls already
        raise source.error(0, "the predicate is nested too deeply", "split it up") from None


class _Reader:
    """The grammar: every method reads on from the current word."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self._source = source
        self._tokens = tokens
        self._place = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        token = self._tokens[self._place]
        self._place += token.kind != END
        return token

    def _accept(self, *signs: str) -> bool:
        found = self._next.kind == SIGN and self._next.text in signs
        self._place += found
        return found

    def everything(self) -> Condition:
        whole = self._expression(OR, 0)
        if self._next.kind != END:
            self._refuse_after(whole)
        return self._condition(whole)

    # ---- operators ------------------------------------------------------------------------------------------------
    def _expression(self, least: int, depth: int) -> Piece:
        """All that operators of at least this strength hold together."""
        if depth > MAX_DEPTH:
            raise self._error(self._next.at, f"the predicate is nested more than {MAX_DEPTH} deep", "split it up")
        left = self._prefix(depth)
        while self._next.kind == SIGN and (strength := _STRENGTH.get(self._next.text, -1)) >= least:
            if strength >= SUM:
                left = self._calculation(left, strength, depth)
            elif strength == COMPARE:
                left = self._comparison(left, depth)
            else:
                left = self._join(left, strength, depth)
        if self._next.kind == SIGN and self._next.text in _REFUSED:
            raise self._error(left.at, "this operator is not part of the language", _HINT)
        return left

    def _prefix(self, depth: int) -> Piece:
        token = self._next
        if self._accept("not"):
            inner = self._expression(NOT, depth + 1)
            return self._piece(Not(self._condition(inner)), token.at, inner)
        if self._accept("-"):
            return self._negative(token, depth)
        return self._primary(depth)

    def _negative(self, sign: Token, depth: int) -> Piece:
        if self._next.kind == NUMBER:  # with its sign: -2**63 is an int64, 2**63 is not
            return Piece(self._literal(sign.at, -self._number(self._take())), sign.at)
        if depth > MAX_DEPTH:
            raise self._error(sign.at, f"the predicate is nested more than {MAX_DEPTH} deep", "split it up")
        inner = self._prefix(depth + 1)
        term = self._calculable(inner)
        if isinstance(term, Literal):
            assert not isinstance(term.value, str)
            return Piece(self._literal(sign.at, -term.value), sign.at)
        return self._piece(Negate(term), sign.at, inner)

    def _calculation(self, left: Piece, strength: int, depth: int) -> Piece:
        op = self._take().text
        first, right = self._calculable(left), self._expression(strength + 1, depth + 1)
        second = self._calculable(right)
        if isinstance(second, Literal) and op == "/" and second.value == 0:
            raise self._error(left.at, "this divides by zero", "divide by something else")
        if isinstance(first, Literal) and isinstance(second, Literal):
            # Constants are worked out here, once, so that engines only see arithmetic on columns.
            return Piece(self._literal(left.at, _FOLD[op](first.value, second.value)), left.at)
        return self._piece(Arithmetic(op, first, second), left.at, left, right)

    def _join(self, left: Piece, strength: int, depth: int) -> Piece:
        kind, word = (And, "and") if strength == AND else (Or, "or")
        pieces = [left]
        while self._accept(word):
            pieces.append(self._expression(strength + 1, depth + 1))
        parts: list[Condition] = []
        for piece in pieces:
            part = self._condition(piece)
            parts += part.parts if isinstance(part, kind) else [part]
        return self._piece(kind(tuple(parts)), left.at, *pieces)

    def _comparison(self, left: Piece, depth: int) -> Piece:
        """`a < b <= c` is `a < b and b <= c`, as in Python; `in` and `is` stand alone."""
        if self._next.text not in _ORDER:
            answer = self._piece(self._member_or_missing(left, depth), left.at, left)
            if self._next.kind == SIGN and _STRENGTH.get(self._next.text) == COMPARE:
                raise self._error(self._next.at, "this comparison goes on after 'in' or 'is'", "join two comparisons with and")
            return answer
        links: list[Condition] = []
        pieces = [left]
        while self._next.kind == SIGN and self._next.text in _ORDER:
            op = self._take().text
            pieces.append(self._expression(SUM, depth + 1))
            link = _column_first(op, self._term(pieces[-2]), self._term(pieces[-1]))
            if isinstance(link.right, Literal):
                link = Compare(link.op, link.left, Literal(self._number_of_name(link.left, link.right.value, pieces[-2].at)))
            links.append(self._with_column(link, pieces[-2].at))
        if self._next.kind == SIGN and _STRENGTH.get(self._next.text) == COMPARE:
            raise self._error(self._next.at, "'in' and 'is' do not go on a chain of comparisons", "join two comparisons with and")
        return self._piece(links[0] if len(links) == 1 else And(tuple(links)), left.at, *pieces)

    def _member_or_missing(self, left: Piece, depth: int) -> Condition:
        term, sign = self._term(left), self._take()
        if sign.text == "is":
            negated = self._accept("not")
            if not self._accept("None"):
                printed = self._next.text == "missing"  # as the names of such groups say it
                hint = f"write {render(term)} is None" if printed else "compare values with =="
                raise self._error(self._next.at, "'is' only goes with None", hint)
            return self._with_column(Missing(term, negated), left.at)
        if sign.text == "not" and not self._accept("in"):
            raise self._error(sign.at, "'not' stands before a condition, or before 'in'", "write: not x > 3, or: x not in [3]")
        choices = tuple(self._number_of_name(term, choice, left.at) for choice in self._choices(depth + 1))
        return self._with_column(Member(term, choices, sign.text == "not"), left.at)

    def _number_of_name(self, term: Term, constant: Scalar, at: int) -> Scalar:
        """Next to the part of a date a constant is its number, also where it is written as a name: 'Monday', 'June'."""
        if not isinstance(term, DatePart) or not isinstance(constant, str):
            return constant
        part = PARTS[term.part]
        number = part.number(constant)
        if number is None:
            known = f"a whole number, or a name from {part.names[0]} to {part.names[-1]}" if part.names else "a whole number"
            raise self._error(at, f"{constant!r} is no {term.part}", f"compare it with {known}")
        return number

    def _choices(self, depth: int) -> tuple[Scalar, ...]:
        opening = self._next
        if not self._accept(*_CLOSING):
            raise self._error(opening.at, "'in' needs a list of constants", "write for example origin in ['JFK', 'LGA']")
        values: list[Scalar] = []
        while not self._accept(_CLOSING[opening.text]):
            values.append(self._choice(depth))
            if not self._accept(",") and self._next.text != _CLOSING[opening.text]:
                interval = opening.text == "[" and self._next.text == ")" and len(values) == 2  # as the names of bins say it
                hint = (
                    f"write an interval as {values[0]} <= x < {values[1]}" if interval else f"end it with {_CLOSING[opening.text]}"
                )
                raise self._error(self._next.at, "this list is not closed", hint)
        if not values:
            raise self._error(opening.at, "this list is empty, so no row could be in it", "list at least one constant")
        kinds = {_kind(value) for value in values}
        if len(kinds) > 1:
            raise self._error(opening.at, f"this list mixes {' and '.join(sorted(kinds))}", "list constants of one kind")
        return tuple(dict.fromkeys(values))

    def _choice(self, depth: int) -> Scalar:
        piece = self._expression(SUM, depth)
        term = self._term(piece)
        if not isinstance(term, Literal):
            raise self._error(piece.at, "a list after 'in' may only hold constants", "compare columns with ==")
        return term.value

    # ---- values ---------------------------------------------------------------------------------------------------
    def _primary(self, depth: int) -> Piece:
        token = self._take()
        if token.kind == NAME:
            if token.text in PARTS and self._next == Token(SIGN, "(", self._next.at) and self._source.text[token.at] != "`":
                return self._date_part(token)
            self._refuse_tail(token)
            if token.text.startswith("__"):
                raise self._error(
                    token.at, f"names that start with two underscores ({token.text}) are refused", "rename the column"
                )
            return Piece(Column(token.text), token.at)
        if token.kind == NUMBER:
            return Piece(self._literal(token.at, self._number(token)), token.at)
        if token.kind == STRING:
            return Piece(self._literal(token.at, token.text), token.at)
        if token.text in _CONSTANTS:
            return Piece(Literal(_CONSTANTS[token.text]), token.at)
        if token.text == "(" and not (self._next.kind == SIGN and self._next.text == ")"):
            inner = self._expression(OR, depth + 1)
            if not self._accept(")"):
                self._refuse_after(inner, "this parenthesis is not closed", token.at)
            self._refuse_tail(token)
            return inner._replace(at=token.at)
        if token.text == "None":
            raise self._error(token.at, "None only goes with 'is'", "write: x is None, or: x is not None")
        if token.kind == END:
            raise self._error(token.at, "the predicate ends where a value is needed", _HINT)
        raise self._error(token.at, f"{_IN_PLACE_OF_A_VALUE.get(token.text, 'this is')} not part of the language", _HINT)

    def _date_part(self, start: Token) -> Piece:
        """`hour(t)`: the one thing that is written like a call."""
        self._take()
        name = self._take()
        if name.kind != NAME or not self._accept(")"):
            raise self._error(start.at, f"{start.text}(…) goes with the name of one column", f"write: {start.text}(t) == 6")
        return Piece(DatePart(start.text, Column(name.text)), start.at)

    def _refuse_tail(self, start: Token) -> None:
        """A call, an attribute or a subscript: named at the value it hangs on."""
        if self._next.kind == SIGN and self._next.text in ("(", ".", "["):
            raise self._error(start.at, f"{_AFTER_A_VALUE[self._next.text]} not part of the language", _HINT)

    def _refuse_after(self, left: Piece, problem: str | None = None, at: int | None = None) -> NoReturn:
        """What follows a complete expression and cannot."""
        token = self._next
        if token.text == "=":
            raise self._error(token.at, "= is not a comparison", f"write {self._equality(token)}")
        if token.kind == END:
            raise self._error(left.at if at is None else at, problem or "this does not read as a condition", _HINT)
        raise self._error(token.at, f"{_AFTER_A_VALUE.get(token.text, 'this is')} not part of the language", _HINT)

    def _equality(self, sign: Token) -> str:
        """How the group that is printed as `race = Caucasian` is written."""
        words, text = self._tokens[: self._place], self._source.text
        before = words[-4] if words[-1].text == ")" and len(words) > 3 and words[-4].text in PARTS else words[-1]
        after = text[sign.at + 1 :].partition(" & ")[0].strip()
        name = text[before.at : sign.at].strip()
        number = self._tokens[self._place + 1].kind == NUMBER or after.startswith(("'", '"', "-"))
        return f"{name} == {after if number else repr(after)}"

    def _number(self, token: Token) -> int | float:
        text = token.text
        try:
            if not text.strip("0123456789_"):
                if len(text) > 40 or (text[0] == "0" and text.strip("0_")):
                    problem = "this whole number is beyond 64 bits" if text[0] != "0" else "a whole number does not start with 0"
                    raise self._error(token.at, problem, "write it as a float, with a point")
                return int(text)
            return float(text)
        except ValueError:
            raise self._error(token.at, "this number cannot be read", "write it as 12, 1.5 or 1e-3") from None

    def _literal(self, at: int, value: Any) -> Literal:
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error(at, "this number is too large for a float64", "use a number below 1.8e308")
        if isinstance(value, int) and value not in INT64:
            raise self._error(at, "this whole number is beyond 64 bits", "write it as a float, with a point")
        if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
            raise self._error(at, "this string holds half a character (a surrogate)", "write the character itself")
        return Literal(value)

    # ---- what a piece may be used as --------------------------------------------------------------------------------
    def _condition(self, piece: Piece) -> Condition:
        node = piece.node
        if isinstance(node, Column):
            return Flag(node)
        if isinstance(node, DatePart | Literal | Negate | Arithmetic):
            raise self._error(piece.at, "this is a value, not a condition", 'compare it with something, as in "age >= 18"')
        return node

    def _term(self, piece: Piece) -> Term:
        if isinstance(piece.node, Column | DatePart | Literal | Negate | Arithmetic):
            return piece.node
        raise self._error(piece.at, "this is a condition where a value is needed", "join conditions with and, or")

    def _calculable(self, piece: Piece) -> Term:
        term = self._term(piece)
        if isinstance(term, Literal) and isinstance(term.value, bool | str):
            raise self._error(piece.at, f"{_kind(term.value)} cannot be calculated with", "use numbers with + - * /")
        return term

    def _with_column(self, condition: Condition, at: int) -> Condition:
        if not columns(condition):
            raise self._error(at, "this compares constants only", "a comparison needs at least one column")
        return condition

    def _piece(self, node: Term | Condition, at: int, *inside: Piece) -> Piece:
        height = 1 + max(piece.height for piece in inside)
        if height > MAX_DEPTH:
            raise self._error(at, f"the predicate is nested more than {MAX_DEPTH} deep", "split it up")
        return Piece(node, at, height)

    def _error(self, at: int, problem: str, hint: str) -> PredicateError:
        return self._source.error(at, problem, hint)


def _column_first(op: str, left: Term, right: Term) -> Compare:
    return Compare(_FLIPPED.get(op, op), right, left) if isinstance(left, Literal) else Compare(op, left, right)


def _kind(value: Scalar) -> str:
    return "a boolean" if isinstance(value, bool) else "a string" if isinstance(value, str) else "numbers"
