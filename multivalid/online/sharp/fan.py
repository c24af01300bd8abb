"""Several quantiles in one learner: each has a guide and bets of its own, and they are published in order, never crossing.

The lowest level is published as its bets ask. Where a higher level would come out below the one before it, the number before it is
published instead. Its bets are still paid as if it had been played where they asked, so its promise needs only one more term, which is
counted: Σ|V(published, y) − V(asked, y)|.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.online import checks
from multivalid.online.draws import Draws
from multivalid.online.sharp.engine import SharpEngine
from multivalid.online.sharp.play import Array, Bits, Index, Play
from multivalid.online.sharp.setup import SharpSetup


class FanPlay(NamedTuple):
    """One play per level."""

    plays: tuple[Play, ...]

    @property
    def active(self) -> Index:
        """Numbers of the groups of its row."""
        return self.plays[0].active

    @property
    def prediction(self) -> Array:
        """What was published: what each level's bets ask for, or the level before it if that is more."""
        return np.maximum.accumulate([play.prediction for play in self.plays])


class FanEngine:
    """One sharp engine per level."""

    def __init__(self, setup: SharpSetup) -> None:
        self.setup = setup
        self.levels = [SharpEngine(dataclasses.replace(setup, prop=prop)) for prop in setup.properties]
        self.columns = len(self.levels)
        self._first = self.levels[0]

    # ---- a round ---------------------------------------------------------------------------------------------------------
    def check_label(self, y: float) -> float:
        """A finite outcome."""
        return checks.finite_label(y)

    def check_base(self, base: Any) -> Array | None:
        """One number per level, or none."""
        return checks.bases(base, self.columns)

    def check_labels(self, labels: Array) -> None:
        """Labels of many rows: what is finite will do."""

    def shown(self, y: float, draws: Draws) -> float:
        """The label as it came."""
        return y

    def play(self, active: Index, base: Array | None, draws: Draws, together: int = 1) -> FanPlay:
        """A prediction from the present state."""
        given = [None] * self.columns if base is None else base.tolist()
        return FanPlay(tuple(one.play(active, b, draws, together) for one, b in zip(self.levels, given, strict=True)))

    def plays(self, rows: list[Index], base: Array, draws: Draws) -> list[FanPlay]:
        """Predictions for many rows; `base` has one column per level, NaN where there is none."""
        given = [None if np.isnan(b).any() else b for b in base]
        return [self.play(active, b, draws, len(rows)) for active, b in zip(rows, given, strict=True)]

    def begin(self, play: FanPlay) -> None:
        """Its outcome is awaited."""
        for one, part in zip(self.levels, play.plays, strict=True):
            one.begin(part)

    def drop(self, play: FanPlay) -> None:
        """Its outcome will never come."""
        for one, part in zip(self.levels, play.plays, strict=True):
            one.drop(part)

    def settle(self, play: FanPlay, y: float, weight: float) -> None:
        """The outcome of a play."""
        for one, part, published in zip(self.levels, play.plays, play.prediction.tolist(), strict=True):
            one.settle(part, y, weight, published)

    def replay(self, members: Bits, base: Array, labels: Array, weights: Array) -> Array | None:
        """Only row by row."""
        return None

    # ---- how it is going ---------------------------------------------------------------------------------------------------
    @property
    def rounds(self) -> int:
        """Outcomes learned."""
        return self._first.rounds

    @property
    def weight(self) -> float:
        """Σ of their weights."""
        return self._first.weight

    def squared(self) -> Array:
        """K₂ of each group, level after level."""
        return np.concatenate([one.squared() for one in self.levels])

    def bounds(self) -> Array:
        """What is promised for them."""
        return np.concatenate([one.bounds() for one in self.levels])

    def table(self) -> dict[str, NDArray[Any]]:
        """One row per level and group."""
        tables = [one.table() for one in self.levels]
        tau = np.repeat([one.setup.prop.tau for one in self.levels], len(self.setup.members.names))
        return {"tau": tau, **{name: np.concatenate([table[name] for table in tables]) for name in tables[0]}}

    def headline(self) -> str:
        """What is played, for the summary."""
        return f"{self.columns} levels in order, {self._first.headline()}"

    def notes(self) -> list[str]:
        """What a reader of the bound should know."""
        return list(dict.fromkeys(note for one in self.levels for note in one.notes()))

    # ---- keeping ------------------------------------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """Plain data."""
        return {"levels": [one.state() for one in self.levels]}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over `state`."""
        for one, part in zip(self.levels, state["levels"], strict=True):
            one.restore(part)

    def reopen(self, plays: Iterable[FanPlay]) -> None:
        """Exactly these outcomes are awaited."""
        waiting = list(plays)
        for i, one in enumerate(self.levels):
            one.reopen([play.plays[i] for play in waiting])

    def play_to_json(self, play: FanPlay) -> Any:
        """Plain data."""
        return [part.to_json() for part in play.plays]

    def play_from_json(self, data: Any) -> FanPlay:
        """The play that `play_to_json` described."""
        return FanPlay(tuple(one.play_from_json(part) for one, part in zip(self.levels, data, strict=True)))
