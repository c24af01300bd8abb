"""The stages worth considering, fitted on some rows: models of growing richness, and shifts of single cells after the last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from multivalid.evaluators import Arrays, DenseMembers, pieces
from multivalid.practical import newton, start
from multivalid.practical.data import LinkRows, Matching
from multivalid.practical.goal import LEVELS, Goal
from multivalid.practical.model import Model
from multivalid.practical.predictor import eta_of
from multivalid.practical.shift_round import ShiftRound
from multivalid.practical.shifts import shift_round
from multivalid.properties.base import Array

ORDER = ("group shifts", "bend", "twist", "products", "patches")
ROUNDS = 3


@dataclass(frozen=True)
class Candidate:
    """A stage fitted on part of the rows."""

    name: str
    model: Model
    ridge: float
    rounds: list[ShiftRound] = field(default_factory=list)

    @classmethod
    def untouched(cls, rows: LinkRows) -> Candidate:
        """The input as it is."""
        return cls("input", Model.new(rows.base, rows.membership.groups - 1), 1.0)

    def eta(self, rows: LinkRows) -> Array:
        """Its predictions on the link scale."""
        out = np.empty(len(rows))
        for part in pieces(len(rows)):
            members = DenseMembers(rows.membership, part.start, part.stop)
            out[part] = eta_of(Arrays(), self.model, self.rounds, rows.base[part], members)
        return out

    def on_more_rows(self, rows: LinkRows, loss: Matching, goal: Goal) -> Candidate:
        """The same stage on all rows, from where it stands."""
        model = newton.fit(self.model, rows, loss, self.ridge, warm=True, tuned=True).model
        shifts = _rounds(replace(self, model=model, rounds=[]).eta(rows), rows, loss, goal) if self.name == "patches" else []
        return replace(self, model=model, rounds=shifts)


def fit_candidates(
    rows: LinkRows, loss: Matching, goal: Goal, stages: Callable[[LinkRows, Matching], list[start.Stage]] = start.stages
) -> list[Candidate]:
    """All stages, each fitted on these rows, and shifts of cells after the last."""
    found = stages(rows, loss)
    last = found[-1].fitted
    out = [Candidate(stage.name, stage.fitted.model, stage.fitted.ridge) for stage in found]
    rounds = _rounds(last.eta, rows, loss, goal)
    return [*out, Candidate("patches", last.model, last.ridge, rounds)] if rounds else out


def group_shifts_by_level(rows: LinkRows, loss: Matching) -> list[start.Stage]:
    """The first stage alone, its curve free to turn at the edge of every level."""
    return start.group_shifts(rows, loss, knots=LEVELS - 1)


def up_to(name: str, candidates: list[Candidate]) -> Candidate:
    """The richest stage that goes no further than `name`."""
    limit = ORDER.index(name)
    return [c for c in candidates if ORDER.index(c.name) <= limit][-1]


def _rounds(eta: Array, rows: LinkRows, loss: Matching, goal: Goal) -> list[ShiftRound]:
    """Rounds of shifts until one makes none; each has levels of its own, with these edges on the link scale."""
    rounds: list[ShiftRound] = []
    left = goal.control.max_updates
    for _ in range(ROUNDS):
        if goal.grid is not None:
            edges = np.unique(loss.link.forward(goal.grid.boundaries))
        else:
            edges = np.unique(np.quantile(eta, np.arange(1, goal.levels) / goal.levels))
        made = shift_round(eta, rows, loss, edges, left)
        if not made.shifts:
            break
        rounds.append(made)
        eta = made.apply(eta, rows.membership)
        left = None if left is None else left - len(made.shifts)
    return rounds
