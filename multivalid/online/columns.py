"""Columns of a batch of rounds: arrays, or named among what is known of each row (a frame, or a list of mappings)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.errors import InputError
from multivalid.groups.frames import enter

Array = NDArray[np.float64]


def numbers(frame: Any, values: Any, name: str, size: int) -> Array:
    """A column of finite numbers, given as an array or by its name in `frame`."""
    if isinstance(values, str):
        values = column(frame, values, name)
    elif values is None:
        raise InputError(f"{name} must be an array, or the name of a column, got None.")
    if size == 0:
        return np.zeros(0)
    array = validate.vector(values, name)
    if array.size != size:
        raise InputError(f"{name} has {array.size} values but data has {size} rows; both must describe the same rows.")
    return array


def column(frame: Any, name: str, argument: str) -> NDArray[Any]:
    """A column of `frame` by name."""
    if isinstance(frame, np.ndarray):
        raise InputError(f"{argument}={name!r} is the name of a column, but data is an array; pass the values instead.")
    if isinstance(frame, Sequence):
        try:
            return np.asarray([row[name] for row in frame])
        except (KeyError, TypeError, IndexError):
            raise InputError(f"{argument}={name!r}: not every row of data has this feature.") from None
    columns = enter(frame)
    if name not in columns.columns:
        raise InputError(f"{argument}={name!r} is not a column of data; its columns: {columns.columns}.")
    return np.asarray(columns[name].to_numpy())
