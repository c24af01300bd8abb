"""What a user hands over, turned into float64 vectors or into an error that says what to change."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError

Vector = NDArray[np.float64]

# Said of labels only, by every function that reads them, whether it is one of those named or not.
CLASSES = "; audit, multicalibrate and discover take positive=, the value that counts as 1 (--positive on the command line)"
UNKNOWN = ' (audit, multicalibrate and discover take missing_rows="drop", the command line --missing-rows drop)'


def vector(values: Any, name: str) -> Vector:
    """A finite one-dimensional float64 copy-free view of `values`.

    Examples
    --------
    >>> vector([0, 1, True], "y_true")
    array([0., 1., 1.])
    """
    array = _numeric(values, name)
    if array.ndim != 1:
        two = array.ndim == 2 and array.shape[1] == 2
        hint = "pass the column of the event, such as predict_proba(X)[:, 1]" if two else "pass a single column"
        raise InputError(f"{name} must be one-dimensional, got an array of shape {array.shape}; {hint}.")
    return array


def columns(values: Any, name: str, width: int) -> Vector:
    """A finite float64 array of shape (rows, width), for predictions of a pair."""
    array = _numeric(values, name)
    if array.ndim != 2 or array.shape[1] != width:
        raise InputError(
            f"{name} must have {width} columns, one per coordinate of the property, got an array of shape {array.shape}."
        )
    return array


def weights(values: Any, rows: int, name: str = "sample_weight") -> Vector:
    """Non-negative weights with a positive sum; ones when nothing is given."""
    if values is None:
        return np.ones(rows)
    array = vector(values, name)
    same_length(array, rows, name, "y_true")
    negative = np.flatnonzero(array < 0)
    if negative.size:
        raise InputError(
            f"{name} must not be negative: {negative.size} negative values, the first at row {negative[0]} "
            f"({array[negative[0]]:g}); set the weight of rows to leave out to 0."
        )
    if not array.any():
        raise InputError(f"{name} is zero for every row; at least one row needs a positive weight.")
    return array


def same_length(array: NDArray[Any], rows: int, name: str, other: str) -> None:
    """Refuse two columns of different length."""
    if array.shape[0] != rows:
        raise InputError(f"{name} has {array.shape[0]} rows but {other} has {rows}; both must describe the same rows.")


def fraction(value: Any, name: str) -> float:
    """A number strictly between 0 and 1."""
    number = real(value, name)
    if not 0.0 < number < 1.0:
        percent = f"; for {number:g} % write {number / 100:g}" if 1.0 < number < 100.0 else "; choose a share such as 0.9 or 0.05"
        raise InputError(f"{name} must be strictly between 0 and 1, got {value!r}{percent}.")
    return number


def low_and_high(low: object, high: object) -> tuple[float, float]:
    """Two fractions, the first below the second."""
    ends = fraction(low, "low"), fraction(high, "high")
    if not ends[0] < ends[1]:
        raise InputError(f"low must be below high, got low={ends[0]!r}, high={ends[1]!r}.")
    return ends


def positive(value: Any, name: str) -> float:
    """A finite number above zero."""
    number = real(value, name)
    if number <= 0.0:
        raise InputError(f"{name} must be positive, got {value!r}.")
    return number


def real(value: Any, name: str) -> float:
    """A finite number (booleans and strings are refused)."""
    if isinstance(value, (bool, np.bool_, str, bytes)) or not np.isscalar(value):
        raise InputError(f"{name} must be a number, got {value!r}.")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number, got {value!r}.") from None
    if not np.isfinite(number):
        raise InputError(f"{name} must be finite, got {value!r}.")
    return number


def ends(values: Any, name: str) -> tuple[float, float]:
    """A pair (low, high) of finite numbers with low < high."""
    try:
        low, high = values
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a pair (low, high), got {values!r}.") from None
    low, high = real(low, f"{name}[0]"), real(high, f"{name}[1]")
    if not low < high:
        raise InputError(f"{name} must be (low, high) with low < high, got {values!r}.")
    return low, high


def count(value: Any, name: str, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def _numeric(values: Any, name: str) -> Vector:
    """Finite numbers in an array of any shape that has rows."""
    if isinstance(values, str):
        raise InputError(
            f"{name}={values!r} is the name of a column, but data=None; pass the frame as data=, or an array as {name}."
        )
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "biuf":
        values = np.ma.filled(values.astype(np.float64), np.nan)  # np.asarray would take what lies under the mask for data
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} cannot be read as an array of numbers: {error}.") from None
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{name} must hold numbers, got values of type {array.dtype}; convert the column first "
            f"(for example with .astype(float)){CLASSES if name == 'y_true' else ''}."
        )
    if array.size == 0:
        raise InputError(f"{name} is empty: at least one row is needed.")
    array = array.astype(np.float64, copy=False)
    bad = ~np.isfinite(array)
    if array.ndim and bad.any():
        first = int(np.flatnonzero(bad.reshape(array.shape[0], -1).any(axis=1))[0])
        raise InputError(
            f"{name} has {int(bad.sum())} missing or infinite values, the first at row {first}; "
            f"drop those rows or fill them in before calling{UNKNOWN if name == 'y_true' else ''}."
        )
    return array
