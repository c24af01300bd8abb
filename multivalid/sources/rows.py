"""Rows handed over as arrays or as columns of a frame in memory: checked, gathered, and put into their groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.atoms.frames import column_or_values
from multivalid.errors import InputError
from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.frames import enter
from multivalid.groups.items import Entry, Flags
from multivalid.groups.membership import Membership
from multivalid.properties.base import Array
from multivalid.properties.scale import check_size
from multivalid.sources.memory import MemorySource

if TYPE_CHECKING:
    from multivalid.properties import Target

LARGEST_WEIGHT = 1e150


def open_rows(
    y_true: Any,
    y_pred: Any,
    *,
    groups: Any,
    data: Any = None,
    sample_weight: Any = None,
    width: int = 1,
    arrays: Any = None,
    target: Target | None = None,
    cluster: Any = None,
) -> MemorySource:
    """Check and gather the columns; groups are fitted here unless they already are (`arrays`: their boolean arrays, given again).

    A row without weight is not there: groups are fitted, levels chosen and sums taken without it.
    """
    frame = None if data is None else enter(data)
    labels = _labels(y_true, frame, target)
    predictions = predictions_of(y_pred, frame, width)
    if target is not None and width > 1:
        predictions = target.check_predictions(predictions)
    validate.same_length(predictions, labels.size, "y_pred", "y_true")
    check_size(predictions, "y_pred", small=False)
    weights = validate.weights(column_or_values(frame, sample_weight, "sample_weight"), labels.size)
    if not 1 / LARGEST_WEIGHT <= (largest := float(weights.max())) <= LARGEST_WEIGHT:  # their squares must be numbers
        raise _too_far_apart(largest)
    if frame is not None and len(frame) != labels.size:
        raise InputError(f"y_true has {labels.size} rows but data has {len(frame)}; both must describe the same rows.")
    if target is not None:
        labels = target.check_labels(labels if weights.all() else np.where(weights > 0, labels, labels[np.argmax(weights > 0)]))
    units = None if cluster is None else cluster_numbers(cluster, frame, labels.size)
    if weights.all():
        fitted, membership = _groups(groups, data, labels.size, arrays)
        return MemorySource(labels, predictions, weights, fitted, membership, frame, cluster=units)
    kept = np.flatnonzero(weights)
    rest = (
        data
        if frame is None
        else frame.filter(nw.new_series("kept", weights > 0, backend=frame.implementation).to_list()).to_native()
    )
    if isinstance(groups, FittedGroups):
        # Groups that are fitted may look at any row; what they say of rows without weight is dropped.
        fitted, membership = _groups(groups, data, labels.size, arrays)
        membership = membership.take(kept)
    else:
        fitted, membership = _groups(without(groups, kept, labels.size), rest, kept.size, None)
    units = None if units is None else units[kept]
    return MemorySource(labels[kept], predictions[kept], weights[kept], fitted, membership, frame, kept, labels.size, units)


def _too_far_apart(largest: float) -> InputError:
    return InputError(
        f"sample_weight must have its largest value between {1 / LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g}, got {largest:.3g}; divide "
        f"all weights by that: only their ratios matter."
    )


def cluster_numbers(cluster: Any, frame: Any, rows: int) -> NDArray[np.intp]:
    """Every row's cluster as a number from 0, from a column's name or any values that can be equal."""
    values = np.asarray(column_or_values(frame, cluster, "cluster", text=True))  # days or names as well as numbers
    if values.ndim != 1 or values.size != rows:
        raise InputError(f"cluster must have one value for each of the {rows} rows, got an array of shape {values.shape}.")
    if values.dtype == object:
        missing = [i for i, value in enumerate(values.tolist()) if value is None or value != value]
        values = values.astype(str)
    else:
        missing = np.flatnonzero(values != values).tolist()
    if missing:
        raise InputError(f"cluster must not have missing values: {len(missing)} are missing, the first at row {missing[0]}.")
    return np.unique(values, return_inverse=True)[1].astype(np.intp)


def _labels(y_true: Any, frame: nw.DataFrame[Any] | None, target: Target | None) -> NDArray[Any]:
    """Labels as numbers, or as they are where the target knows names."""
    if target is None or not target.names_labels:
        return validate.vector(column_or_values(frame, y_true, "y_true"), "y_true")
    labels = np.asarray(column_or_values(frame, y_true, "y_true", text=True))
    if labels.ndim != 1 or labels.size == 0:
        raise InputError(f"y_true must be one column with at least one row, got an array of shape {labels.shape}.")
    return labels


def predictions_of(y_pred: Any, frame: nw.DataFrame[Any] | None, width: int) -> Array:
    """One prediction per row, or `width` of them for a pair (an array with columns, or a list of column names)."""
    if width == 1:
        return validate.vector(column_or_values(frame, y_pred, "y_pred"), "y_pred")
    if isinstance(y_pred, (list, tuple)) and len(y_pred) == width and not _are_rows(y_pred, width):
        parts = [validate.vector(column_or_values(frame, part, "y_pred"), f"y_pred[{k}]") for k, part in enumerate(y_pred)]
        for k, part in enumerate(parts):
            validate.same_length(part, parts[0].size, f"y_pred[{k}]", "y_pred[0]")
        y_pred = np.stack(parts, axis=1)
    return validate.columns(column_or_values(frame, y_pred, "y_pred"), "y_pred", width)


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
    return fitted.membership(data, arrays=groups, n_rows=rows)


def _groups(groups: Any, data: Any, rows: int, arrays: Any) -> tuple[FittedGroups, Membership]:
    if isinstance(groups, FittedGroups):
        return groups, membership_of(groups, data=data, groups=arrays, rows=rows)
    spec = groups if isinstance(groups, Groups) else Groups(groups)
    return spec.fit_rows(data, rows)


def without(groups: Any, kept: NDArray[np.intp], rows: int) -> Groups:
    """The groups with their boolean arrays cut down to the rows that have weight."""
    spec = groups if isinstance(groups, Groups) else Groups(groups)
    entries = []
    for entry in spec.entries:
        item = entry.item
        if isinstance(item, Flags):
            if item.array.shape[0] != rows:
                raise InputError(
                    f"groups: the numbers of rows differ (n_rows: {rows}, the boolean arrays: {item.array.shape[0]}); all must "
                    f"describe the same rows."
                )
            item = Flags(item.array[kept], item.names)
        entries.append(Entry(item, entry.label))
    return spec.of_entries(entries)
