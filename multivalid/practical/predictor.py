"""The practical predictor: a start and rounds of shifts, what found trees add, both once more after them; or nothing at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from multivalid import json_checks as read
from multivalid.errors import InputError, ModelFileError
from multivalid.evaluators import Arrays, DenseMembers, Evaluator, Members, OneRow, RowMembers, pieces
from multivalid.grid import Array, Grid
from multivalid.practical.link import SNAP, Link
from multivalid.practical.model import Model
from multivalid.practical.shift_round import Shift, ShiftRound

if TYPE_CHECKING:
    from multivalid.groups.family import FittedGroups
    from multivalid.groups.membership import Membership
    from multivalid.groups.remote import Frame
    from multivalid.practical.forest import Forest

TOGETHER = 20  # trees per step of an engine's plan: longer expressions take longer to plan than to run


@dataclass(frozen=True)
class Ending:
    """A second start, from what the first one and the found trees have made of the base, and rounds of shifts after it."""

    model: Model
    rounds: list[ShiftRound]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"model": self.model.to_json(), "rounds": [made.to_json() for made in self.rounds]}

    @classmethod
    def from_json(cls, data: Any, groups: int) -> Ending:
        """The ending that `to_json` described, every part checked."""
        read.record(data, "what comes last", ("model", "rounds"))
        return cls(Model.from_json(data["model"], groups - 1), _rounds(data["rounds"], groups))


@dataclass(frozen=True)
class LinkPredictor:
    """link⁻¹(start(link(base), groups) + shifts); with no model the predictions pass through untouched.

    Attributes
    ----------
    grid : Grid
        The levels of the final prediction that the certificate conditions on.
    last : Ending, optional
        What comes after the found trees.
    """

    grid: Grid
    link: Link
    model: Model | None = None
    rounds: list[ShiftRound] = field(default_factory=list)
    forest: Forest | None = None
    last: Ending | None = None

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The levels, as every predictor has them."""
        return (self.grid,)

    @property
    def rounding(self) -> None:
        """None: it looks at the predictions as they are."""
        return

    @property
    def patches(self) -> list[Shift]:
        """The shifts of cells, in order."""
        rounds = self.rounds if self.last is None else [*self.rounds, *self.last.rounds]
        return [Shift(number, *shift) for number, made in enumerate(rounds) for shift in made.shifts]

    def predicted(self, by: Evaluator, predictions: Sequence[Any], members: Members) -> list[Any]:
        """Calibrated predictions of rows of any kind, one column of them."""
        found = None
        if self.forest is not None:
            answers = members.answers(self.forest.conditions)
            found = by.ops.filled(0.0, predictions[0])
            for k in range(len(self.forest.trees)):
                found = found + self.forest.summed(by.ops, k, answers)
                found = by.keep("found", found) if k % TOGETHER == TOGETHER - 1 else found
            found = by.keep("found", found)
        return [self.calibrate(by, predictions[0], members, found)]

    def predict_row(self, predictions: Sequence[float], members: RowMembers) -> list[float]:
        """The calibrated prediction of a single row."""
        found = None if self.forest is None else self.forest.of_row(members.row, predictions[0])
        return [self.calibrate(OneRow(), predictions[0], members, found)]

    def calibrate(self, by: Evaluator, prediction: Any, members: Members, found: Any = None) -> Any:
        """The formula; `found` is what the trees add. What a pair uses it for need not be a prediction."""
        if self.model is None:
            return prediction
        if self.forest is not None and found is None:
            raise InputError(
                f"this model holds {len(self.forest.trees)} trees found in columns, which predict on frames (in memory, polars, DuckDB, "
                f"Spark) only; pass data=, or fit with readable=True for a model of rules alone."
            )
        base = self.link.onto(by, prediction)
        return self.link.back(by.ops, eta_of(by, self.model, self.rounds, base, members, found, self.last), SNAP)

    def start(self, by: Evaluator, prediction: Any, members: Members) -> Any:
        """What the model makes of a prediction, on the link scale, before anything is added to it."""
        base = self.link.onto(by, prediction)
        return base if self.model is None else self.model.start(by, base, members)

    def end(self, by: Evaluator, eta: Any) -> Any:
        """The prediction that is handed out, from the link scale."""
        return self.link.back(by.ops, eta, SNAP)

    def tree_sums(self, data: Any, predictions: Array) -> Array | None:
        """What the trees add to each row of a frame in memory; None where there are no trees."""
        return None if self.forest is None else self.forest.sums(self.forest.codes(data, predictions))

    def predict(self, predictions: Array, membership: Membership, found: Array | None = None) -> Array:
        """Calibrated predictions of rows in memory; `found` is what the method of that name says of them."""
        out = np.array(predictions)
        for rows in pieces(out.size) if self.model is not None else ():
            trees = None if found is None else found[rows]
            out[rows] = self.calibrate(Arrays(), predictions[rows], DenseMembers(membership, rows.start, rows.stop), trees)
        return out

    def on_frame(self, frame: Frame, groups: FittedGroups, output: str, lines: Any = None) -> Frame:
        """The lazy frame with the new predictions as the column `output`."""
        from multivalid.practical.engine import predicting_link  # it builds on this module

        return predicting_link(frame, groups, self, output, lines)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": "link",
            "grid": self.grid.to_json(),
            "link": self.link.to_json(),
            "model": None if self.model is None else self.model.to_json(),
            "rounds": [made.to_json() for made in self.rounds],
            **({} if self.forest is None else {"forest": self.forest.to_json()}),
            **({} if self.last is None else {"last": self.last.to_json()}),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], groups: int) -> LinkPredictor:
        """The predictor that `to_json` described."""
        fields = ("kind", "grid", "link", "model", "rounds", *(name for name in ("forest", "last") if name in data))
        read.record(data, "link predictor", fields)
        model = None if data["model"] is None else Model.from_json(data["model"], groups - 1)
        last = None if "last" not in data else Ending.from_json(data["last"], groups)
        rounds = _rounds(data["rounds"], groups)
        forest = None if "forest" not in data else _forest(data["forest"])
        if model is None and not (forest is None and last is None):
            raise ModelFileError("trees and what comes last need a model to stand on.")
        return cls(Grid.from_json(data["grid"]), Link.from_json(data["link"]), model, rounds, forest, last)


def _rounds(data: Any, groups: int) -> list[ShiftRound]:
    return [ShiftRound.from_json(made, groups) for made in read.items(data, "rounds")]


def _forest(data: Any) -> Forest:
    from multivalid.practical.forest import Forest  # few models have trees

    return Forest.from_json(data)


def eta_of(
    by: Evaluator,
    model: Model,
    rounds: Sequence[ShiftRound],
    base: Any,
    members: Members,
    found: Any = None,
    last: Ending | None = None,
) -> Any:
    """Predictions on the link scale, in the order in which they were fitted: start, rounds of shifts, found trees, and what comes last."""
    eta = by.keep("eta", model.start(by, base, members))
    for made in rounds:
        eta = by.keep("eta", made.shifted(by, eta, members))
    if found is not None:
        eta = by.keep("eta", eta + found)
    return eta if last is None else eta_of(by, last.model, last.rounds, eta, members)
