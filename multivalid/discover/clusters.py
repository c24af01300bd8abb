"""The unit of chance is a cluster where rows share their luck: u_c = Σ wV over a cluster's rows of a slice, t with C − 1 degrees."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from multivalid.properties.base import Array

FEWEST = 5.0  # effective clusters below which nothing can be said


def cluster_p(cluster: NDArray[np.intp], sums: Mapping[str, Array], mask: NDArray[np.bool_]) -> tuple[float, float]:
    """p-value that V is zero on average in a slice, and the standard deviation of ΣwV about its mean; nan with too few clusters."""
    from scipy.special import stdtr

    u = np.bincount(cluster[mask], sums["v"][mask])
    size = np.bincount(cluster[mask], sums["weight"][mask])
    total, square = float(size.sum()), float(size @ size)
    if total == 0 or total**2 / square < FEWEST:
        return float("nan"), float("nan")
    variance = max(float(u @ u), float(sums["x2"][mask].sum()))
    freedom = total**2 / square - 1
    about = u - float(u.sum()) / total * size
    p = 2 * float(stdtr(freedom, -abs(float(u.sum())) / np.sqrt(variance))) if variance > 0 else 1.0
    return p, float(np.sqrt(about @ about * (1 + 1 / freedom)))
