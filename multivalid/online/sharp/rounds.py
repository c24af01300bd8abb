"""One round as two calls, `choose` and `settle`: compiled (`kernels/sharp.c`) where there is a library, else in NumPy.

Both work on the same tables in place and give the same numbers up to rounding.
"""

from __future__ import annotations

import ctypes
from typing import Any, Protocol

import numpy as np

from multivalid.kernels import library
from multivalid.online.sharp.bets import ACTUAL, settle_bets
from multivalid.online.sharp.edges import keep_guide
from multivalid.online.sharp.guide import guess, teach
from multivalid.online.sharp.play import EXPERT, GUIDE, LEARNERS, PREDICTION, SIZE, Array, Bits, Index
from multivalid.online.sharp.tables import KIND, NAMES, TAU, Tables
from multivalid.online.sharp.walk import walk

VALUES = ACTUAL + 1


class Rounds(Protocol):
    """What the engine asks of either."""

    replays: bool  # whether V need not come from Python, so that rows can follow each other without it

    def choose(self, active: Index, base: float, play: Array) -> None:
        """Fill in a play from the present state, which does not change; a base of NaN is none."""

    def choose_many(self, active: Index, starts: Index, base: Array, plays: Array) -> None:
        """The same for many rows; row t has the groups active[starts[t]:starts[t + 1]]."""

    def settle(self, active: Index, play: Array, values: Array, truth: float, weight: float) -> None:
        """Learn from an outcome: V at the points of the play, and the position of the label."""

    def learn(self, active: Index, play: Array, label: float, weight: float) -> None:
        """The same for a label in the range, where it `replays`."""

    def replay(self, members: Bits, base: Array, labels: Array, weights: Array, play: Array) -> Array:
        """Predict and learn row after row, where it `replays`."""


class NumpyRounds:
    """The twin that needs no compiler, and the oracle of the compiled one."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.replays = bool(tables.setting[KIND] != 0)

    def choose(self, active: Index, base: float, play: Array) -> None:
        guess(self.tables, active, base, play)
        walk(self.tables, active, play)

    def choose_many(self, active: Index, starts: Index, base: Array, plays: Array) -> None:
        for t, play in enumerate(plays):
            self.choose(active[starts[t] : starts[t + 1]], float(base[t]), play)

    def settle(self, active: Index, play: Array, values: Array, truth: float, weight: float) -> None:
        settle_bets(self.tables, active, play, values, weight)
        keep_guide(self.tables, float(play[GUIDE]))
        teach(self.tables, active, play, values, truth, weight)

    def learn(self, active: Index, play: Array, label: float, weight: float) -> None:
        lo, length, *_ = setting = self.tables.setting.tolist()
        at = [play.item(PREDICTION), *(lo + length * p for p in (play.item(GUIDE), *play[EXPERT : EXPERT + LEARNERS].tolist()))]
        values = [_identify(setting[KIND], setting[TAU], p, label) for p in at]
        truth = min(max((label - lo) / length, 0.0), 1.0)
        self.settle(active, play, np.array([*values, values[0]]), truth, weight)

    def replay(self, members: Bits, base: Array, labels: Array, weights: Array, play: Array) -> Array:
        out = np.empty(labels.size)
        for t, (b, label, weight) in enumerate(zip(base.tolist(), labels.tolist(), weights.tolist(), strict=True)):
            active = members[t].nonzero()[0]
            self.choose(active, b, play)
            out[t] = play[PREDICTION]
            if weight > 0:
                self.learn(active, play, label, weight)
        return out


def _identify(kind: float, tau: float, p: float, y: float) -> float:
    """V of the kinds that need no Python of the property's: 1 is 1[y ≤ p] − tau, 2 is 2·|1[y ≤ p] − tau|·(p − y)."""
    if kind == 1:
        return 1.0 - tau if y <= p else -tau
    return 2.0 * (1.0 - tau if y <= p else tau) * (p - y)


class _Tables(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("groups", "buckets", "rates")),
        *((name, ctypes.c_void_p) for name in NAMES),
    )


P, I, D = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double  # noqa: E741 - C types by their first letters
FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "choose": (P, P, I, D, P),
    "choose_many": (P, P, P, I, P, P),
    "settle": (P, P, I, P, P, D, D),
    "learn": (P, P, I, P, D, D),
    "replay": (P, P, I, P, P, P, P, P, P),
}


class CompiledRounds:
    """Calls of `kernels/sharp.c`."""

    def __init__(self, tables: Tables, functions: dict[str, Any]) -> None:
        self.tables = tables  # keeps the memory that C sees alive
        pointers = {name: getattr(tables, name).ctypes.data for name in NAMES}
        self._struct = _Tables(groups=tables.groups, buckets=tables.buckets, rates=tables.rates, **pointers)
        self._at = ctypes.addressof(self._struct)
        self._choose, self._settle, self._learn = functions["choose"], functions["settle"], functions["learn"]
        self.replays = bool(tables.setting[KIND] != 0)
        self._choose_many, self._replay = functions["choose_many"], functions["replay"]
        # A single round is copied to where C finds it: asking an array for its address takes longer than the round.
        self._active, self._play = np.zeros(tables.groups, dtype=np.int64), np.zeros(SIZE)
        self._active_at, self._play_at = self._active.ctypes.data, self._play.ctypes.data
        self._copied: Index | None = None  # a row's groups come twice, to be played and to be learned

    def choose(self, active: Index, base: float, play: Array) -> None:
        self._bring(active)
        self._play[:] = play
        self._choose(self._at, self._active_at, active.size, base, self._play_at)
        play[:] = self._play

    def choose_many(self, active: Index, starts: Index, base: Array, plays: Array) -> None:
        given = [np.ascontiguousarray(array) for array in (active, starts, base)]  # C knows no strides
        who, where, numbers = (array.ctypes.data for array in given)
        self._choose_many(self._at, who, where, len(plays), numbers, plays.ctypes.data)

    def settle(self, active: Index, play: Array, values: Array, truth: float, weight: float) -> None:
        self._settle(self._at, active.ctypes.data, active.size, play.ctypes.data, values.ctypes.data, truth, weight)

    def learn(self, active: Index, play: Array, label: float, weight: float) -> None:
        self._bring(active)
        self._play[:] = play
        self._learn(self._at, self._active_at, active.size, self._play_at, label, weight)

    def _bring(self, active: Index) -> None:
        if active is not self._copied:
            self._active[: active.size] = active
            self._copied = active

    def replay(self, members: Bits, base: Array, labels: Array, weights: Array, play: Array) -> Array:
        given = [np.ascontiguousarray(array) for array in (members, base, labels, weights)]  # C knows no strides
        active, out = np.empty(self.tables.groups, dtype=np.int64), np.empty(labels.size)
        who, *numbers = (array.ctypes.data for array in (*given, active, play, out))
        self._replay(self._at, who, labels.size, *numbers)
        return out


def rounds_on(tables: Tables) -> Rounds:
    """The compiled rounds where there is a library, else the others; decided when a learner is made."""
    found = {name: library.function(f"multivalid_sharp_{name}", types) for name, types in FUNCTIONS.items()}
    return NumpyRounds(tables) if None in found.values() else CompiledRounds(tables, found)
