"""The few functions in which every formula is written, for NumPy arrays and for the expressions of an engine alike.

A formula such as V takes `ops` as its first argument, works with + − · / and comparisons on whatever it is given, and asks `ops` for the
rest. With `NUMPY` it computes; with `expressions()` it describes the same computation to whatever holds the rows: polars, DuckDB, Spark.

Examples
--------
>>> def hinge(ops, value, knot):
...     return ops.maximum(value - knot, 0.0)
>>> hinge(NUMPY, np.array([1.0, 4.0]), 3.0)
array([0., 1.])
>>> import narwhals as nw
>>> import polars as pl
>>> frame = nw.from_native(pl.LazyFrame({"y": [1.0, 4.0]}))
>>> frame.select(hinge(expressions(), nw.col("y"), 3.0)).collect()["y"].to_list()
[0.0, 1.0]
"""

from __future__ import annotations

from functools import cache, partial, reduce
from operator import mul
from typing import Any, Protocol

import numpy as np

from multivalid.errors import InputError


class Ops(Protocol):
    """What a formula may use besides arithmetic, comparisons, & and |."""

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        """`yes` where the condition holds, else `no`."""

    def maximum(self, left: Any, right: Any) -> Any:
        """The larger of two."""

    def minimum(self, left: Any, right: Any) -> Any:
        """The smaller of two."""

    def absolute(self, value: Any) -> Any:
        """The distance to zero."""

    def exp(self, value: Any) -> Any:
        """e to this power."""

    def log(self, value: Any) -> Any:
        """The natural logarithm."""

    def power(self, value: Any, exponent: float) -> Any:
        """A whole power is a product: engines differ in the last digit of their own power function."""

    def number(self, condition: Any) -> Any:
        """1.0 where a condition holds, else 0.0."""

    def filled(self, value: float, like: Any) -> Any:
        """The same number in every row."""


class NumpyOps:
    """The functions on arrays."""

    where = staticmethod(np.where)
    maximum = staticmethod(np.maximum)
    minimum = staticmethod(np.minimum)
    absolute = staticmethod(np.abs)
    exp = staticmethod(np.exp)
    log = staticmethod(np.log)
    number = staticmethod(partial(np.asarray, dtype=np.float64))

    @staticmethod
    def power(value: Any, exponent: float) -> Any:
        return product(value, exponent) if exponent in WHOLE else np.asarray(value) ** exponent

    @staticmethod
    def filled(value: float, like: Any) -> Any:
        return np.full(np.shape(like), value)


WHOLE = frozenset(range(1, 33))  # powers taken as products
NUMPY: Ops = NumpyOps()


def product(value: Any, exponent: float) -> Any:
    """A value multiplied by itself."""
    return reduce(mul, [value] * int(exponent))


def numpy_only(what: object) -> InputError:
    """The error for whatever an engine cannot evaluate."""
    return InputError(
        f"{what} has no moments that an engine could add up. Collect the rows into memory (or a random sample of them) and pass that "
        f"frame as data=."
    )


@cache
def expressions() -> Ops:
    """The functions on narwhals expressions; narwhals is imported when they are first asked for."""
    from multivalid.properties.expressions import ExpressionOps

    return ExpressionOps()
