"""Columns of a data frame (pandas, polars, pyarrow, …) as NumPy vectors."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.validate import CLASSES, UNKNOWN


def column_or_values(frame: nw.DataFrame[Any] | None, given: Any, argument: str, *, text: bool = False) -> Any:
    """The column of the frame that is named, as a vector; what is given itself where it is no name, or there is no frame.

    A column holds numbers, unless `text` will do too; missing values are refused with their number and first row.
    """
    if frame is None or not isinstance(given, str):
        return given
    name = given
    if name not in frame.columns:
        raise unknown(name, frame.columns, argument)
    series = frame[name]
    if not text and not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        raise InputError(
            f"{argument}={name!r} must hold numbers, but the column has type {series.dtype}; convert it first"
            f"{CLASSES if argument == 'y_true' else ''}."
        )
    missing = series.is_null().to_numpy()
    if missing.any():
        raise InputError(
            f"{argument}={name!r} has {int(missing.sum())} missing values, the first at row {int(np.argmax(missing))}; "
            f"drop those rows or fill them in before calling{UNKNOWN if argument == 'y_true' else ''}."
        )
    return np.asarray(series.to_numpy())


def unknown(name: str, columns: Sequence[str], argument: str) -> InputError:
    """The error for a column that is not there, with the names that look like it."""
    near = difflib.get_close_matches(name, columns, n=3)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"columns: {', '.join(columns[:20])}."
    return InputError(f"{argument}={name!r} is not a column of data; {hint}")


def from_columns(columns: dict[str, Any], like: nw.DataFrame[Any] | None) -> Any:
    """A native frame of the caller's own kind; pandas, else polars, else pyarrow, when there was no frame to imitate."""
    if like is not None:
        return nw.from_dict(columns, backend=like.implementation).to_native()
    for backend in ("pandas", "polars", "pyarrow"):
        try:
            return nw.from_dict(columns, backend=backend).to_native()
        except ImportError:
            continue
    raise InputError("to_frame() needs a data frame library: install pandas, polars or pyarrow, or use .table.")


def with_column(frame: nw.DataFrame[Any], name: str, values: NDArray[Any]) -> Any:
    """The native frame with one more column (or that column replaced)."""
    series = nw.new_series(name=name, values=values, backend=frame.implementation)
    index = nw.maybe_get_index(frame)
    if index is not None:  # pandas aligns by index: without this a filtered frame would receive shuffled values
        series = nw.maybe_set_index(series, index=index)
    return frame.with_columns(series).to_native()
