"""The bets after an outcome: w⁺ ← w⁺(1 + η⁺qV), w⁻ ← w⁻(1 − η⁻qV), each kept above its start/(n + 1)².

η⁺_k = 2^−k/(2·|V_min|) and η⁻_k = 2^−k/(2·V_max), so that no factor is below ½. Starts are in proportion to |V_min| and V_max: a fresh
cell owes exactly nothing. Kept above a floor that shrinks, a bet that lost for long is soon back when the world changes.
"""

from __future__ import annotations

import numpy as np

from multivalid.online.sharp.play import COPY, NEARBY, OFFSET, PREDICTION, SCALE, Array, Index, Play
from multivalid.online.sharp.tables import BOUND, HIGH_VALUE, LOW_VALUE, STAKE, Tables

ACTUAL = 12  # in values: V at the prediction of the label as it came, the others are of the label cut to the range


def settle_bets(t: Tables, active: Index, play: Array, values: Array, weight: float) -> None:
    """Record the round in the cells it belongs to, then pay the bets."""
    record(t, active, play, values, weight)
    copy, scale = int(play[COPY]), float(play[SCALE])
    for bucket, share in Play(active, play).buckets:
        stake = np.full(active.size, weight * share * scale)
        pay(t, copy, active, bucket, stake, stake * values[0])
    pay_score(t, copy, weight * scale, weight * scale * values[0] * np.array([play[OFFSET], play[NEARBY]]))


def record(t: Tables, active: Index, play: Array, values: Array, weight: float) -> None:
    """n, R, Q and the sum of predictions of the cells; nothing of this depends on a bet."""
    t.rows[active] += 1.0
    for bucket, share in Play(active, play).buckets:
        stake = weight * share
        t.count[active, bucket] += stake
        t.sum[active, bucket] += stake * values[ACTUAL]
        t.square[active, bucket] += (stake * values[0]) ** 2
        t.level[active, bucket] += stake * play[PREDICTION]


def pay(t: Tables, copy: int, groups: Index, bucket: int, stake: Array, gain: Array) -> None:
    """Multiply the bets of some cells of one bucket: `gain` is what each has won per unit of its rate, `stake` the weight behind it."""
    t.weight[copy, groups, bucket] += stake
    floor = (1.0 / (t.weight[copy, groups, bucket] + 1.0) ** 2)[:, None]
    rates = 0.5 ** np.arange(t.rates)
    plus, minus = (0.5 * gain / t.setting[LOW_VALUE])[:, None], (0.5 * gain / t.setting[HIGH_VALUE])[:, None]
    up = np.maximum(t.up[copy, groups, bucket] * (1.0 + plus * rates), floor)
    down = np.maximum(t.down[copy, groups, bucket] * (1.0 - minus * rates), floor)
    t.up[copy, groups, bucket], t.down[copy, groups, bucket] = up, down
    t.owed[copy, groups, bucket] = (up - down) @ rates


def pay_score(t: Tables, copy: int, stake: float, gain: Array) -> None:
    """The same for the bets that predictions are worse than the guide; `gain` for those over the range and for those nearby."""
    t.played[copy] += stake
    floor = 1.0 / (t.played[copy] + 1.0) ** 2
    rates = 0.5 * 0.5 ** np.arange(t.rates) / t.setting[BOUND]
    for bets, won in zip((t.far[copy], t.near[copy]), gain, strict=True):
        np.maximum(bets * (1.0 + rates * won), floor, out=bets)


def total(t: Tables, copy: int = 0) -> float:
    """W of one copy over what it started with: it never exceeds 1.645, whatever the stream does, while the theorem applies."""
    low, high = float(t.setting[LOW_VALUE]), float(t.setting[HIGH_VALUE])
    cells = float(low * t.up[copy].sum() + high * t.down[copy].sum()) / ((low + high) * t.rates)
    score = float(t.far[copy].sum() + t.near[copy].sum()) / (2.0 * t.rates)
    stake = float(t.setting[STAKE])
    return (score + stake * cells) / (1.0 + stake * t.groups * t.buckets)
