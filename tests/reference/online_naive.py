"""The online algorithms from their definitions: the whole history is kept and everything is recomputed in every round."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Naive:
    """One learner; `identify(level, label)` is V of two numbers. Group 0 holds everybody."""

    points: list[float]
    groups: int
    identify: Callable[[float, float], float]
    bound: float
    slack: list[float]
    algorithm: str
    horizon: int | None
    lo: float
    hi: float
    rounds: int = 16  # number of rates when the horizon is unknown
    history: list[tuple[list[int], int, float, float]] = field(default_factory=list)  # active, level, V, weight
    losses: list[float] = field(default_factory=list)
    guesses: list[tuple[list[int], float]] = field(default_factory=list)  # active, weight·V/C at the guess

    def cell(self, group: int, level: int) -> tuple[float, float]:
        n = r = 0.0
        for active, played, value, weight in self.history:
            if played == level and group in active:
                n += weight
                r += weight * value
        return n, r

    def k2(self, group: int) -> float:
        total = 0.0
        for level in range(len(self.points)):
            n, r = self.cell(group, level)
            total += r * r / n if n > 0 else 0.0
        return total

    # ---- coefficients ----------------------------------------------------------------------------------------------
    def experts(self) -> list[tuple[float, float]]:
        if self.horizon is None:
            return [(2.0**-k, 1 / ((k + 1) * (k + 2))) for k in range(self.rounds)]
        count = math.ceil(math.log2(math.sqrt(self.horizon))) + 1
        return [(2.0**-k, 1 / count) for k in range(count)]

    def coefficient(self, active: list[int], level: int) -> float:
        if self.algorithm == "A":
            eta = self.rate()
            top = max(self.loss(g) for g in range(self.groups))
            share = [math.exp(eta * (self.loss(g) - top)) for g in range(self.groups)]
            total = 0.0
            for g in active:
                n, r = self.cell(g, level)
                total += share[g] / sum(share) * 2 * r / (n + 1)
            return total
        total, b = 0.0, self.slack[level]
        for g in active:
            n, r = self.cell(g, level)
            for eta, prior in self.experts():
                up = prior * math.exp(eta * r / self.bound - (eta * b + eta * eta / 2) * n)
                down = prior * math.exp(-eta * r / self.bound - (eta * b + eta * eta / 2) * n)
                total += math.sinh(eta) * math.exp(-eta * eta / 2 - eta * b) * (up - down)
        return total

    def wealth(self) -> float:
        total = 0.0
        for g in range(self.groups):
            for level, b in enumerate(self.slack):
                n, r = self.cell(g, level)
                for eta, prior in self.experts():
                    total += 2 * prior * math.cosh(eta * r / self.bound) * math.exp(-(eta * b + eta * eta / 2) * n)
        return total / (2 * sum(p for _, p in self.experts()) * self.groups * len(self.points))

    def rate(self) -> float:
        span = 2 * self.bound**2
        if self.horizon is not None:
            return math.sqrt(2 * math.log(self.groups) / self.horizon) / span
        return math.sqrt(math.log(self.groups) / (len(self.history) + 1)) / span

    def loss(self, group: int) -> float:
        """Σ over the group's rounds of w·V·2R/(n + 1), n and R as they were before each round."""
        total, cells = 0.0, {}
        for active, level, value, weight in self.history:
            if group in active:
                n, r = cells.get(level, (0.0, 0.0))
                total += weight * value * 2 * r / (n + 1)
                cells[level] = (n + weight, r + weight * value)
        return total

    # ---- one round -------------------------------------------------------------------------------------------------
    def guess(self, active: list[int]) -> float:
        shift = [0.0] * self.groups
        spent = [0.0] * self.groups
        shift[0] = (self.lo + self.hi) / 2
        for who, value in self.guesses:
            for g in who:
                spent[g] += value * value
                shift[g] -= 0.1 * (self.hi - self.lo) * value / math.sqrt(1 + spent[g])
        return min(self.hi, max(self.lo, sum(shift[g] for g in active)))

    def play(self, active: list[int], base: float | None, draw: float) -> int:
        c = [self.coefficient(active, level) for level in range(len(self.points))]
        near = self.guess(active) if base is None else base
        last = len(c) - 1
        options: list[tuple[float, int, int, float]] = []  # distance, low, high, probability of low
        if c[0] > 0:
            options.append((abs(self.points[0] - near), 0, 0, 1.0))
        for i in range(last):
            if c[i] <= 0 < c[i + 1]:
                middle = (self.points[i] + self.points[i + 1]) / 2
                options.append((abs(middle - near), i, i + 1, c[i + 1] / (c[i + 1] - c[i])))
        if c[last] <= 0:
            options.append((abs(self.points[last] - near), last, last, 1.0))
        best = min(options, key=lambda option: option[0])
        if base is not None:
            for i, value in enumerate(c):
                if value == 0.0 and abs(self.points[i] - near) < best[0]:
                    best = (abs(self.points[i] - near), i, i, 1.0)
        return best[1] if draw < best[3] else best[2]

    def learn(self, active: list[int], level: int, label: float, weight: float, guess: float | None) -> None:
        self.history.append((active, level, self.identify(self.points[level], label), weight))
        if guess is not None:
            self.guesses.append((active, weight * self.identify(guess, label) / self.bound))
