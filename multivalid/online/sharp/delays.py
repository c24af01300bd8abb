"""Outcomes that come late: copies of the bets, batches that are paid together, or smaller bets without a promise.

A bet must be paid with the state its prediction was made from. With one copy of the bets and outcomes that come at once that is so.
With N copies, each prediction takes one that waits for nothing. With batches of B, the bets stand still until the batch is complete
and are then paid together, each at 1/B of its rate. Where no copy is free, the bets of a round are divided by one plus the number of
open outcomes: good in practice, and nothing is promised any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from multivalid.online.sharp import bets
from multivalid.online.sharp.edges import keep_guide
from multivalid.online.sharp.guide import teach
from multivalid.online.sharp.play import COPY, GUIDE, NEARBY, OFFSET, OTHERS, SCALE, STAMP, Array, Index, Play
from multivalid.online.sharp.tables import Tables

Told = tuple[Index, Array, float, float]  # groups, the play's numbers, V, weight


class Queue:
    """Which copy plays next, what each waits for, and whether every bet so far was paid with the state it was made from."""

    def __init__(self, copies: int, batch: int) -> None:
        self.batch = batch
        self.waiting = [0] * copies
        self.paid = [0] * copies  # how often each copy's bets have changed
        self.told: list[list[Told | None]] = [[] for _ in range(copies)]
        self.proven = True

    @property
    def busy(self) -> bool:
        """Whether outcomes are awaited or a batch is incomplete."""
        return any(self.waiting) or any(self.told)

    def place(self, numbers: Array, together: int) -> None:
        """Choose the copy for a prediction, and by how much its bets are divided."""
        if together == 1 and self.batch == 1 and self.waiting[0] == 0 and len(self.waiting) == 1:  # the usual case
            numbers[SCALE], numbers[STAMP] = 1.0, self.paid[0]
            return
        taken = [w + len(told) for w, told in zip(self.waiting, self.told, strict=True)]
        free = [copy for copy, count in enumerate(taken) if count + together <= self.batch]
        others = sum(self.waiting) + together - 1
        copy = free[0] if free else int(np.argmin(taken))
        numbers[[COPY, OTHERS, STAMP]] = copy, others, self.paid[copy]
        numbers[SCALE] = 1.0 / self.batch if free else 1.0 / (self.batch * (1.0 + others))

    def begin(self, numbers: Array) -> None:
        self.waiting[int(numbers.item(COPY))] += 1

    def at_once(self, numbers: Array) -> bool:
        """Whether the bets of this play are paid as soon as its outcome is told."""
        return self.batch == 1 or numbers.item(SCALE) != 1.0 / self.batch

    def paid_alone(self, numbers: Array) -> None:
        """Its bets have been paid."""
        copy = int(numbers.item(COPY))
        self.waiting[copy] = max(0, self.waiting[copy] - 1)
        if numbers.item(STAMP) != self.paid[copy] or self.told[copy] or numbers.item(SCALE) != 1.0 / self.batch:
            self.proven = False
        self.paid[copy] += 1

    def close(self, numbers: Array, told: Told | None) -> list[Told] | None:
        """An outcome of a batch was told, or will never come; the whole batch once it is complete."""
        copy = int(numbers[COPY])
        self.waiting[copy] = max(0, self.waiting[copy] - 1)
        if told is None and self.at_once(numbers):
            return None
        if numbers[STAMP] != self.paid[copy]:
            self.proven = False
        self.told[copy].append(told)
        if len(self.told[copy]) < self.batch:
            return None
        complete = [one for one in self.told[copy] if one is not None]
        self.told[copy] = []
        self.paid[copy] += 1
        return complete

    def reopen(self, plays: list[Array]) -> None:
        """Exactly these are awaited."""
        self.waiting = [0] * len(self.waiting)
        for numbers in plays:
            self.begin(numbers)

    def to_json(self) -> dict[str, Any]:
        """Plain data; what is awaited is known from the open plays."""
        told = [[None if one is None else [Play(*one[:2]).to_json(), *one[2:]] for one in part] for part in self.told]
        return {"paid": self.paid, "proven": self.proven, "told": told}

    def restore(self, data: dict[str, Any], read: Callable[[Any], Play]) -> None:
        """Take over what `to_json` wrote."""
        paid, told = [int(count) for count in data["paid"]], data["told"]
        if not len(paid) == len(told) == len(self.paid) or any(len(part) >= self.batch for part in told):
            raise ValueError("the queue must have as many copies as the settings say")
        self.paid, self.proven = paid, bool(data["proven"])
        self.told = [[None if one is None else (*read(one[0]), float(one[1]), float(one[2])) for one in part] for part in told]


def record(t: Tables, active: Index, numbers: Array, values: Array, truth: float, weight: float) -> None:
    """All of a round except its bets."""
    bets.record(t, active, numbers, values, weight)
    keep_guide(t, float(numbers[GUIDE]))
    teach(t, active, numbers, values, truth, weight)


def pay_batch(t: Tables, complete: list[Told], batch: int) -> None:
    """w ← w·(1 + (η/B)·Σ qV) for every cell that the batch touched."""
    if not complete:
        return
    copy = int(complete[0][1][COPY])
    gain, stake = np.zeros((t.groups, t.buckets)), np.zeros((t.groups, t.buckets))
    score, played = np.zeros(2), 0.0
    for active, numbers, value, weight in complete:
        for bucket, share in Play(active, numbers).buckets:
            gain[active, bucket] += weight * share * value / batch
            stake[active, bucket] += weight * share / batch
        score += weight * value / batch * np.array([numbers[OFFSET], numbers[NEARBY]])
        played += weight / batch
    for bucket in range(t.buckets):
        groups = np.flatnonzero(stake[:, bucket])
        if groups.size:
            bets.pay(t, copy, groups, bucket, stake[groups, bucket], gain[groups, bucket])
    bets.pay_score(t, copy, played, score)
