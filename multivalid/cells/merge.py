"""Neighbouring levels taken together, group by group, until each part carries enough for its sum to be about normal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from multivalid.properties.base import Array

Parts = NDArray[np.intp]
ALMOST = 1 - 1e-9  # of a threshold: sums that reach it exactly differ in their last digits, added up in another order


def join_levels(enough: Callable[..., NDArray[np.bool_]], *sums: Array) -> Parts:
    """The part that each (level, group) belongs to: levels join in order until `enough(*sums of the part)`.

    What is left over at the end joins the last part, so every part but a lone one has enough. A part's number says its order within
    the group.

    Examples
    --------
    >>> join_levels(lambda total: total >= 3, np.array([[1.0, 5.0], [2.0, 5.0], [1.0, 1.0]])).T
    array([[0, 0, 0],
           [0, 1, 1]])
    """
    levels, groups = sums[0].shape
    parts = np.zeros((levels, groups), dtype=np.intp)
    current = np.zeros(groups, dtype=np.intp)
    running = [np.zeros(groups) for _ in sums]
    for level in range(levels):
        running = [total + column[level] for total, column in zip(running, sums, strict=True)]
        parts[level] = current
        full = enough(*running)
        current = current + full
        running = [np.where(full, 0.0, total) for total in running]
    # `current` now counts the full parts; rows after the last full one go back to it.
    return np.minimum(parts, np.maximum(current - 1, 0))


def add_up(parts: Parts, column: Array) -> Array:
    """Sums over the levels of each part: shape (most parts, groups), zero beyond a group's own parts."""
    groups = parts.shape[1]
    out = np.zeros((int(parts.max(initial=0)) + 1, groups))
    np.add.at(out, (parts, np.broadcast_to(np.arange(groups), parts.shape)), column)
    return out


def count(parts: Parts) -> NDArray[np.intp]:
    """How many parts each group has."""
    return np.asarray(parts.max(axis=0) + 1)
