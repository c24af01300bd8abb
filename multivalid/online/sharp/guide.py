"""The guide: what would be sharp. It may be arbitrarily wrong without any harm to calibration.

Ten learners start from the base and add one number per active group that moves slowly, one that moves fast and forgets, a slope along the
base, and a bend of the base (ten hat functions). Five add on the label's scale, five on that of log-odds over the range; the five differ
in how fast the fast number is. Each moves against its own V. ML-Poly (Gaillard, Stoltz, van Erven) mixes them and the base: weight
(Σr)₊/(1 + Σr²), r = V(guide)·(guide − expert)/C with positions, so that Σ S(guide) − S(expert) ≤
C·range·√(N·(1 + ln(1 + T))·(1 + Σr²)) for each of the N = 11.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from multivalid.online.sharp.play import EXPERT, GUIDE, HAS_BASE, HAT, HAT_SHARE, LEARNERS, OTHERS, TILT, Array, Index
from multivalid.online.sharp.tables import (
    BASE_MEAN,
    BASE_SQUARES,
    BASES,
    BOUND,
    FLATNESS,
    LENGTH,
    LO,
    MISS,
    ROUNDS,
    SQUARED,
    START,
    Tables,
)

SPEEDS = 5
STEP = np.tile([0.0, 0.01, 0.03, 0.1, 0.3], 2)  # of a fast number, in typical misses
LEAK = np.tile([0.0, 0.01, 0.03, 0.003, 0.003], 2)  # what it forgets per round
EVERYONE_ONLY = np.arange(LEARNERS) % SPEEDS >= 3  # speeds at which single groups would only follow noise
KNOTS = (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.25, 1.5, 2.0)  # of the hat functions, in standard deviations of the base
SLOW, SETTLE, LEAN = 0.1, 10.0, 0.25  # a slow step is SLOW/√(SETTLE + rounds of the group), a slope's LEAN of that


def guess(t: Tables, active: Index, base: float, play: Array) -> None:
    """Fill in the base, the experts and the guide of a play."""
    _describe_base(t, base, play)
    tilt, position = play[TILT], play[EXPERT + LEARNERS]
    z = (t.slow[active] + t.fast[active] + tilt * t.slope[active]).sum(axis=0)
    if play[HAS_BASE]:
        j, high = int(play[HAT]), play[HAT_SHARE]
        z += (1.0 - high) * t.hats[j] + high * t.hats[j + 1]
    z[:SPEEDS] += position
    z[SPEEDS:] += log_odds(position)
    experts = play[EXPERT:]
    np.clip(z[:SPEEDS], 0.0, 1.0, out=experts[:SPEEDS])
    with np.errstate(over="ignore"):
        experts[SPEEDS:LEARNERS] = 1.0 / (1.0 + np.exp(-z[SPEEDS:]))
    weights = np.maximum(t.regret, 0.0) / (1.0 + t.spread)
    total = weights.sum()
    play[GUIDE] = min(max(float(weights @ experts) / total, 0.0), 1.0) if total > 0 else position


def teach(t: Tables, active: Index, play: Array, values: Array, truth: float, weight: float) -> None:
    """Move every part against V; `values` are V at the prediction, at the guide and at each learner."""
    r, experts = t.running, play[EXPERT:]
    gain = weight * values[1] / t.setting[BOUND] * (play[GUIDE] - experts)
    t.regret += gain
    t.spread += gain * gain
    if r[ROUNDS] == 0:
        r[START] = min(max(truth, 0.01), 0.99)
    r[ROUNDS] += weight
    r[MISS] += weight * abs(truth - play[GUIDE])
    r[SQUARED] += weight * values[1] ** 2
    r[FLATNESS] += weight * play[GUIDE] * (1.0 - play[GUIDE])
    move = _moves(r, values[2 : 2 + LEARNERS], weight / math.sqrt(1.0 + play[OTHERS]))
    t.seen[active] += weight
    rate = SLOW / np.sqrt(SETTLE + t.seen[active])[:, None]
    t.slow[active] -= rate * move
    t.slope[active] -= LEAN * play[TILT] * rate * move
    fast = (1.0 - LEAK * weight) * t.fast[active] - STEP * move
    t.fast[active] = np.where(EVERYONE_ONLY & (active != 0)[:, None], t.fast[active], fast)
    if play[HAS_BASE]:
        _teach_base(t, play, move, weight)


def log_odds(position: float) -> float:
    """Of a position, cut a little inside the range."""
    x = min(max(position, 1e-6), 1.0 - 1e-6)
    return math.log(x / (1.0 - x))


def _describe_base(t: Tables, base: float, play: Array) -> None:
    r = t.running
    play[HAS_BASE] = not math.isnan(base)
    position = min(max((base - t.setting[LO]) / t.setting[LENGTH], 0.0), 1.0) if play[HAS_BASE] else r[START]
    deviation = math.sqrt(r[BASE_SQUARES] / r[BASES]) if r[BASES] > 1 else 0.0
    tilt = (position - r[BASE_MEAN]) / deviation if play[HAS_BASE] and deviation > 1e-9 else 0.0
    play[TILT] = min(max(tilt, -2.0), 2.0)
    j = 0
    while j < len(KNOTS) - 2 and play[TILT] >= KNOTS[j + 1]:
        j += 1
    play[HAT], play[HAT_SHARE] = j, (play[TILT] - KNOTS[j]) / (KNOTS[j + 1] - KNOTS[j])
    play[EXPERT + LEARNERS] = position


def _moves(r: Array, values: Array, pace: float) -> Array:
    """How far each learner moves: V over its root mean square, times the typical miss on the learner's scale."""
    rms = math.sqrt(r[SQUARED] / r[ROUNDS])
    scale = pace * (r[MISS] / r[ROUNDS]) / rms if rms > 0 else 0.0
    stretch = 1.0 / max(r[FLATNESS] / r[ROUNDS], 1e-3)
    move: NDArray[np.float64] = scale * values
    move[SPEEDS:] *= stretch
    return move


def _teach_base(t: Tables, play: Array, move: Array, weight: float) -> None:
    r, j = t.running, int(play[HAT])
    for hat, part in ((j, 1.0 - play[HAT_SHARE]), (j + 1, play[HAT_SHARE])):
        t.seen[t.groups + hat] += weight * part
        t.hats[hat] -= SLOW * part / math.sqrt(SETTLE + t.seen[t.groups + hat]) * move
    r[BASES] += weight
    apart = play[EXPERT + LEARNERS] - r[BASE_MEAN]
    r[BASE_MEAN] += weight * apart / r[BASES]
    r[BASE_SQUARES] += weight * apart * (play[EXPERT + LEARNERS] - r[BASE_MEAN])
