"""Where to play: at the guide, or as far from it as the bets ask, and never where they would win whatever the label.

c_i(p) = a·Σ over active groups of (η⁺w⁺ − η⁻w⁻) in bucket i + φ(p − guide) is what the bets gain per unit of V. φ increases, so c_i does.
Walking from the guide against the sign of c ends in one of three ways: a zero inside a bucket; an edge where the sign changes, which is
published itself, the row belonging to both buckets with shares that make the sum zero; or an end of the range, where V has the right sign.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from multivalid.online.sharp.play import BUCKET, COPY, GUIDE, NEARBY, OFFSET, PREDICTION, SHARE, Array, Index
from multivalid.online.sharp.tables import BOUND, HIGH_VALUE, LENGTH, LO, LOW_VALUE, LOWEST, MISS, ROUNDS, STAKE, USED, Tables


class Pull(NamedTuple):
    """φ: how much the bets on the score hold a prediction at the guide, as a function of the offset from it."""

    far: float
    near: float
    typical: float

    def __call__(self, offset: float) -> float:
        return self.far * offset + self.near * min(max(offset / self.typical, -1.0), 1.0)

    def distance(self, size: float) -> float:
        """The offset at which φ is `size` ≥ 0."""
        turn = self.far * self.typical + self.near
        return size / (self.far + self.near / self.typical) if size <= turn else (size - self.near) / self.far


def pull_of(t: Tables, copy: int) -> Pull:
    """φ as the bets on the score stand."""
    scale = 4.0 * t.rates * t.setting.item(BOUND)  # they start at 1/(2·rates); rates are 2^−k/(2·C)
    rounds = t.running.item(ROUNDS)
    far, near = (t.score_bets[:, copy] @ t.rate).tolist()
    return Pull(far / scale, near / scale, max(t.running.item(MISS) / rounds, 1e-6) if rounds > 0 else 1.0)


def debts(t: Tables, active: Index, copy: int) -> Array:
    """a·Σ over active groups of (η⁺w⁺ − η⁻w⁻), for every bucket."""
    scale = t.setting.item(STAKE) / (2.0 * t.rates * (t.setting.item(LOW_VALUE) + t.setting.item(HIGH_VALUE)))
    return np.asarray(scale * np.add.reduce(t.owed[copy].take(active, axis=0), axis=0))


def walk(t: Tables, active: Index, play: Array) -> None:
    """Fill in the prediction, its bucket and its share."""
    copy, used, guide = int(play.item(COPY)), int(t.running.item(USED)), play.item(GUIDE)
    pull, owed, edges = pull_of(t, copy), debts(t, active, copy).tolist(), t.edge[: used - 1].tolist()
    i = bisect_right(edges, guide)
    up = owed[i] < 0
    sign = -1.0 if up else 1.0  # seen from below, c must fall to zero; seen from above, rise
    while True:
        last = i == (used - 1 if up else 0)
        edge = (1.0 if up else 0.0) if last else edges[i if up else i - 1]
        slope = pull(edge - guide)
        if sign * (owed[i] + slope) <= 0:  # a zero inside the bucket
            offset = -sign * pull.distance(abs(owed[i]))
            return _publish(t, play, pull, i, 1.0, offset, guide + offset)
        if last:  # every bucket says the same: below all labels, or above them
            _publish(t, play, pull, i, 1.0, edge - guide, edge)
            if not up:
                play[PREDICTION] = t.setting[LOWEST]
            return None
        beyond = i + 1 if up else i - 1
        before, after = owed[i] + slope, owed[beyond] + slope
        if sign * after <= 0:  # the sign changes at the edge: the row belongs to both buckets in part
            mine = abs(after) / (abs(before) + abs(after))
            return _publish(t, play, pull, min(i, beyond), mine if up else 1.0 - mine, edge - guide, edge)
        i = beyond


def _publish(t: Tables, play: Array, pull: Pull, bucket: int, share: float, offset: float, position: float) -> None:
    play[BUCKET], play[SHARE], play[OFFSET] = bucket, share, offset
    play[NEARBY] = min(max(offset / pull.typical, -1.0), 1.0)
    play[PREDICTION] = t.setting.item(LO) + t.setting.item(LENGTH) * min(max(position, 0.0), 1.0)
