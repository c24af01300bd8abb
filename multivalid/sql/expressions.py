"""Formulas as SQL text: what NumPy computes and narwhals describes, written out."""

from __future__ import annotations

from typing import Any

from multivalid.sql.dialects import Dialect


class Sql:
    """A number or condition as text; Python's operators write the longer text."""

    __slots__ = ("dialect", "text")

    def __init__(self, dialect: Dialect, text: str) -> None:
        self.dialect, self.text = dialect, text

    def _join(self, operator: str, other: Any, *, swapped: bool = False) -> Sql:
        left, right = self.text, written(self.dialect, other)
        return Sql(self.dialect, f"({right} {operator} {left})" if swapped else f"({left} {operator} {right})")

    def __add__(self, other: Any) -> Sql:
        return self._join("+", other)

    def __radd__(self, other: Any) -> Sql:
        return self._join("+", other, swapped=True)

    def __sub__(self, other: Any) -> Sql:
        return self._join("-", other)

    def __rsub__(self, other: Any) -> Sql:
        return self._join("-", other, swapped=True)

    def __mul__(self, other: Any) -> Sql:
        return self._join("*", other)

    def __rmul__(self, other: Any) -> Sql:
        return self._join("*", other, swapped=True)

    def __truediv__(self, other: Any) -> Sql:
        return self._join("/", other)

    def __rtruediv__(self, other: Any) -> Sql:
        return self._join("/", other, swapped=True)

    def __neg__(self) -> Sql:
        return Sql(self.dialect, f"(-{self.text})")

    def __gt__(self, other: Any) -> Sql:
        return self._join(">", other)

    def __ge__(self, other: Any) -> Sql:
        return self._join(">=", other)

    def __lt__(self, other: Any) -> Sql:
        return self._join("<", other)

    def __le__(self, other: Any) -> Sql:
        return self._join("<=", other)

    def __and__(self, other: Sql) -> Sql:
        return self._join("AND", other)

    def __or__(self, other: Sql) -> Sql:
        return self._join("OR", other)


def written(dialect: Dialect, value: Any) -> str:
    """The text of an expression, or of a plain number as a float64."""
    return value.text if isinstance(value, Sql) else dialect.number(float(value))


class SqlOps:
    """The functions of a formula (see `multivalid.properties.ops`), written in a dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect

    def where(self, condition: Sql, yes: Any, no: Any) -> Sql:
        return self._sql(f"CASE WHEN {condition.text} THEN {self._text(yes)} ELSE {self._text(no)} END")

    def maximum(self, left: Any, right: Any) -> Sql:
        first, second = self._text(left), self._text(right)
        return self._sql(f"CASE WHEN {first} > {second} THEN {first} ELSE {second} END")

    def minimum(self, left: Any, right: Any) -> Sql:
        first, second = self._text(left), self._text(right)
        return self._sql(f"CASE WHEN {first} < {second} THEN {first} ELSE {second} END")

    def absolute(self, value: Any) -> Sql:
        return self._sql(f"ABS({self._text(value)})")

    def exp(self, value: Any) -> Sql:
        return self._sql(f"EXP({self._text(value)})")

    def log(self, value: Any) -> Sql:
        return self._sql(f"LN({self._text(value)})")

    def power(self, value: Any, exponent: float) -> Sql:
        return self._sql(f"POWER({self._text(value)}, {self.dialect.number(exponent)})")

    def number(self, condition: Sql) -> Sql:
        return self.where(condition, 1.0, 0.0)

    def filled(self, value: float, like: Any) -> Sql:
        return self._sql(self._text(value))

    def _text(self, value: Any) -> str:
        return written(self.dialect, value)

    def _sql(self, text: str) -> Sql:
        return Sql(self.dialect, text)
