"""The caller's frame, opened with narwhals, and its columns as NumPy arrays."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.groups.kinds import unknown_column
from multivalid.lazy_names import narwhals as nw


def open_frame(data: Any, columns: Iterable[str] | None = None) -> nw.DataFrame[Any]:
    """The native frame as a narwhals frame, with only the named columns when they are given.

    An object column of pandas that holds booleans and None comes out as a nullable boolean one, categories as text.

    Examples
    --------
    >>> import pandas as pd
    >>> open_frame(pd.DataFrame({"a": [1], "b": [2]}), ["b"]).columns
    ['b']
    """
    frame = enter(data)
    if columns is not None:
        wanted = list(dict.fromkeys(columns))
        for name in wanted:
            if name not in frame.columns:
                raise unknown_column(name, frame.columns)
        frame = frame.select(wanted)
    tidied = _tidy(frame)
    if columns is not None and nw.Unknown in tidied.schema.values():
        _check_types(tidied)
    return tidied


def enter(data: Any) -> nw.DataFrame[Any]:
    """The frame as it is, seen through narwhals; refused where it is none, or has two columns of one name."""
    try:
        frame: nw.DataFrame[Any] = nw.from_native(data, eager_only=True)
        if len(frame.columns) == len(set(frame.columns)):
            return frame
    except nw.exceptions.DuplicateError:
        pass
    except (TypeError, ValueError):
        raise InputError(
            f"data must be a data frame held in memory (pandas, polars, pyarrow, Modin, cuDF) or, where labels and predictions are named "
            f"as its columns, one of an engine (polars LazyFrame, DuckDB, Spark), got {type(data).__name__}; make a frame of it, or pass "
            f"arrays and leave data=None."
        ) from None
    raise InputError("data has several columns of one name; rename them so that every name is there once.")


def _check_types(frame: nw.DataFrame[Any]) -> None:
    """Refuse types that nobody here knows: only a column in which every value is missing may go without one."""
    for name, dtype in frame.schema.items():
        if dtype == nw.Unknown and frame[name].null_count() < len(frame):
            kind = getattr(nw.to_native(frame[name]), "dtype", dtype)
            raise InputError(
                f"groups: column {name!r} of type {kind} cannot be used; convert it to numbers, strings, booleans, dates or times."
            )


def _tidy(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """pandas only: object columns with a type after all get it, and categories that are not strings become strings."""
    native = nw.to_native(frame)
    if not nw.dependencies.is_pandas_like_dataframe(native):
        return frame
    changed = {}
    for name, dtype in frame.schema.items():
        if dtype == nw.Object or (dtype == nw.String and native[name].dtype == object and native[name].isna().all()):
            changed[name] = _infer_type(native[name])
        elif dtype == nw.Categorical and not all(isinstance(value, str) for value in native[name].cat.categories):
            changed[name] = _text_categories(native[name], name)
        elif dtype == nw.Unknown and importlib.util.find_spec("pyarrow") is not None:
            changed[name] = _with_zone(native[name])
    return nw.from_native(native.assign(**changed), eager_only=True) if changed else frame


def _infer_type(series: Any) -> Any:
    """An object column as what it holds: booleans, texts and numbers with None among them, decimals, dates, or nothing at all."""
    import pandas as pd

    found = pd.api.types.infer_dtype(series, skipna=True)
    if found == "decimal":
        return series.astype("float64")
    if found in ("date", "empty") and importlib.util.find_spec("pyarrow") is not None:
        import pyarrow as pa

        return series.astype(pd.ArrowDtype(pa.date32() if found == "date" else pa.null()))
    return series.convert_dtypes()


def _with_zone(series: Any) -> Any:
    """Times in a zone such as America/New_York, whose name narwhals does not read from the type that pandas gives them."""
    import pandas as pd
    import pyarrow as pa

    if not isinstance(series.dtype, pd.DatetimeTZDtype):
        return series
    return series.astype(pd.ArrowDtype(pa.timestamp(series.dtype.unit, tz=str(series.dtype.tz))))


def _text_categories(series: Any, name: str) -> Any:
    # Cast as a whole, whole numbers with a missing value among them would come out as '1.0'.
    texts = [str(value) for value in series.cat.categories]
    if len(set(texts)) < len(texts):
        raise InputError(f"groups: column {name!r} has different categories that read the same; rename them.")
    return series.cat.rename_categories(texts)


def numbers(series: nw.Series[Any]) -> NDArray[np.float64]:
    """A numeric column as float64, NaN where a value is missing.

    Examples
    --------
    >>> import polars as pl
    >>> numbers(nw.from_native(pl.Series([1, None]), series_only=True))
    array([ 1., nan])
    """
    missing = series.is_null().to_numpy()
    floats = series / 1 if series.dtype.is_integer() else series.cast(nw.Float64)  # see engine: Arrow refuses the cast
    values = np.array(floats.fill_null(0.0).to_numpy(), dtype=np.float64)
    values[missing] = np.nan
    return values


def text_values(series: nw.Series[Any]) -> nw.Series[Any]:
    """A text column (also a categorical one) as plain strings."""
    return series if series.dtype == nw.String else series.cast(nw.String)


def booleans(series: nw.Series[Any]) -> NDArray[np.bool_]:
    """A boolean column without nulls as a NumPy array."""
    return np.asarray(series.to_numpy(), dtype=np.bool_)


def has_missing(series: nw.Series[Any]) -> bool:
    """Whether some row has no value: null, or NaN among numbers.

    Examples
    --------
    >>> import polars as pl
    >>> [has_missing(nw.from_native(pl.Series(values), series_only=True)) for values in ([1, 2], [1, None], [1.0, float("nan")])]
    [False, True, True]
    """
    return bool(series.is_null().any()) or (series.dtype.is_float() and bool(series.is_nan().any()))
