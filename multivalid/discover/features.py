"""In which columns groups are searched: what was named is checked, what can tell nothing is left out with a note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw

from multivalid.discover.bins import Bins
from multivalid.discover.fit_bins import fit_bins
from multivalid.errors import InputError
from multivalid.groups.kinds import kind_of_dtype, unknown_column

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


def fit_features(frame: nw.DataFrame[Any], names: Sequence[str], most: int, *, named: bool) -> Features:
    """The bins of each column; `named` columns of a type that conditions cannot use are an error, others a note."""
    made = Features([])
    for name in names:
        if named and kind_of_dtype(frame.schema[name]) is None:
            raise InputError(
                f"features: column {name!r} has type {frame.schema[name]}, in which groups cannot be searched; convert it to numbers, "
                f"strings, booleans or dates."
            )
        found = fit_bins(frame[name], most)
        if isinstance(found, str):
            made.notes.append(f"column {name!r} {found}: left out of the search")
            continue
        made.bins.append(found)
        if not found.ordered and found.size >= most:
            made.notes.append(
                f"column {name!r} has many values: the {found.size - 2} most frequent are told apart, the others taken together"
            )
    if not made.bins:
        raise InputError(f"features: no column is left to search in. {' '.join(made.notes)}")
    return made
