"""What the user handed over, as rows: the only place that knows whether it came as arrays or as columns of a frame."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from multivalid import validate
from multivalid.atoms import frames
from multivalid.errors import InputError
from multivalid.groups.blocks import Holds
from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.frames import open_frame
from multivalid.groups.items import Flags
from multivalid.groups.membership import Membership
from multivalid.groups.predicate import parse
from multivalid.properties.base import Array


@dataclass(frozen=True)
class Rows:
    """Labels, predictions and weights of every row, and the groups it belongs to."""

    labels: Array
    predictions: Array
    weights: Array
    groups: FittedGroups
    membership: Membership
    frame: nw.DataFrame[Any] | None

    def __len__(self) -> int:
        return int(self.labels.size)

    def take(self, rows: np.ndarray[Any, np.dtype[np.intp]]) -> Rows:
        """A selection of rows."""
        return Rows(
            self.labels[rows], self.predictions[rows], self.weights[rows], self.groups, self.membership.take(rows), self.frame
        )

    def fingerprint(self) -> str:
        """SHA-256 of labels, predictions, weights and groups: equal for equal data."""
        digest = hashlib.sha256()
        for part in (self.labels, self.predictions, self.weights, self.membership.bits):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()


def rows(y_true: Any, y_pred: Any, *, groups: Any, data: Any = None, sample_weight: Any = None, width: int = 1) -> Rows:
    """Check and gather the columns; groups are fitted here unless they already are."""
    labels, predictions, weights, frame = _columns(y_true, y_pred, data, sample_weight, width)
    fitted, membership = _groups(groups, data, labels.size)
    return Rows(labels, predictions, weights, fitted, membership, frame)


def rows_for(
    fitted: FittedGroups, y_true: Any, y_pred: Any, *, data: Any, groups: Any = None, sample_weight: Any = None, width: int = 1
) -> Rows:
    """New rows for groups fitted earlier, which are found by their columns, or from boolean arrays given again as `groups`."""
    labels, predictions, weights, frame = _columns(y_true, y_pred, data, sample_weight, width)
    return Rows(labels, predictions, weights, fitted, membership_of(fitted, data=data, groups=groups, rows=labels.size), frame)


def _columns(
    y_true: Any, y_pred: Any, data: Any, sample_weight: Any, width: int
) -> tuple[Array, Array, Array, nw.DataFrame[Any] | None]:
    frame = None if data is None else frames.eager(data)
    labels = validate.vector(resolve(y_true, frame, "y_true"), "y_true")
    predictions = predictions_of(y_pred, frame, width)
    validate.same_length(predictions, labels.size, "y_pred", "y_true")
    weights = validate.weights(resolve(sample_weight, frame, "sample_weight"), labels.size)
    if frame is not None:
        _same_as_frame(frame, labels.size)
    return labels, predictions, weights, frame


def predictions_of(y_pred: Any, frame: nw.DataFrame[Any] | None, width: int) -> Array:
    """One prediction per row, or `width` of them for a pair (an array with columns, or a list of column names)."""
    if width == 1:
        return validate.vector(resolve(y_pred, frame, "y_pred"), "y_pred")
    if isinstance(y_pred, (list, tuple)) and len(y_pred) == width and not _are_rows(y_pred, width):
        parts = [validate.vector(resolve(part, frame, "y_pred"), f"y_pred[{k}]") for k, part in enumerate(y_pred)]
        for k, part in enumerate(parts):
            validate.same_length(part, parts[0].size, f"y_pred[{k}]", "y_pred[0]")
        y_pred = np.stack(parts, axis=1)
    return validate.columns(resolve(y_pred, frame, "y_pred"), "y_pred", width)


def _are_rows(y_pred: Any, width: int) -> bool:
    """Whether a list of `width` items holds rows, [[0.1, 0.2], [0.3, 0.4]], rather than columns (names, arrays, longer lists)."""
    return all(isinstance(part, (list, tuple)) and len(part) == width for part in y_pred)


def membership_of(fitted: FittedGroups, *, data: Any, groups: Any, rows: int) -> Membership:
    """Groups fitted earlier, on new rows: from their columns in `data`, or from boolean arrays given again as `groups`."""
    if isinstance(groups, Membership):
        if groups.groups != len(fitted) or groups.rows != rows:
            raise InputError(
                f"groups has {groups.groups} groups and {groups.rows} rows, expected {len(fitted)} (with everyone) and {rows}."
            )
        return groups
    return Membership.from_masks(fitted.masks(data, arrays=groups, n_rows=rows), rows)


def marked(value: Any, data: Any, argument: str) -> Any:
    """The mask that a predicate, or the name of a boolean column, makes of `data`; anything else as it is."""
    if not isinstance(value, str):
        return value
    if data is None:
        raise InputError(f"{argument}={value!r} is a condition on columns, but data=None; pass the frame as data=.")
    return Holds(parse(value).condition).codes(open_frame(data)) == 0


def _groups(groups: Any, data: Any, rows: int) -> tuple[FittedGroups, Membership]:
    if isinstance(groups, FittedGroups):
        return groups, Membership.from_masks(groups.masks(data, n_rows=rows), rows)
    spec = groups if isinstance(groups, Groups) else Groups(groups)
    fitted = spec.fit(data, n_rows=rows)
    return fitted, Membership.from_masks(fitted.masks(data, arrays=_arrays(spec), n_rows=rows), rows)


def _arrays(spec: Groups) -> list[Any]:
    return [entry.item.array for entry in spec.entries if isinstance(entry.item, Flags)]


def resolve(value: Any, frame: nw.DataFrame[Any] | None, argument: str) -> Any:
    """A column when `value` names one and there is a frame; else `value` itself."""
    if isinstance(value, str) and frame is not None:
        return frames.column(frame, value, argument)
    return value


def _same_as_frame(frame: nw.DataFrame[Any], rows: int) -> None:
    if len(frame) != rows:
        raise InputError(f"y_true has {rows} rows but data has {len(frame)}; both must describe the same rows.")
