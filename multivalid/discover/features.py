"""In which columns groups are searched: what was named is checked, what can tell nothing is left out with a note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np

from multivalid.discover.bins import Bins
from multivalid.discover.fit_bins import fit_bins
from multivalid.errors import InputError
from multivalid.groups.frames import numbers
from multivalid.groups.kinds import BOOLEAN, NUMBER, TEXT, kind_of_dtype, unknown_column
from multivalid.properties.base import Array

HEAD = 200  # rows that are looked at first: they tell almost every column from the label
MOST_NAMES = 50  # labels that another column may have other names for
LEAST_ROWS = 200  # below which nothing that is found could be told from chance


@dataclass
class Features:
    """Columns with their bins, and notes on those left out."""

    bins: list[Bins]
    notes: list[str] = field(default_factory=list)


def checked_names(
    features: Sequence[str] | str | None, columns: Sequence[str], used: dict[str, Any], *, label: Any
) -> tuple[list[str], list[str]]:
    """Names of the columns to search in, and notes; `used` are arguments that may name a column (y_pred, sample_weight …)."""
    if features is None:
        taken = {name for name in (label, *used.values()) if isinstance(name, str)}
        return [name for name in columns if name not in taken], []
    names = [features] if isinstance(features, str) else list(features)
    if not names:
        raise InputError("features=[] names no column to search in; name at least one, or leave features out.")
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"features must be names of columns of data, got {name!r}.")
        if name not in columns:
            raise InputError(str(unknown_column(name, columns)).replace("groups:", "features:", 1))
    if isinstance(label, str) and label in names:
        raise InputError(f"features: {label!r} is the label; a group cannot depend on what is to be predicted. Leave it out.")
    notes = []
    for argument, value in used.items():
        if isinstance(value, str) and value in names:
            notes.append(f"features: {value!r} is {argument} and is left out of the columns searched")
            names = [name for name in names if name != value]
    if not names:
        raise InputError("features leaves no column to search in; name at least one besides predictions and weights.")
    return list(dict.fromkeys(names)), notes


def says_the_label(series: nw.Series[Any], labels: Array) -> bool:
    """Whether a column is the label, by another name or in other words (one value for each label)."""
    kind = kind_of_dtype(series.dtype)
    return kind in (NUMBER, BOOLEAN, TEXT) and all(_one_to_one(series[:rows], labels[:rows]) for rows in (HEAD, labels.size))


def _one_to_one(series: nw.Series[Any], labels: Array) -> bool:
    if kind_of_dtype(series.dtype) == NUMBER and np.array_equal(numbers(series), labels):
        return bool(labels.min() < labels.max()) or len(series) <= HEAD
    values = series.to_list()
    pairs = set(zip(values, labels.tolist(), strict=True))
    alone = 1 if len(values) <= HEAD else 2  # a constant column says nothing; the first rows may be alike by chance
    return alone <= len(pairs) <= MOST_NAMES and len(pairs) == len({value for value, _ in pairs}) == len(
        {label for _, label in pairs}
    )


def without_copies(
    frame: nw.DataFrame[Any], names: Sequence[str], predictions: Array, *, own: str | None = None
) -> tuple[list[str], list[str]]:
    """The names without columns that repeat a column of the predictions, and notes; `own` is the one that is searched as the prediction."""
    copies = [name for name in repeating(frame, names, predictions) if name != own]
    if copies and len(copies) == len(names):
        raise InputError(
            f"features: {', '.join(map(repr, copies))} repeats the predictions; name at least one column besides them."
        )
    why = "repeats the predictions or only rises or falls with them, which are looked at anyway: left out of the search"
    notes = [f"column {name!r} {why}" for name in copies]
    return [name for name in names if name not in copies], notes


def repeating(frame: nw.DataFrame[Any], names: Sequence[str], predictions: Array) -> list[str]:
    """The columns that say nothing but what a column of the predictions says, in the same order or the reverse."""
    columns = predictions.reshape(len(predictions), -1).T
    return [name for name in names if any(_repeats(frame[name], column) for column in columns)]


def _repeats(series: nw.Series[Any], column: Array) -> bool:
    """Whether a column holds these numbers, or others that only rise with them, or only fall: every cut of it is one of theirs."""
    if kind_of_dtype(series.dtype) != NUMBER:
        return False
    return all(_only_rises_or_falls(numbers(series[:rows]), column[:rows]) for rows in (HEAD, column.size)) and bool(
        column.min() < column.max()
    )


def _only_rises_or_falls(values: Array, column: Array) -> bool:
    """Up to the rounding of single precision; a column that tells fewer than half of the predictions apart is one of its own."""
    order = np.argsort(column, kind="stable")
    if np.allclose(values, column, rtol=1e-6, atol=0.0):
        return True
    if not np.isfinite(values).all():
        return False
    steps, moved = np.diff(values[order]), np.diff(column[order])
    same = moved == 0
    if 2 * np.count_nonzero(steps) < np.count_nonzero(moved) or (steps[same] != 0).any():
        return False
    return bool((steps >= 0).all() or (steps <= 0).all()) and bool((steps != 0).any())


def fit_features(frame: nw.DataFrame[Any], names: Sequence[str], most: int, *, named: bool, labels: Array) -> Features:
    """The bins of each column; `named` columns of a type that conditions cannot use, or that are the label, are an error, others a note."""
    made = Features([])
    for name in names:
        if named and kind_of_dtype(frame.schema[name]) is None:
            raise InputError(
                f"features: column {name!r} has type {frame.schema[name]}, in which groups cannot be searched; convert it to numbers, "
                f"strings, booleans or dates."
            )
        copied = says_the_label(frame[name], labels)
        if copied and named:
            raise InputError(
                f"features: column {name!r} says the label of every row; a group cannot depend on what is to be predicted. Leave it out."
            )
        found = "says the label of every row" if copied else fit_bins(frame[name], most)
        if isinstance(found, str):
            made.notes.append(f"column {name!r} {found}: left out of the search")
            continue
        made.bins.append(found)
        if _numbers_every_row(frame[name]):
            made.notes.append(
                f"column {name!r} has another whole number in every row: if these are identifiers, leave it out of features"
            )
        if not found.ordered and found.size >= most:
            made.notes.append(
                f"column {name!r} has many values: the {found.size - 2} most frequent are told apart, the others taken together"
            )
    if not made.bins:
        raise InputError(f"features: no column is left to search in. {' '.join(made.notes)}")
    return made


def _numbers_every_row(series: nw.Series[Any]) -> bool:
    return series.dtype.is_integer() and series.n_unique() == len(series)
