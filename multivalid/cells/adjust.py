"""Many tests at once: Holm over groups, where "cannot tell" is nan."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multivalid.properties.base import Array


def holm(p_values: Array, counted: NDArray[np.bool_] | None = None) -> Array:
    """Adjusted p-values: those at most 0.05 can be rejected together with at most 5 % chance of any false alarm.

    A nan stays nan. It still counts as a test where `counted` says so: a group left out because of its *labels* must not make the
    others' test easier; one left out because of its size or its predictions may.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    >>> holm(np.array([0.01, np.nan]), np.array([True, True]))
    array([0.02,  nan])
    """
    known = ~np.isnan(p_values)
    tests = int((known if counted is None else counted | known).sum())
    out = np.full(p_values.shape, np.nan)
    at = np.flatnonzero(known)
    order = at[np.argsort(p_values[at], kind="stable")]
    out[order] = np.minimum(np.maximum.accumulate(p_values[order] * (tests - np.arange(order.size))), 1.0)
    return out
