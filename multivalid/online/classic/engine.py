"""Algorithms A, B and the paper's behind the learner: levels are drawn, the transcript counts them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.online import checks
from multivalid.online.classic.experts import Experts
from multivalid.online.classic.game import CrossingRule, solve_game
from multivalid.online.classic.guide import Guide
from multivalid.online.classic.hedge import CellWeights, GroupWeights
from multivalid.online.classic.play import Play
from multivalid.online.classic.reading import Alarm, alarm_of, bounds_of, notes_of, table_of
from multivalid.online.classic.setup import Setup
from multivalid.online.classic.transcript import Transcript
from multivalid.online.draws import Draws

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Bits = NDArray[np.bool_]


class ClassicEngine:
    """One of the earlier algorithms."""

    columns = 1

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.transcript = t = Transcript(len(setup.members.names), len(setup.grid))
        self.weights: Experts | GroupWeights | CellWeights
        if setup.algorithm == "B":
            self.weights = Experts(t, setup.facts.bound, setup.slack, setup.horizon, setup.delta)
        else:
            make = GroupWeights if setup.algorithm == "A" else CellWeights
            self.weights = make(t, setup.facts.bound, setup.rise, setup.horizon)
        self.rule = CrossingRule(setup.grid.points)
        self.guide = Guide(len(setup.members.names), setup.grid.lo, setup.grid.hi)
        self.late = 0

    # ---- a round ---------------------------------------------------------------------------------------------------------
    def check_label(self, y: float) -> float:
        """An outcome in the range."""
        return checks.label(y, self.setup.labels)

    def check_base(self, base: float | None) -> float | None:
        """A number, or none."""
        return checks.base(base)

    def check_labels(self, labels: Array) -> None:
        """The same for many."""
        lo, hi = self.setup.labels
        outside = np.flatnonzero((labels < lo) | (labels > hi))
        if outside.size:
            raise InputError(
                f"y must lie in labels=({lo:g}, {hi:g}): {outside.size} values do not, the first at row {outside[0]} "
                f"({labels[outside[0]]:g}); make the learner with a wider range."
            )

    def shown(self, y: float, draws: Draws) -> float:
        """The label, jittered where that was asked for."""
        return y + self.setup.jitter * draws.uniform() if self.setup.jitter else y

    def play(self, active: Index, base: float | None, draws: Draws) -> Play:
        """Draw a level."""
        guess = self.guide.guess(active) if base is None else base
        draw = draws.uniform()
        if self.setup.rule == "crossing" and not isinstance(self.weights, CellWeights):
            c, scale = self.weights.coefficients(active)
            low, high, share = self.rule.choose(c, guess, free=base is not None, log_scale=scale)
            level = low if draw < share else high
        else:
            values, caps = self.setup.cells
            mixture, _ = solve_game(self.weights.losses(active, values), caps)
            level = min(int(np.searchsorted(np.cumsum(mixture), draw, side="right")), len(self.setup.grid) - 1)
        return Play(active, level, guess if base is None else None, self.transcript.rounds, self.setup.grid.points.item(level))

    def plays(self, rows: list[Index], base: Array, draws: Draws) -> list[Play]:
        """One draw per row, all from the present state."""
        given = [None if math.isnan(b) else b for b in base.tolist()]
        return [self.play(active, b, draws) for active, b in zip(rows, given, strict=True)]

    def begin(self, play: Play) -> None:
        """Nothing to prepare."""

    def drop(self, play: Play) -> None:
        """Nothing to undo."""

    def settle(self, play: Play, y: float, weight: float) -> None:
        """The outcome of a play."""
        if weight == 0.0:  # as if the row were not there
            return
        active, level, guess, seen, point = play
        at = [point] if guess is None else [point, guess]
        value, *rest = self.setup.prop.identify(np.array(at), np.array([y] * len(at))).tolist()
        self.late = max(self.late, self.transcript.rounds - seen)
        n, r = self.transcript.add(active, level, value, weight)
        self.weights.update(active, level, value, weight, n, r)
        if rest:
            self.guide.learn(active, weight * rest[0] / self.setup.facts.bound)

    def replay(self, members: Bits, base: Array, labels: Array, weights: Array) -> Array | None:
        """Only row by row."""
        return None

    # ---- how it is going ---------------------------------------------------------------------------------------------------
    @property
    def rounds(self) -> int:
        """Outcomes learned."""
        return self.transcript.rounds

    @property
    def weight(self) -> float:
        """Σ of their weights."""
        return self.transcript.weight

    def squared(self) -> Array:
        """K₂ of each group."""
        return self.transcript.squared()

    def bounds(self) -> Array:
        """What is promised for K₂ of each group."""
        return bounds_of(self.weights, self.late, self.setup)

    @property
    def alarm(self) -> Alarm:
        """Evidence against the assumption on L."""
        return alarm_of(self.weights, self.late, self.setup)

    def table(self) -> dict[str, NDArray[Any]]:
        """One row per group."""
        return table_of(self.transcript, self.setup, self.bounds())

    def headline(self) -> str:
        """What is played, for the summary."""
        setup = self.setup
        return f"algorithm {setup.algorithm}: {self.rounds:,} rounds, {len(setup.members.names)} groups, {len(setup.grid)} levels"

    def notes(self) -> list[str]:
        """Whose the bound is, and the alarm."""
        return notes_of(self)

    # ---- keeping ------------------------------------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """What changes from round to round; only cells that were played are written."""
        t = self.transcript
        cells = np.flatnonzero(t.n.ravel())
        return {
            "rounds": t.rounds, "weight": t.weight, "rows": t.rows.tolist(), "cells": cells.tolist(), "n": t.n.ravel()[cells].tolist(),
            "r": t.r.ravel()[cells].tolist(), "weights": self.weights.state(), "late": self.late,
            "guide": [self.guide.shift.tolist(), self.guide.spent.tolist()],
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Put a fresh engine of the same settings into `state`."""
        t = self.transcript
        t.rounds, t.weight = int(state["rounds"]), float(state["weight"])
        t.rows[:] = state["rows"]
        cells = np.asarray(state["cells"], dtype=np.intp)
        t.n.ravel()[cells] = state["n"]
        t.r.ravel()[cells] = state["r"]
        if not (np.isfinite(t.n).all() and np.isfinite(t.r).all() and (t.n >= 0).all()):
            raise ValueError("cells must hold finite numbers")
        self.weights.restore(state["weights"])
        self.guide.shift[:], self.guide.spent[:] = state["guide"]
        self.late = int(state["late"])

    def reopen(self, plays: Iterable[Play]) -> None:
        """Nothing depends on what is open."""

    def play_to_json(self, play: Play) -> Any:
        """Plain data."""
        return play.to_json()

    def play_from_json(self, data: Any) -> Play:
        """The play that `play_to_json` described."""
        active, level, guess, seen = data
        points, level, who = self.setup.grid.points, int(level), np.asarray(active, dtype=np.int64)
        if not (0 <= level < points.size and who.size and who.min() >= 0 and who.max() < len(self.setup.members.names)):
            raise ValueError("a round names a group or level that does not exist")
        return Play(who, level, None if guess is None else float(guess), int(seen), points.item(level))
