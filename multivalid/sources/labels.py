"""Labels as people have them: classes by name, and rows whose label is not known."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.groups.engine import condition_expression
from multivalid.groups.kinds import kind_of_dtype, kind_of_value, plain
from multivalid.groups.nodes import Column, Compare, Literal, Missing
from multivalid.groups.remote import Frame, fetch, schema_of

SHOWN = 5


class Event(NamedTuple):
    """The value of a label that counts as 1; every other one counts as 0, and a missing one stays missing."""

    value: Any

    @classmethod
    def of(cls, positive: Any) -> Event:
        """Checked: a text, a number or a boolean."""
        value = plain(positive)
        if not isinstance(value, (str, bool, int, float)):
            raise InputError(
                f"positive must be a value of y_true that counts as 1 (a text, a number or a boolean), got {positive!r}."
            )
        return cls(value)

    def in_array(self, labels: Any) -> NDArray[np.float64]:
        """1, 0 and nan for labels handed over as an array.

        Examples
        --------
        >>> Event("yes").in_array(["yes", "no", None])
        array([ 1.,  0., nan])
        """
        array = np.asarray(labels)
        if array.dtype.kind in "biuf" and isinstance(self.value, (bool, int, float)):
            held = np.where(array != array, np.nan, (array == self.value).astype(np.float64))
            seen = array.ravel()[:1000].tolist()
        else:
            seen = [plain(value) for value in array.ravel().tolist()]
            flags = [np.nan if value is None else float(_same(value, self.value)) for value in seen]
            held = np.array(flags, dtype=np.float64).reshape(array.shape)
        if not np.any(held == 1.0):
            raise self._absent(seen)
        return held

    def in_frame(self, frame: Any, name: str) -> Any:
        """The frame, lazy or in memory, with 1, 0 and null in the column of the labels."""
        schema = schema_of(frame) if isinstance(frame, nw.LazyFrame) else dict(frame.schema)
        if kind_of_dtype(schema[name]) != kind_of_value(self.value):
            raise InputError(f"positive={self.value!r} cannot occur in y_true={name!r}, a column of type {schema[name]}.")
        holds = condition_expression(Compare("==", Column(name), Literal(self.value)), schema, "positive")
        known = ~condition_expression(Missing(Column(name)), schema, "y_true")
        found = _row(frame.select(holds.cast(nw.Int64).sum().alias("n")))[0]
        if not found:
            values = frame.select(name).unique().head(SHOWN + 2)
            values = fetch(values) if isinstance(values, nw.LazyFrame) else values
            raise self._absent([plain(value) for value in values[name].to_list()])
        return frame.with_columns(nw.when(known).then(holds.cast(nw.Int64)).cast(nw.Float64).alias(name))

    def _absent(self, seen: list[Any]) -> InputError:
        values = sorted({repr(value) for value in seen if value is not None})
        listed = ", ".join(values[:SHOWN]) + (", …" if len(values) > SHOWN else "")
        return InputError(f"positive={self.value!r} does not occur in y_true, whose values are {listed}.")


def unknown_in_frame(frame: Any, name: str) -> tuple[nw.Expr, int]:
    """Which rows of a frame have no label, and how many they are."""
    schema = schema_of(frame) if isinstance(frame, nw.LazyFrame) else dict(frame.schema)
    missing = condition_expression(Missing(Column(name)), schema, "y_true")
    return missing, int(_row(frame.select(missing.cast(nw.Int64).sum().alias("n")))[0] or 0)


def unknown_in_array(labels: Any) -> NDArray[np.bool_]:
    """Which labels of an array are missing."""
    if isinstance(labels, np.ma.MaskedArray):
        return np.asarray(np.ma.getmaskarray(labels)) | unknown_in_array(labels.data)
    array = np.asarray(labels)
    if array.dtype.kind in "biufU":
        return np.asarray(array != array)
    return np.array([plain(value) is None for value in array.ravel().tolist()], dtype=np.bool_).reshape(array.shape)


def _row(frame: nw.DataFrame[Any] | Frame) -> tuple[Any, ...]:
    collected = fetch(frame) if isinstance(frame, nw.LazyFrame) else frame
    return tuple(collected.row(0))


def _same(value: Any, other: Any) -> bool:
    return kind_of_value(value) == kind_of_value(other) and bool(value == other)
