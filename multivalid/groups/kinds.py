"""The five kinds of value a condition may compare, and how a constant becomes one of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from multivalid.errors import InputError
from multivalid.lazy_names import narwhals as nw

NUMBER, TEXT, BOOLEAN, DATE, DATETIME = "number", "text", "boolean", "date", "datetime"

_EPOCH, _MICROSECOND = dt.datetime(1970, 1, 1), dt.timedelta(microseconds=1)
_EXACT: dict[type, str] = {
    int: NUMBER,
    float: NUMBER,
    str: TEXT,
    bool: BOOLEAN,
    dt.date: DATE,
    dt.datetime: DATETIME,
}


def kind_of_dtype(dtype: nw.dtypes.DType) -> str | None:
    """The kind a column of this type holds; None when conditions cannot compare it."""
    if dtype.is_numeric():
        return NUMBER
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return TEXT
    if dtype == nw.Boolean:
        return BOOLEAN
    if dtype == nw.Date:
        return DATE
    return DATETIME if dtype == nw.Datetime else None


def kind_of_value(value: object) -> str | None:
    """The kind of a plain value, as `plain` returns it."""
    kind = _EXACT.get(type(value))
    if kind is None and isinstance(value, dt.datetime):  # a subclass, such as a pandas timestamp
        return DATETIME
    return kind


def plain(value: Any) -> Any:
    """A value of a row as a plain Python value, None when it is missing.

    Examples
    --------
    >>> plain(np.float32(0.5)), plain(float("nan")), plain(np.str_("a"))
    (0.5, None, 'a')
    """
    kind = type(value)
    if kind is float:
        return None if value != value else value
    if value is None or kind in _EXACT:
        return value
    return _plain_slowly(value)


def _plain_slowly(value: Any) -> Any:
    from decimal import Decimal

    if type(value).__name__ in ("NAType", "NaTType"):  # pandas, by name: this layer does not import it
        return None
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else _moment_of(value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Decimal):
        return plain(float(value))
    if isinstance(value, str):
        return str(value)
    return value


def _moment_of(value: np.datetime64) -> dt.datetime:
    """A time with its nanoseconds, which Python's own times do not have; pandas' have."""
    micro = value.astype("datetime64[us]")
    if micro != value:
        try:
            import pandas as pd
        except ImportError:
            return dt.datetime.fromisoformat(str(micro))
        stamp: dt.datetime = pd.Timestamp(value)
        return stamp
    return dt.datetime.fromisoformat(str(micro))


def moment(text: str, kind: str, zone: dt.tzinfo | None) -> dt.date | None:
    """An ISO date or time as a constant for a column of that kind; None when the text is not one.

    A time without an offset is read in the column's own time zone.
    """
    try:
        if kind == DATE:
            return dt.date.fromisoformat(text)
        when = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    if when.tzinfo is None:
        return when if zone is None else _existing(when.replace(tzinfo=zone))
    return when.astimezone(zone) if zone is not None else None


def _existing(when: dt.datetime) -> dt.datetime:
    """A time of its zone; where clocks go forward over it, as long after the change as it would have been."""
    try:
        return when.astimezone(dt.UTC).astimezone(when.tzinfo)
    except OverflowError:  # the last hours of the year 9999, the first of the year 1
        return when


def instant(when: Any) -> int:
    """Nanoseconds since 1970 of a time with a zone: two such times compare as the clock on the wall shows them, which goes back in autumn.

    Examples
    --------
    >>> from zoneinfo import ZoneInfo
    >>> first = dt.datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Paris"))
    >>> first == first.replace(fold=1), instant(first.replace(fold=1)) - instant(first) == 3_600_000_000_000
    (True, True)
    """
    wall = dt.datetime(when.year, when.month, when.day, when.hour, when.minute, when.second, when.microsecond)
    since: dt.timedelta = wall - _EPOCH - when.utcoffset()
    return since // _MICROSECOND * 1000 + int(getattr(when, "nanosecond", 0))


def unknown_column(name: object, known: Iterable[object], where: str = "the data") -> InputError:
    """The error for a column that is not there, with the names that look like it."""
    from difflib import get_close_matches

    names = [
        str(other) for other in known if not str(other).startswith("__mv_")
    ]  # those are ours, put beside the user's for a while
    near = get_close_matches(str(name), names, n=3)
    if near:
        hint = f"Did you mean {' or '.join(repr(other) for other in near)}?"
    elif names:
        hint = f"Columns: {', '.join(names[:10])}{', …' if len(names) > 10 else ''}."
    else:
        hint = "There are no columns."
    return InputError(f"groups: there is no column {str(name)!r} in {where}. {hint}")


def value_in(row: Mapping[str, Any], name: str) -> Any:
    """The plain value of a feature of a dict row."""
    try:
        value = row[name]
    except KeyError:
        raise unknown_column(name, row, "the row") from None
    return plain(value)
