"""Evidence that a group's predictions are off: wealth of bets that nobody can expect to win while they are right.

Before each outcome a bet of rate λ is placed on V being high (wealth × (1 + λ(V − ε))) or low (wealth × (1 − λ(V + ε))), ε the
tolerance. While |E[V | past]| ≤ ε no bet gains on average, so whatever mixture of bets is played, its wealth reaches x times the
start with probability at most 1/x, ever (Ville). The mixture is over

* sides and rates: `RATES` are tilts of the odds of V's two extremes, so that +0.8 in log-odds has its own bet whatever the bounds of V;
* families: alike in every bucket of the prediction; against each other below and above the middle (too extreme, too moderate); in one
  bucket alone;
* starts: every `BLOCK` rounds of the group the j-th start receives 1/(j(j + 1)) of the money. These shares add up to one, so restarts
  for ever keep the level. Fixed bets let all starts of a bet share one number: memory does not grow.

Beside it each bet has a run: its gain since the last time that it was at its lowest. The run of the richest bet says when the
trouble most likely began; that is an estimate, without a guarantee.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.kernels import library

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Bits = NDArray[np.bool_]

RATES = np.array([0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4])  # shifts of log-odds
SHARE_OF_RATE = np.array([1.0, 2.0, 4.0, 6.0, 6.0, 4.0, 2.0, 1.0]) / 26.0  # shifts worth an alarm first; the smallest need years
SHARE_OF_FAMILY = (0.75, 0.1, 0.15)  # alike everywhere, against each other, single buckets together
LEVEL, SLOPE, SINGLE = 0, 1, 2  # the families; bucket i is SINGLE + i
BLOCK = 64
CEILING = 1e200  # wealth above this is given away: a number, and still no more than fair

NUMBERS = (
    "wealth", "run", "begun_time", "held", "cash", "sums", "evidence", "peak", "alarm_time", "alarm_since_time",
)  # fmt: skip
COUNTS = ("begun", "rounds", "alarm_round", "alarm_since", "alarm_bet")


def tilts(least: Array, most: Array) -> Array:
    """The rates of bets that gain when a number with mean zero between `least` < 0 and `most` > 0 is high: (…, len(RATES)).

    Notes
    -----
    A number that only takes its two extremes and has mean zero is `most` with probability π = |least|/(most − least). Shifting the
    odds of that by e^θ multiplies the probability of an outcome v by 1 + λv with λ = (e^θ − 1)/(1 − π + π·e^θ)/(most − least): the
    bet that grows fastest if this is what happened. It never exceeds 1/|least|, so wealth stays nonnegative whatever comes.
    """
    odds = np.exp(RATES)
    length = (most - least)[..., None]
    share = -least[..., None] / length
    return np.asarray((odds - 1.0) / (1.0 - share + share * odds) / length)


class Evidence:
    """Wealth of every bet of every group, the alarms, and how they are brought up to date.

    Parameters
    ----------
    groups, buckets : int
    threshold : float
        Evidence that raises a group's alarm.
    sides : (float, float)
        Share of the money on V being high and on V being low.

    Examples
    --------
    >>> bets = Evidence(groups=1, buckets=1, threshold=20.0, sides=(0.5, 0.5))
    >>> bound = np.array([0.5, 0.5])
    >>> bets.rates[:] = np.concatenate([tilts(-bound, bound), tilts(-bound, bound)], axis=1)
    >>> bets.add(np.ones((60, 1), bool), np.zeros(60, np.int64), np.full(60, 0.5), np.ones(60), np.zeros(60), 0)
    >>> bool(bets.evidence[0] > 20.0), int(bets.alarm_round[0]), int(bets.alarm_since[0])
    (True, 9, 0)
    """

    def __init__(self, groups: int, buckets: int, threshold: float, sides: tuple[float, float], tolerance: float = 0.0) -> None:
        self.groups, self.buckets, self.threshold, self.tolerance = groups, buckets, threshold, tolerance
        self.bets, families = 2 * RATES.size, buckets + 2
        level, slope, single = SHARE_OF_FAMILY
        of_family = np.array([level, slope, *[single / buckets] * buckets])
        self.prior = np.outer(of_family, np.concatenate([sides[0] * SHARE_OF_RATE, sides[1] * SHARE_OF_RATE]))
        self.rates: Array = np.zeros((buckets + 1, self.bets))
        self.wealth, self.run, self.begun_time = (np.zeros((groups, families, self.bets)) for _ in range(3))
        self.begun = np.zeros((groups, families, self.bets), dtype=np.int64)
        self.held = np.zeros((groups, families))  # wealth, summed over the bets of a family
        self.cash, self.evidence, self.peak = np.ones(groups), np.ones(groups), np.ones(groups)
        self.rounds, self.sums = np.zeros(groups, dtype=np.int64), np.zeros(groups)
        self.alarm_time, self.alarm_since_time = np.zeros(groups), np.zeros(groups)
        self.alarm_round, self.alarm_since, self.alarm_bet = (np.full(groups, -1, dtype=np.int64) for _ in range(3))

    def add(self, member: Bits, bucket: Index, value: Array, scale: Array, time: Array, first: int) -> None:
        """Rows in order; row i is round `first` + i. `bucket` is `buckets` for rows without one, `scale` in [0, 1] makes bets smaller."""
        loop = library.function("multivalid_evidence", [ctypes.POINTER(_Evidence), ctypes.POINTER(_Rows)])
        if loop is None:
            self._add_in_numpy(member, bucket, value, scale, time, first)
            return
        columns: list[NDArray[Any]] = [np.ascontiguousarray(member).view(np.uint8), np.ascontiguousarray(bucket, dtype=np.int64)]
        columns += [np.ascontiguousarray(numbers, dtype=np.float64) for numbers in (value, scale, time)]
        loop(self._pointers(), _Rows(len(value), first, *map(_address, columns)))

    # ---- inside ----------------------------------------------------------------------------------------------------
    def _add_in_numpy(self, member: Bits, bucket: Index, value: Array, scale: Array, time: Array, first: int) -> None:
        half = self.bets // 2
        for i, (at, v, s, now) in enumerate(zip(bucket.tolist(), value.tolist(), scale.tolist(), time.tolist(), strict=True)):
            active = np.flatnonzero(member[i])
            self._start(active[self.rounds[active] % BLOCK == 0])
            self.rounds[active] += 1
            self.sums[active] += v
            rate = self.rates[at]
            up, down = 1.0 + rate[:half] * ((v - self.tolerance) * s), 1.0 - rate[half:] * ((v + self.tolerance) * s)
            factor = np.maximum(np.concatenate([up, down]), 0.0)
            turned = np.roll(factor, half) if 2 * at < self.buckets else factor
            families = np.array([LEVEL, SLOPE, SINGLE + at] if at < self.buckets else [LEVEL])
            self._play(active[:, None], families, np.stack([factor, turned, factor][: families.size]), first + i, now)
            self._look(active, first + i, now)

    def _start(self, fresh: NDArray[np.intp]) -> None:
        if fresh.size:
            j = (self.rounds[fresh] // BLOCK + 1).astype(np.float64)
            self.cash[fresh] = 1.0 / (j + 1.0)
            self.wealth[fresh] += (1.0 / (j * (j + 1.0)))[:, None, None] * self.prior
            self.held[fresh] = self.wealth[fresh].sum(axis=2)

    def _play(self, active: NDArray[np.intp], families: NDArray[Any], factors: Array, now: int, time: float) -> None:
        wealth = np.minimum(self.wealth[active, families] * factors, CEILING)
        self.wealth[active, families] = wealth
        self.held[active, families] = wealth.sum(axis=2)
        run = self.run[active, families]
        over = run < 1.0
        for kept, new in ((self.begun, now), (self.begun_time, time)):
            kept[active, families] = np.where(over, new, kept[active, families])
        self.run[active, families] = np.minimum(np.where(over, 1.0, run) * factors, CEILING)

    def _look(self, active: NDArray[np.intp], now: int, time: float) -> None:
        total = self.held[active].sum(axis=1) + self.cash[active]
        self.evidence[active] = total
        self.peak[active] = np.maximum(self.peak[active], total)
        for g in active[(total >= self.threshold) & (self.alarm_round[active] < 0)].tolist():
            best = int(self.wealth[g].argmax())
            self.alarm_round[g], self.alarm_time[g], self.alarm_bet[g] = now, time, best
            self.alarm_since[g], self.alarm_since_time[g] = self.begun[g].flat[best], self.begun_time[g].flat[best]

    def _pointers(self) -> _Evidence:
        made = _Evidence(self.groups, self.buckets, BLOCK, self.tolerance, self.threshold, CEILING)
        for name in (*NUMBERS, *COUNTS, "prior", "rates"):
            setattr(made, name, _address(getattr(self, name)))
        return made


def _address(array: NDArray[Any]) -> int:
    # Not array.ctypes.data: that builds an object first, and there are two dozen arrays per call.
    return int(array.__array_interface__["data"][0])


_POINTER = ctypes.c_void_p


class _Evidence(ctypes.Structure):
    """`struct evidence` of kernels/evidence.c."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("groups", "buckets", "block")),
        *((name, ctypes.c_double) for name in ("tolerance", "threshold", "ceiling")),
        *((name, _POINTER) for name in (*NUMBERS, *COUNTS, "prior", "rates")),
    )


class _Rows(ctypes.Structure):
    """`struct rows` of kernels/evidence.c."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("count", "first")),
        *((name, _POINTER) for name in ("member", "bucket", "value", "scale", "time")),
    )
