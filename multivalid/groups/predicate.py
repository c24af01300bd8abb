"""A condition on rows, written as text: the one form that runs on every engine and is stored in a saved model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from multivalid.groups.nodes import Condition, columns, render
from multivalid.groups.rows import RowTest, row_test
from multivalid.groups.source import MAX_STORED
from multivalid.groups.syntax import parse_condition
from multivalid.lazy_names import narwhals as nw


@dataclass(frozen=True, repr=False)
class Predicate:
    """A condition that every row either meets or does not; made with `parse`.

    A comparison in which a value is missing (null, None, NaN) or a division by zero happens is false; `not` flips it.

    Attributes
    ----------
    text : str
        The canonical text: parsing it gives an equal predicate.

    Examples
    --------
    >>> late = parse("`arr delay` > 15  and origin in ('JFK', 'LGA')")
    >>> late
    Predicate("`arr delay` > 15 and origin in ['JFK', 'LGA']")
    >>> late.columns
    ('arr delay', 'origin')
    >>> late.holds({"arr delay": 20, "origin": "JFK"}), late.holds({"arr delay": None, "origin": "JFK"})
    (True, False)
    """

    text: str
    condition: Condition = field(compare=False)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns used, in the order of first use."""
        return columns(self.condition)

    def expression(self, schema: Mapping[str, nw.dtypes.DType]) -> nw.Expr:
        """The predicate as a boolean narwhals expression without nulls, for a frame (eager or lazy) with this schema.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = nw.from_native(pd.DataFrame({"age": [10.0, 30.0, None]}))
        >>> frame.select(adult=parse("age >= 18").expression(frame.schema))["adult"].to_list()
        [False, True, False]
        """
        from multivalid.groups.engine import condition_expression

        return condition_expression(self.condition, schema, self.text)

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Whether a single row, given as a mapping from column to value, meets the predicate."""
        return self._test(row)

    @cached_property
    def _test(self) -> RowTest:
        return row_test(self.condition, self.text)

    def __repr__(self) -> str:
        return f"Predicate({_quote(self.text)})"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        # The text is the whole predicate; the compiled closure could not be pickled.
        return stored, (self.text,)


def parse(text: str) -> Predicate:
    """Read a predicate.

    Parameters
    ----------
    text : str
        Comparisons (``==  !=  <  <=  >  >=``, also chained), ``and or not``, ``in`` / ``not in`` with a list of
        constants, ``is None`` / ``is not None``, ``+ - * /``, numbers, strings, ``True``, ``False`` and column names;
        a name that is not a plain word goes in backticks. The text is never evaluated as code.

    Raises
    ------
    PredicateError
        The text is not in the language; the message points at the column that is wrong.

    Examples
    --------
    >>> parse("18 <= age < 65 and not is_member").text
    'age >= 18 and age < 65 and not is_member'
    >>> parse("age > max(18, limit)")
    Traceback (most recent call last):
        ...
    multivalid.errors.PredicateError: predicate, column 7: calls are not part of the language.
        age > max(18, limit)
              ^
      Hint: only comparisons, and, or, not, in, is None and + - * / may be used; make a column for anything else.
    """
    condition = parse_condition(text)
    return Predicate(render(condition), condition)


def stored(text: str) -> Predicate:
    """A predicate from its canonical text, which may be longer than what a user may write."""
    condition = parse_condition(text, MAX_STORED)
    return Predicate(render(condition), condition)


def _quote(text: str) -> str:
    return f'"{text}"' if '"' not in text and "\\" not in text else repr(text)
