"""The monitor without any sharing: every start of every bet keeps a list of its own factors. Slow, and close to the definition."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

RATES = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4]
OF_RATE = [1, 2, 4, 6, 6, 4, 2, 1]
BLOCK = 64


def tilt(theta: float, loss: float, gain: float) -> float:
    """The log-optimal bet if a two-valued number in {−loss, gain} with mean zero has its odds shifted by e^theta."""
    p = loss / (loss + gain)  # of `gain`
    shifted = p * math.exp(theta) / (p * math.exp(theta) + 1 - p)
    return (shifted / p - 1) / gain


@dataclass
class Bet:
    family: int
    high: bool
    theta: float
    share: float
    factors: list[float] = field(default_factory=list)  # one per round of the group; 1 where it does not bet
    played: list[int] = field(default_factory=list)  # rounds (of the stream) in which it bets


class NaiveGroup:
    """One group; `loss` and `gain` say for a bucket (None: no bucket yet) what V can at least and at most be."""

    def __init__(self, buckets: int, tolerance: float = 0.0, sides: tuple[float, float] = (0.5, 0.5)) -> None:
        self.buckets, self.tolerance, self.times = buckets, tolerance, []
        families = [0.75, 0.1, *[0.15 / buckets] * buckets]
        self.bets = [
            Bet(f, high, theta, share * sides[0 if high else 1] * weight / sum(OF_RATE))
            for f, share in enumerate(families)
            for high in (True, False)
            for theta, weight in zip(RATES, OF_RATE, strict=True)
        ]

    def add(self, now: int, bucket: int | None, value: float, least: float, most: float) -> None:
        """A round of the stream that the group is in."""
        self.times.append(now)
        for bet in self.bets:
            turned = bet.family == 1 and bucket is not None and bucket < self.buckets / 2
            plays = bet.family == 0 or (bucket is not None and (bet.family == 1 or bet.family == 2 + bucket))
            factor = 1.0
            if plays:
                high = bet.high != turned
                eps = self.tolerance
                if high:
                    factor = 1 + tilt(bet.theta, eps - least, most - eps) * (value - eps)
                else:
                    factor = 1 - tilt(bet.theta, most + eps, -least - eps) * (value + eps)
                bet.played.append(now)
            bet.factors.append(max(factor, 0.0))

    def wealth(self, bet: Bet) -> float:
        """Over all starts."""
        total = 0.0
        for j, start in enumerate(range(0, len(self.times), BLOCK), 1):
            total += bet.share / (j * (j + 1)) * math.prod(bet.factors[start:])
        return total

    def evidence(self) -> float:
        """All bets, and the money that no start has had yet."""
        starts = math.ceil(len(self.times) / BLOCK)
        return sum(self.wealth(bet) for bet in self.bets) + 1 / (starts + 1)

    def since(self) -> int:
        """The beginning that serves the richest bet best, of the rounds in which it bets; the earliest of equals."""
        best = max(self.bets, key=self.wealth)
        places = [i for i, now in enumerate(self.times) if now in set(best.played)]
        return self.times[max(places, key=lambda i: (math.prod(best.factors[i:]), -i))]
