"""The functions of a formula as narwhals expressions, which an engine evaluates where the rows live."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from multivalid.properties.ops import WHOLE, product


class ExpressionOps:
    """The functions on expressions; plain numbers among the arguments are taken as float64."""

    def where(self, condition: nw.Expr, yes: Any, no: Any) -> nw.Expr:
        return where(condition, yes, no)

    def maximum(self, left: Any, right: Any) -> nw.Expr:
        return where(double(left) > double(right), left, right)

    def minimum(self, left: Any, right: Any) -> nw.Expr:
        return where(double(left) < double(right), left, right)

    def absolute(self, value: nw.Expr) -> nw.Expr:
        return value.abs()

    def exp(self, value: Any) -> nw.Expr:
        return double(value).exp()

    def log(self, value: Any) -> nw.Expr:
        return double(value).log()

    def power(self, value: nw.Expr, exponent: float) -> nw.Expr:
        return product(value, exponent) if exponent in WHOLE else value**exponent

    def number(self, condition: nw.Expr) -> nw.Expr:
        return condition.cast(nw.Float64)

    def filled(self, value: float, like: nw.Expr) -> nw.Expr:
        return nw.lit(value, dtype=nw.Float64)


def column(name: str) -> nw.Expr:
    """A column of the frame."""
    return nw.col(name)


def where(condition: nw.Expr, yes: Any, no: Any) -> nw.Expr:
    """`yes` where the condition holds, else `no`; whole numbers stay whole, for levels and codes are chosen with this too."""
    yes, no = (double(value) if isinstance(value, float) else value for value in (yes, no))
    return nw.when(condition).then(yes).otherwise(no)


def double(value: Any) -> nw.Expr:
    """A plain number as float64: an engine that reads it from text would take it for a decimal, whose products overflow."""
    return value if isinstance(value, nw.Expr) else nw.lit(float(value), dtype=nw.Float64)
