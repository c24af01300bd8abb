"""When rounds happened: numbers or dates, never earlier than the round before."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError

Array = NDArray[np.float64]
NUMBER, DATE = "number", "date"
PERIODS = {"day": "D", "week": "W", "month": "M", "year": "Y"}


def read_times(values: Any, rows: int) -> tuple[Array, str]:
    """Times as float64, with their kind: numbers as they are, dates as microseconds since 1970 (UTC where they have a zone).

    Examples
    --------
    >>> read_times([1, 2.5], 2)
    (array([1. , 2.5]), 'number')
    >>> read_times(np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]"), 2)[1]
    'date'
    """
    array = np.asarray(values)
    if array.dtype == object:
        array = _objects(array)
    if array.ndim != 1 or array.size != rows:
        raise InputError(f"time must have one value per row ({rows}), got an array of shape {array.shape}.")
    if array.dtype.kind == "M":
        if np.isnat(array).any():
            raise InputError(f"time has missing values, the first at row {np.flatnonzero(np.isnat(array))[0]}.")
        return array.astype("datetime64[us]").astype(np.int64).astype(np.float64), DATE
    if array.dtype.kind not in "iuf":
        raise InputError(f"time must hold numbers or dates, got values of type {array.dtype}; convert texts to dates first.")
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise InputError(f"time has missing or infinite values, the first at row {np.flatnonzero(~np.isfinite(numbers))[0]}.")
    return numbers, NUMBER


def check_order(times: Array, last: float | None, kind: str) -> None:
    """Refuse rows that are not in time order, also against the rounds before."""
    earlier = np.flatnonzero(np.diff(times, prepend=times[0] if last is None else last) < 0)
    if earlier.size:
        at = int(earlier[0])
        before = times[at - 1] if at else last
        raise InputError(
            f"time must not go back: row {at} is at {show_time(times[at], kind)}, after {show_time(before, kind)}; sort the rows by "
            f"time, and do not add rounds that are older than those already seen."
        )


def show_time(value: float | None, kind: str) -> str:
    """A time for a person.

    Examples
    --------
    >>> show_time(1.5, "number"), show_time(0.0, "date"), show_time(3.6e9, "date")
    ('1.5', '1970-01-01', '1970-01-01 01:00:00')
    """
    if value is None:
        return "–"
    if kind == NUMBER:
        return f"{value:.15g}"
    moment = np.datetime64(round(value), "us")
    whole = moment == moment.astype("datetime64[D]")
    return str(moment.astype("datetime64[D]")) if whole else str(moment.astype("datetime64[s]")).replace("T", " ")


def period_starts(times: Array, kind: str, period: str | float) -> Array:
    """The beginning of the period that each time lies in, in the units of `times`."""
    if isinstance(period, str):
        return _dates(times).astype(f"datetime64[{PERIODS[period]}]").astype("datetime64[us]").astype(np.int64).astype(np.float64)
    return np.floor(times / period) * period


def _dates(times: Array) -> NDArray[Any]:
    return np.round(times).astype(np.int64).astype("datetime64[us]")


def _objects(array: NDArray[Any]) -> NDArray[Any]:
    """Python dates and times as NumPy's."""
    found = [_naive(value) for value in array.ravel().tolist()]
    try:
        return (
            np.array(found, dtype="datetime64[us]")
            if all(isinstance(v, date) for v in found)
            else np.array(found, dtype=np.float64)
        )
    except (TypeError, ValueError):
        raise InputError(f"time must hold numbers or dates, all of one kind, got {array.ravel()[0]!r}.") from None


def _naive(value: Any) -> Any:
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) and value.tzinfo is not None else value
