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
    copy, paid = int(play.item(COPY)), weight * play.item(SCALE)
    won = paid * values.item(0)
    for bucket, share in Play(active, play).buckets:
        pay(t, copy, active, bucket, np.array([paid * share]), np.array([won * share]))
    pay_score(t, copy, paid, won * np.array([play.item(OFFSET), play.item(NEARBY)]))


def record(t: Tables, active: Index, play: Array, values: Array, weight: float) -> None:
    """n, R, Q and the sum of predictions of the cells; nothing of this depends on a bet."""
    t.rows[active] += 1.0
    for bucket, share in Play(active, play).buckets:
        stake = weight * share
        more = (stake, stake * values.item(ACTUAL), (stake * values.item(0)) ** 2, stake * play.item(PREDICTION))
        where, cells = active * t.buckets + bucket, t.cells.reshape(4, -1)  # `take` is much quicker than an index, on one axis
        cells[:, where] = cells.take(where, axis=1) + np.array(more)[:, None]


def pay(t: Tables, copy: int, groups: Index, bucket: int, stake: Array, gain: Array) -> None:
    """Multiply the bets of some cells of one bucket: `gain` is what each has won per unit of its rate, `stake` the weight behind it."""
    where, weight, table = groups * t.buckets + bucket, t.weight[copy].ravel(), t.bets.reshape(2, -1, t.rates)
    there = where + copy * weight.size
    now = weight.take(where) + stake
    weight[where] = now
    factor = np.array([0.5 / t.setting.item(LOW_VALUE), -0.5 / t.setting.item(HIGH_VALUE)])[:, None] * gain
    factor = factor[:, :, None] * t.rate
    factor += 1.0
    bets = table.take(there, axis=1)
    bets *= factor
    now += 1.0
    np.maximum(bets, (1.0 / (now * now))[:, None], out=bets)
    table[:, there] = bets
    t.owed[copy].ravel()[where] = (bets[0] - bets[1]) @ t.rate


def pay_score(t: Tables, copy: int, stake: float, gain: Array) -> None:
    """The same for the bets that predictions are worse than the guide; `gain` for those over the range and for those nearby."""
    played = t.played.item(copy) + stake
    t.played[copy] = played
    bets = t.score_bets[:, copy]
    bets *= 1.0 + (gain * (0.5 / t.setting.item(BOUND)))[:, None] * t.rate
    np.maximum(bets, (played + 1.0) ** -2, out=bets)


def total(t: Tables, copy: int = 0) -> float:
    """W of one copy over what it started with: it never exceeds 1.645, whatever the stream does, while the theorem applies."""
    low, high = float(t.setting[LOW_VALUE]), float(t.setting[HIGH_VALUE])
    cells = float(low * t.up[copy].sum() + high * t.down[copy].sum()) / ((low + high) * t.rates)
    score = float(t.far[copy].sum() + t.near[copy].sum()) / (2.0 * t.rates)
    stake = float(t.setting[STAKE])
    return (score + stake * cells) / (1.0 + stake * t.groups * t.buckets)
