"""What people hand over, before rows are opened: labels by name, labels that are missing, groups as columns of a frame."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.frames import unknown
from multivalid.errors import InputError
from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.frames import enter
from multivalid.groups.items import named_columns
from multivalid.groups.kinds import plain
from multivalid.groups.remote import lazy_frame
from multivalid.sources.labels import Event, unknown_in_array, unknown_in_frame
from multivalid.sources.rows import without

MISSING_ROWS = ("refuse", "drop")


@dataclass(frozen=True)
class Given:
    """Arguments that have a value for each row, or name a column that has; `others` are further ones (cluster, holdout, …)."""

    y_true: Any
    y_pred: Any
    groups: Any
    data: Any = None
    sample_weight: Any = None
    others: dict[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> dict[str, str]:
        """The columns of `data` that arguments name, by argument."""
        several = list(self.y_pred) if isinstance(self.y_pred, (list, tuple)) else []
        given = {"y_true": self.y_true, "y_pred": self.y_pred, "sample_weight": self.sample_weight}
        given |= {f"y_pred[{k}]": part for k, part in enumerate(several)}
        return {argument: value for argument, value in given.items() if isinstance(value, str)}

    def accept(self, positive: Any = None, missing_rows: str = "refuse", missing: str | None = None) -> Given:
        """The same with labels that are numbers and known, and missing values of columns ignored, where the options ask for it."""
        if missing_rows not in MISSING_ROWS:
            raise InputError(f'missing_rows must be "refuse" or "drop", got {missing_rows!r}.')
        names = named_columns(self.groups)
        made = self if names is None else self._with_columns_as_groups(names)
        if missing is not None:
            made = made._regarding(missing)
        if positive is not None:
            made = made._events(Event.of(positive))
        return made._known() if missing_rows == "drop" else made

    def _with_columns_as_groups(self, names: tuple[str, ...]) -> Given:
        if self.data is None:
            return replace(self, groups=list(names), data=self.groups)
        given = enter(self.groups)
        frame = None if lazy_frame(self.data) is not None else enter(self.data)
        if frame is None or any(name not in frame.columns or not _equal(given[name], frame[name]) for name in names):
            raise InputError(
                f"groups is a frame with the columns {', '.join(names)}, which are not those of data; "
                f"name columns of data instead: groups={list(names)!r}."
            )
        return replace(self, groups=list(names))

    def _regarding(self, missing: str) -> Given:
        if isinstance(self.groups, FittedGroups):
            raise InputError(f"missing={missing!r} is decided when groups are fitted, and these are; leave it out.")
        return replace(self, groups=Groups(self.groups, missing=missing))

    def _events(self, event: Event) -> Given:
        frame = self._frame()
        if frame is None or not isinstance(self.y_true, str):
            return replace(self, y_true=event.in_array(_array(self.y_true)))
        return replace(self, data=event.in_frame(frame, self.y_true).to_native())

    def _known(self) -> Given:
        """Without the rows whose label is missing."""
        frame = self._frame()
        if frame is not None and isinstance(self.y_true, str):
            missing, count = unknown_in_frame(frame, self.y_true)
            if not count:
                return self
            if isinstance(frame, nw.LazyFrame):
                return replace(self, data=frame.filter(~missing).to_native(), groups=_noting(self.groups, count))
            lost = np.asarray(frame.select(missing.alias("missing"))["missing"].to_numpy(), dtype=np.bool_)
        else:
            lost = unknown_in_array(_array(self.y_true))
            if not lost.any():
                return self
        if lost.ndim != 1 or lost.all():
            raise InputError("y_true has no known label: every one is missing.")
        return self._take(np.flatnonzero(~lost), lost.size)

    def _take(self, kept: NDArray[np.intp], rows: int) -> Given:
        def cut(value: Any, name: str) -> Any:
            return _cut(value, kept, rows, name)

        data = self.data if self.data is None else enter(self.data)[kept].to_native()
        groups = self.groups if isinstance(self.groups, FittedGroups) else without(self.groups, kept, rows)
        return Given(
            cut(self.y_true, "y_true"), cut(self.y_pred, "y_pred"), _noting(groups, rows - kept.size), data,
            cut(self.sample_weight, "sample_weight"), {name: cut(value, name) for name, value in self.others.items()},
        )  # fmt: skip

    def _frame(self) -> Any:
        if self.data is None:
            return None
        lazy = lazy_frame(self.data)
        frame = enter(self.data) if lazy is None else lazy
        names = frame.collect_schema().names()
        if isinstance(self.y_true, str) and self.y_true not in names:
            raise unknown(self.y_true, names, "y_true")
        return frame


def _array(labels: Any) -> Any:
    if isinstance(labels, str):
        raise InputError(f"y_true={labels!r} is the name of a column, but data=None; pass the frame as data=.")
    return labels


def _cut(value: Any, kept: NDArray[np.intp], rows: int, name: str) -> Any:
    """The rows kept of anything with a value per row; names, shares and None stay as they are."""
    if value is None or np.isscalar(value):
        return value
    if isinstance(value, (list, tuple)) and len(value) != rows:
        return type(value)(_cut(part, kept, rows, name) for part in value)
    array = np.asarray(value)
    if array.shape[0] != rows:
        raise InputError(f"{name} has {array.shape[0]} rows but y_true has {rows}; both must describe the same rows.")
    return array[kept]


def _noting(groups: Any, count: int) -> Any:
    note = f"{count:,} row{' has' if count == 1 else 's have'} no label and {'is' if count == 1 else 'are'} left out"
    if isinstance(groups, (FittedGroups, Groups)):
        return groups.noting([note])
    return Groups(groups).noting([note])


def _equal(one: nw.Series[Any], other: nw.Series[Any]) -> bool:
    return [plain(value) for value in one.to_list()] == [plain(value) for value in other.to_list()]
