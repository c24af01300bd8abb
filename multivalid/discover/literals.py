"""The single conditions that a slice may be made of, per column, as sets of codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.discover.bins import Bins, Codes

Sets = NDArray[np.bool_]  # (conditions, codes)
INTERVAL_EDGES = 8  # between so many edges of an ordered column intervals are tried


@dataclass(frozen=True)
class Literals:
    """All conditions on one column: row i of `sets` says which codes meet condition i."""

    column: int
    sets: Sets

    def __len__(self) -> int:
        return len(self.sets)


def literals(column: int, bins: Bins, codes: Codes, least: int) -> Literals:
    """The conditions that at least `least` rows meet and at least as many do not, each set of codes once."""
    often = np.bincount(codes, minlength=bins.size)
    made = _order(bins.size, often) if bins.ordered else _categories(bins.size)
    made.append(_one(bins.size, bins.size - 1))
    sets = np.unique(np.array(made), axis=0)
    held = sets @ often
    return Literals(column, sets[(held >= least) & (held <= codes.size - least)])


def _order(size: int, often: NDArray[np.intp]) -> list[NDArray[np.bool_]]:
    """Below and from each edge on, intervals between some edges, single bins that many rows share; never the missing code."""
    place = np.arange(size)
    present = place < size - 1
    edges = size - 2
    made = [present & side for k in range(edges) for side in (place > k, place <= k)]
    coarse = np.unique(np.linspace(0, edges - 1, min(edges, INTERVAL_EDGES)).astype(int)) if edges else np.zeros(0, dtype=int)
    made += [present & (place > a) & (place <= b) for i, a in enumerate(coarse) for b in coarse[i + 1 :]]
    common = np.flatnonzero(present & (often >= 0.05 * often.sum()))
    return made + [_one(size, int(k)) for k in common]


def _categories(size: int) -> list[NDArray[np.bool_]]:
    """Equal to each value, and unequal to it (a missing value is neither)."""
    present = np.arange(size) < size - 1
    ones = [_one(size, k) for k in range(size - 2)]
    return ones + ([present & ~one for one in ones] if size > 4 else [])


def _one(size: int, code: int) -> NDArray[np.bool_]:
    out = np.zeros(size, dtype=bool)
    out[code] = True
    return out
