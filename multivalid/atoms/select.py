"""Rows in memory, under the names that fits import them by."""

from __future__ import annotations

from functools import partial
from typing import Any

from multivalid.groups.family import FittedGroups
from multivalid.sources.memory import MemorySource as Rows
from multivalid.sources.rows import marked, membership_of, open_rows, predictions_of, resolve

rows = partial(open_rows, weightless=True)


def rows_for(
    fitted: FittedGroups, y_true: Any, y_pred: Any, *, data: Any, groups: Any = None, sample_weight: Any = None, width: int = 1
) -> Rows:
    """New rows for groups fitted earlier."""
    return open_rows(
        y_true, y_pred, groups=fitted, data=data, sample_weight=sample_weight, width=width, arrays=groups, weightless=True
    )


__all__ = ["Rows", "marked", "membership_of", "predictions_of", "resolve", "rows", "rows_for"]
