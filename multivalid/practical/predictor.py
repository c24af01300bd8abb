"""The practical predictor: the start, then the rounds of shifts; or nothing at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from multivalid import json_checks as read
from multivalid.atoms.summary import PREDICTION
from multivalid.batch.predictor import grid_from_json
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups
from multivalid.groups.membership import Membership
from multivalid.groups.remote import Frame
from multivalid.practical.evaluate import Arrays, DenseMembers, Evaluator, Members, pieces
from multivalid.practical.link import SNAP, Link
from multivalid.practical.model import Model
from multivalid.practical.shifts import Shift, ShiftRound, flat
from multivalid.properties.base import Array


@dataclass(frozen=True)
class LinkPredictor:
    """link⁻¹(start(link(base), groups) + shifts); with no model the predictions pass through untouched.

    Attributes
    ----------
    grid : Grid
        The levels of the final prediction that the certificate conditions on.
    """

    grid: Grid
    link: Link
    model: Model | None = None
    rounds: list[ShiftRound] = field(default_factory=list)

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The levels, as every predictor has them."""
        return (self.grid,)

    @property
    def patches(self) -> list[Shift]:
        """The shifts after the start."""
        return flat(self.rounds)

    def predicted(self, by: Evaluator, prediction: Any, members: Members) -> Any:
        """Calibrated predictions of rows of any kind."""
        if self.model is None:
            return prediction
        base = by.keep("base", self.link.onto(by.ops, prediction))
        return self.link.back(by.ops, eta_of(by, self.model, self.rounds, base, members), SNAP)

    def predict(self, predictions: Array, membership: Membership) -> Array:
        """Calibrated predictions of rows in memory."""
        out = np.array(predictions)
        for rows in pieces(out.size) if self.model is not None else ():
            out[rows] = self.predicted(Arrays(), predictions[rows], DenseMembers(membership, rows.start, rows.stop))
        return out

    def on_frame(self, frame: Frame, groups: FittedGroups, output: str = PREDICTION) -> Frame:
        """The lazy frame with the new predictions as the column `output`."""
        from multivalid.practical.lazy import predicting_link  # it builds on this module

        return predicting_link(frame, groups, self, output)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": "link",
            "grid": self.grid.to_json(),
            "link": self.link.to_json(),
            "model": None if self.model is None else self.model.to_json(),
            "rounds": [made.to_json() for made in self.rounds],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], groups: int) -> LinkPredictor:
        """The predictor that `to_json` described."""
        read.record(data, "link predictor", ("kind", "grid", "link", "model", "rounds"))
        model = None if data["model"] is None else Model.from_json(data["model"], groups - 1)
        rounds = [ShiftRound.from_json(made, groups) for made in read.items(data["rounds"], "rounds")]
        return cls(grid_from_json(data["grid"]), Link.from_json(data["link"]), model, rounds)


def eta_of(by: Evaluator, model: Model, rounds: Sequence[ShiftRound], base: Any, members: Members) -> Any:
    """Predictions on the link scale: the start, then the rounds of shifts."""
    eta = by.keep("eta", model.start(by, base, members))
    for made in rounds:
        eta = by.keep("eta", made.shifted(by, eta, members))
    return eta
