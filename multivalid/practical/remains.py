"""What remains for groups that nobody named: the worst group of one condition, on rows that the fit has not seen.

If no shift of a group lowers the score of such rows by much, the group is not off by much (its share times its squared gap is at most a
multiple of what the shift gains). For groups of one condition nothing need be argued: there are few of them, and all are measured.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multivalid.cells.sentences import UNNAMED
from multivalid.discover.bins import Bins, Codes
from multivalid.discover.coordinates import coordinates
from multivalid.discover.histogram import histogram
from multivalid.discover.sentences import amount
from multivalid.groups.nodes import render
from multivalid.practical.data import Outcomes
from multivalid.properties import Property
from multivalid.properties.base import Array

LEAST_ROWS = 20  # of a group: below, its mean says nothing


def remaining(prop: Property, bins: Sequence[Bins], codes: Codes, rows: Outcomes, v: Array, *, events: bool) -> str:
    """The sentence; `v` is w·V of these rows with the predictions as they stand, `bins` are those of the user's columns, `events`: labels
    say whether an event happened."""
    everyone = np.arange(len(rows), dtype=np.int32)
    width = max(one.size for one in bins)
    sums = histogram(np.ascontiguousarray(codes[:, : len(bins)]), width, everyone, v, rows.weights)
    worst, who, count = 0.0, "", 0
    percent = coordinates(prop, events)[0].percent
    for one, table in zip(bins, sums, strict=True):
        chosen = _one_condition(one)
        total = chosen.astype(np.float64) @ table[: one.size]
        inside = total[:, 2] >= LEAST_ROWS
        count += int(inside.sum())
        mass = np.where(inside, total[:, 0] ** 2 / np.maximum(total[:, 1], 1e-300), 0.0)
        if inside.any() and mass.max() > worst:
            k = int(np.argmax(mass))
            worst, gap = float(mass[k]), total[k, 0] / total[k, 1]
            side = "high" if gap > 0 else "low"
            share = total[k, 1] / rows.weights.sum()
            who = f"{render(one.condition(chosen[k]))} (too {side} by {amount(gap, percent)} in {100 * share:.1f} % of them)"
    if not who:
        return ""
    return (
        f"{UNNAMED}: of all {count:,} groups of one condition on these columns with at least {LEAST_ROWS} of the "
        f"{len(rows):,} rows not fitted, none is further off, counting its size, than {who}, chance included. Groups of more conditions "
        f"may be; discover looks for them."
    )


def _one_condition(bins: Bins) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Flags per code: every threshold in both directions, or every value; and missing values."""
    size = bins.size
    alone = np.eye(size, dtype=bool)
    if not bins.ordered:
        return alone
    below = np.tri(size - 1, size, k=-1, dtype=bool)[1:]  # codes under each edge
    above = ~below
    above[:, -1] = False
    return np.concatenate([below, above, alone[-1:]])
