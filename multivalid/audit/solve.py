"""Γ of every cell and of every group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multivalid.groups.membership import Membership
from multivalid.properties import Property
from multivalid.properties.base import Array

Index = NDArray[np.intp]


def cell_values(prop: Property, labels: Array, weights: Array, level: Index, membership: Membership, levels: int) -> Array:
    """Γ of the labels of each (level, group), from the labels themselves; NaN where a cell has no weight."""
    order = np.lexsort((labels, level))
    order = order[weights[order] > 0]
    y, w, at = labels[order], weights[order], level[order]
    out = np.full((levels, membership.groups), np.nan)
    for g in range(membership.groups):
        kept = np.flatnonzero(membership.mask(g)[order])
        starts = np.searchsorted(at[kept], np.arange(levels))
        sizes = np.diff(np.append(starts, kept.size))
        full = sizes > 0
        if full.any():
            out[full, g] = prop.solve_segments(y[kept], w[kept], starts[full])
    return out


def group_values(prop: Property, labels: Array, weights: Array, membership: Membership) -> Array:
    """Γ of the labels of each group; NaN where a group has no weight."""
    one_level = np.zeros(labels.size, dtype=np.intp)
    return np.asarray(cell_values(prop, labels, weights, one_level, membership, 1)[0])


def from_moments(prop: Property, sums: Array) -> Array:
    """Γ from sums Σw·t_k(y) (…, K), for properties whose moments decide it; NaN where there is no weight."""
    filled = sums[..., 0] > 0
    out = np.full(filled.shape, np.nan)
    if filled.any():
        solved = prop.solve_moments(sums[filled] / sums[filled][:, :1])
        assert solved is not None
        out[filled] = solved
    return out
