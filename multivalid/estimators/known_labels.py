"""Labels as people have them, for estimators: rows without one, and a class by name that counts as 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import column_or_1d

from multivalid.errors import InputError
from multivalid.sources.given import MISSING_ROWS
from multivalid.sources.labels import Event, unknown_in_array

Rowwise = dict[str, Any]  # name → a value for each row, or None


def known_labels(y: Any, positive: Any, missing_rows: str, rowwise: Rowwise) -> tuple[Any, Rowwise]:
    """The labels that are there, and what else belongs to their rows.

    Examples
    --------
    >>> known_labels(["yes", None, "no"], "yes", "drop", {"sample_weight": [1.0, 2.0, 3.0]})
    (array([1., 0.]), {'sample_weight': [1.0, 3.0]})
    """
    if missing_rows not in MISSING_ROWS:
        raise InputError(f'missing_rows must be "refuse" or "drop", got {missing_rows!r}.')
    labels = column_or_1d(y, warn=True)
    lost = unknown_in_array(labels)
    if lost.any():
        if missing_rows == "refuse":
            raise InputError(
                f'y has {int(lost.sum()):,} missing among {lost.size:,} labels; missing_rows="drop" leaves these rows out, or fill them in.'
            )
        kept = np.flatnonzero(~lost)
        labels = labels[kept]
        rowwise = {name: value if value is None else _safe_indexing(value, kept) for name, value in rowwise.items()}
    return labels if positive is None else Event.of(positive).in_array(labels), rowwise
