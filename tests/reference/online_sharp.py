"""The sharp algorithm from its definitions, one number at a time, in the units of the page: bets start at π/K, rates are 2^−k/(2v)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable

A, K, M = 0.1, 16, 20
STEPS = [(0.0, 0.0), (0.01, 0.01), (0.03, 0.03), (0.1, 0.003), (0.3, 0.003)]
KNOTS = [-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.25, 1.5, 2.0]


class Slow:
    """One learner with labels in [lo, hi]; `identify(p, y)` is V of two numbers, in [−low, high]."""

    def __init__(
        self, identify: Callable[[float, float], float], lo: float, hi: float, low: float, high: float, lowest: float
    ) -> None:
        self.identify, self.lo, self.hi, self.low, self.high, self.lowest = identify, lo, hi, low, high, lowest
        self.most = max(low, high)
        self.bets: dict[tuple[int, int, int, int], float] = {}  # group, bucket, sign, k
        self.score = {(kind, k): 1 / (2 * K) for kind in (0, 1) for k in range(K)}
        self.n: dict[tuple[int, int], float] = defaultdict(float)
        self.r: dict[tuple[int, int], float] = defaultdict(float)
        self.edges = [i / M for i in range(1, M)]
        self.guides: list[float] = []
        self.truths: list[tuple[float, float, float]] = []  # label, guide, weight
        self.values: list[tuple[float, float]] = []  # V at the guide, weight
        self.bases: list[tuple[float, float]] = []
        self.part: dict[tuple[str, int, int], float] = defaultdict(float)  # kind, learner, group or hat
        self.seen: dict[tuple[str, int], float] = defaultdict(float)
        self.regret, self.spread = [0.0] * 11, [0.0] * 11
        self.typical = 1.0

    # ---- guide -------------------------------------------------------------------------------------------------------------
    def miss(self) -> float:
        return sum(w * abs(y - g) for y, g, w in self.truths) / sum(w for *_, w in self.truths)

    def describe(self, base: float | None) -> tuple[float, float, dict[int, float]]:
        """Position, standardised base, and how much of each hat function."""
        if base is None:
            start = min(max(self.truths[0][0], 0.01), 0.99) if self.truths else 0.5
            return start, 0.0, {}
        x = min(max((base - self.lo) / (self.hi - self.lo), 0.0), 1.0)
        total = sum(w for _, w in self.bases)
        mean = sum(w * b for b, w in self.bases) / total if self.bases else 0.0
        deviation = math.sqrt(sum(w * (b - mean) ** 2 for b, w in self.bases) / total) if total > 1 else 0.0
        tilt = min(max((x - mean) / deviation, -2.0), 2.0) if deviation > 1e-9 else 0.0
        hats = {}
        for j, knot in enumerate(KNOTS):
            beside = KNOTS[j - 1] if tilt < knot else KNOTS[min(j + 1, 9)]
            if tilt == knot:
                hats[j] = 1.0
            elif beside != knot and min(knot, beside) < tilt < max(knot, beside):
                hats[j] = 1 - abs(tilt - knot) / abs(beside - knot)
        return x, tilt, hats

    def ask(self, active: list[int], base: float | None) -> dict[str, object]:
        x, tilt, hats = self.describe(base)
        experts = []
        for one in range(10):
            z = x if one < 5 else math.log(min(max(x, 1e-6), 1 - 1e-6) / (1 - min(max(x, 1e-6), 1 - 1e-6)))
            for g in active:
                z += self.part["slow", one, g] + self.part["fast", one, g] + tilt * self.part["slope", one, g]
            z += sum(share * self.part["hat", one, j] for j, share in hats.items())
            experts.append(min(max(z, 0.0), 1.0) if one < 5 else 1 / (1 + math.exp(-z)))
        experts.append(x)
        weights = [max(r, 0.0) / (1 + s) for r, s in zip(self.regret, self.spread, strict=True)]
        guide = sum(w * e for w, e in zip(weights, experts, strict=True)) / sum(weights) if sum(weights) > 0 else x
        play = self.walk(active, guide)
        return {**play, "guide": guide, "experts": experts, "tilt": tilt, "hats": hats, "base": base, "x": x, "active": active}

    # ---- where to play --------------------------------------------------------------------------------------------------------
    def bet(self, g: int, i: int, sign: int, k: int) -> float:
        side = self.low if sign > 0 else self.high
        return self.bets.get((g, i, sign, k), side / (self.low + self.high) / K)

    def rate(self, sign: int, k: int) -> float:
        return 2.0**-k / (2 * (self.low if sign > 0 else self.high))

    def c(self, active: list[int], i: int, offset: float) -> float:
        total = 0.0
        for g in active:
            for k in range(K):
                total += A * (self.rate(1, k) * self.bet(g, i, 1, k) - self.rate(-1, k) * self.bet(g, i, -1, k))
        return total + sum(2.0**-k / 2 / self.most * u * self.h(kind, offset) for (kind, k), u in self.score.items())

    def h(self, kind: int, offset: float) -> float:
        return offset if kind == 0 else min(max(offset / self.typical, -1.0), 1.0)

    def walk(self, active: list[int], guide: float) -> dict[str, object]:
        ends = [0.0, *self.edges, 1.0]
        i = sum(guide >= e for e in self.edges)
        here = self.c(active, i, 0.0)
        if abs(here) < 1e-15:  # a fresh bucket owes nothing, up to rounding
            return {"p": self.number(guide), "offset": 0.0, "cells": {i: 1.0}}
        down = here > 0
        while True:
            edge = ends[i] if down else ends[i + 1]
            at = self.c(active, i, edge - guide)
            if (at <= 0) if down else (at >= 0):
                near, far = 0.0, edge - guide
                for _ in range(60):  # c increases with the offset
                    middle = (near + far) / 2
                    near, far = (near, middle) if (self.c(active, i, middle) <= 0) == down else (middle, far)
                return {"p": self.number(guide + near), "offset": near, "cells": {i: 1.0}}
            beyond = i - 1 if down else i + 1
            if not 0 <= beyond <= len(self.edges):
                return {"p": self.lowest if down else self.hi, "offset": edge - guide, "cells": {i: 1.0}}
            there = self.c(active, beyond, edge - guide)
            if (there <= 0) if down else (there >= 0):
                share = there / (there - at)  # share·at + (1 − share)·there = 0
                cells = {i: share, beyond: 1 - share}
                return {"p": self.number(edge), "offset": edge - guide, "cells": cells}
            i = beyond

    def number(self, position: float) -> float:
        return self.lo + (self.hi - self.lo) * position

    # ---- after the outcome ------------------------------------------------------------------------------------------------------
    def tell(self, play: dict, y: float, weight: float) -> None:
        v, offset = self.identify(play["p"], y), play["offset"]
        moves = {key: 1 + 2.0 ** -key[1] / 2 / self.most * weight * v * self.h(key[0], offset) for key in self.score}
        for i, share in play["cells"].items():
            for g in play["active"]:
                if share > 0:
                    self.n[g, i] += weight * share
                    self.r[g, i] += weight * share * v
                    for sign in (1, -1):
                        start = (self.low if sign > 0 else self.high) / (self.low + self.high) / K
                        for k in range(K):
                            changed = self.bet(g, i, sign, k) * (1 + sign * self.rate(sign, k) * weight * share * v)
                            self.bets[g, i, sign, k] = max(changed, start / (self.n[g, i] + 1) ** 2)
        rounds = sum(w for *_, w in self.truths) + weight
        self.score = {key: max(u * moves[key], 1 / (2 * K) / (rounds + 1) ** 2) for key, u in self.score.items()}
        self.guides.append(play["guide"])
        t = len(self.guides)
        if t >= 64 and t & (t - 1) == 0:
            ordered = sorted(self.guides)
            self.edges = sorted({e for e in (ordered[i * t // M] for i in range(1, M)) if 0 < e < 1})
        self.teach(play, y, weight)

    def teach(self, play: dict, y: float, weight: float) -> None:
        at = [self.identify(self.number(e), y) for e in play["experts"]]
        v = self.identify(self.number(play["guide"]), y)
        for one, expert in enumerate(play["experts"]):
            r = weight * v / self.most * (play["guide"] - expert)
            self.regret[one] += r
            self.spread[one] += r * r
        self.truths.append(((y - self.lo) / (self.hi - self.lo), play["guide"], weight))
        self.values.append((v, weight))
        rounds = sum(w for *_, w in self.truths)
        rms = math.sqrt(sum(w * value**2 for value, w in self.values) / rounds)
        flat = sum(w * g * (1 - g) for _, g, w in self.truths) / rounds
        for g in play["active"]:
            self.seen["group", g] += weight
        for j, share in play["hats"].items():
            self.seen["hat", j] += weight * share
        miss = self.miss()
        self.typical = max(miss, 1e-6)
        for one in range(10):
            move = weight * miss * at[one] / rms * (1 if one < 5 else 1 / max(flat, 1e-3)) if rms else 0.0
            step, leak = STEPS[one % 5]
            for g in play["active"]:
                slow = 0.1 * move / math.sqrt(10 + self.seen["group", g])
                self.part["slow", one, g] -= slow
                self.part["slope", one, g] -= 0.25 * slow * play["tilt"]
                if g == 0 or one % 5 < 3:
                    self.part["fast", one, g] = (1 - leak * weight) * self.part["fast", one, g] - step * move
            for j, share in play["hats"].items():
                self.part["hat", one, j] -= 0.1 * share * move / math.sqrt(10 + self.seen["hat", j])
        if play["base"] is not None:
            self.bases.append((play["x"], weight))

    def total(self, groups: int) -> float:
        """W."""
        cells = sum(self.bet(g, i, s, k) for g in range(groups) for i in range(M) for s in (1, -1) for k in range(K))
        return sum(self.score.values()) + A * cells
