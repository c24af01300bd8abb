"""The guide: what would be sharp. It may be arbitrarily wrong without any harm to calibration.

Ten learners start from the base and add one number per active group that moves slowly, one that moves fast and forgets, a slope along the
base, and a bend of the base (ten hat functions). Five add on the label's scale, five on that of log-odds over the range; the five differ
in how fast the fast number is. Each moves against its own V. ML-Poly (Gaillard, Stoltz, van Erven) mixes them and the base: weight
(Σr)₊/(1 + Σr²), r = V(guide)·(guide − expert)/C with positions, so that Σ S(guide) − S(expert) ≤
C·range·√(N·(1 + ln(1 + T))·(1 + Σr²)) for each of the N = 11.
"""

from __future__ import annotations

import math
from bisect import bisect_right

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
# First for everyone, then for the other groups, which at the two highest speeds would only follow noise.
STEP = np.tile([[0.0, 0.01, 0.03, 0.1, 0.3], [0.0, 0.01, 0.03, 0.0, 0.0]], 2)  # of a fast number, in typical misses
LEAK = np.tile([[0.0, 0.01, 0.03, 0.003, 0.003], [0.0, 0.01, 0.03, 0.0, 0.0]], 2)  # what it forgets per round
KNOTS = (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.25, 1.5, 2.0)  # of the hat functions, in standard deviations of the base
SLOW, SETTLE, LEAN = 0.1, 10.0, 0.25  # a slow step is SLOW/√(SETTLE + rounds of the group), a slope's LEAN of that


def guess(t: Tables, active: Index, base: float, play: Array) -> None:
    """Fill in the base, the experts and the guide of a play."""
    position = _describe_base(t, base, play)
    slow, fast, slope = np.add.reduce(t.parts.take(active, axis=1), axis=1)
    shift = slow + fast + play.item(TILT) * slope
    if play.item(HAS_BASE):
        j, high = int(play.item(HAT)), play.item(HAT_SHARE)
        shift += (1.0 - high) * t.hats[j] + high * t.hats[j + 1]
    shifts, odds = shift.tolist(), log_odds(position)  # so few numbers are added faster one by one
    experts = [min(max(position + z, 0.0), 1.0) for z in shifts[:SPEEDS]]
    experts += [1.0 / (1.0 + math.exp(min(-odds - z, 700.0))) for z in shifts[SPEEDS:]]
    experts.append(position)
    weights = [max(r, 0.0) / (1.0 + s) for r, s in zip(t.regret.tolist(), t.spread.tolist(), strict=True)]
    total, mixed = sum(weights), sum(w * e for w, e in zip(weights, experts, strict=True))
    play[EXPERT:] = experts
    play[GUIDE] = min(max(mixed / total, 0.0), 1.0) if total > 0 else position


def teach(t: Tables, active: Index, play: Array, values: Array, truth: float, weight: float) -> None:
    """Move every part against V; `values` are V at the prediction, at the guide and at each learner."""
    guide, value = play.item(GUIDE), values.item(1)
    gain = (weight * value / t.setting.item(BOUND)) * (guide - play[EXPERT:])
    t.regret += gain
    t.spread += gain * gain
    r = t.running.tolist()
    if r[ROUNDS] == 0:
        r[START] = min(max(truth, 0.01), 0.99)
    r[ROUNDS] += weight
    r[MISS] += weight * abs(truth - guide)
    r[SQUARED] += weight * value**2
    r[FLATNESS] += weight * guide * (1.0 - guide)
    move = _moves(r, values[2 : 2 + LEARNERS], weight / math.sqrt(1.0 + play.item(OTHERS)))
    seen = t.seen.take(active) + weight
    t.seen[active] = seen
    step = (SLOW / np.sqrt(SETTLE + seen))[:, None] * move
    parts, other = t.parts.take(active, axis=1), (active != 0).view(np.int8)
    parts[0] -= step
    parts[1] = (1.0 - LEAK * weight)[other] * parts[1] - (STEP * move)[other]
    parts[2] -= (LEAN * play.item(TILT)) * step
    t.parts[:, active] = parts
    if play.item(HAS_BASE):
        _teach_base(t, r, play, move, weight)
    t.running[:] = r


def log_odds(position: float) -> float:
    """Of a position, cut a little inside the range."""
    x = min(max(position, 1e-6), 1.0 - 1e-6)
    return math.log(x / (1.0 - x))


def _describe_base(t: Tables, base: float, play: Array) -> float:
    """The position of the base, or where guesses without one start."""
    r, given = t.running.tolist(), not math.isnan(base)
    position = min(max((base - t.setting.item(LO)) / t.setting.item(LENGTH), 0.0), 1.0) if given else r[START]
    deviation = math.sqrt(r[BASE_SQUARES] / r[BASES]) if r[BASES] > 1 else 0.0
    tilt = min(max((position - r[BASE_MEAN]) / deviation, -2.0), 2.0) if given and deviation > 1e-9 else 0.0
    j = min(max(bisect_right(KNOTS, tilt) - 1, 0), len(KNOTS) - 2)
    play[HAS_BASE], play[TILT] = given, tilt
    play[HAT], play[HAT_SHARE] = j, (tilt - KNOTS[j]) / (KNOTS[j + 1] - KNOTS[j])
    return position


def _moves(r: list[float], values: Array, pace: float) -> Array:
    """How far each learner moves: V over its root mean square, times the typical miss on the learner's scale."""
    rms = math.sqrt(r[SQUARED] / r[ROUNDS])
    scale = pace * (r[MISS] / r[ROUNDS]) / rms if rms > 0 else 0.0
    stretch = 1.0 / max(r[FLATNESS] / r[ROUNDS], 1e-3)
    move: NDArray[np.float64] = scale * values
    move[SPEEDS:] *= stretch
    return move


def _teach_base(t: Tables, r: list[float], play: Array, move: Array, weight: float) -> None:
    j, above, position = int(play.item(HAT)), play.item(HAT_SHARE), play.item(EXPERT + LEARNERS)
    for hat, part in ((j, 1.0 - above), (j + 1, above)):
        seen = t.seen.item(t.groups + hat) + weight * part
        t.seen[t.groups + hat] = seen
        t.hats[hat] -= (SLOW * part / math.sqrt(SETTLE + seen)) * move
    r[BASES] += weight
    apart = position - r[BASE_MEAN]
    r[BASE_MEAN] += weight * apart / r[BASES]
    r[BASE_SQUARES] += weight * apart * (position - r[BASE_MEAN])
