"""The practical predictor: the start, then the rounds of shifts; or nothing at all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from multivalid.batch.predictor import grid_from_json
from multivalid.errors import ModelFileError
from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.practical.link import Link
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
    def patches(self) -> list[Shift]:
        """The shifts after the start."""
        return flat(self.rounds)

    def predict(self, predictions: Array, membership: Membership) -> Array:
        """Calibrated predictions."""
        if self.model is None:
            return np.array(predictions)
        eta = self.model.predict(self.link.forward(predictions), membership)
        for made in self.rounds:
            eta = made.apply(eta, membership)
        return self.link.final(eta)

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
        if set(data) != {"kind", "grid", "link", "model", "rounds"} or not isinstance(data["rounds"], list):
            raise ModelFileError("a link predictor must have grid, link, model and rounds.")
        model = None if data["model"] is None else Model.from_json(data["model"], groups - 1)
        rounds = [ShiftRound.from_json(made, groups) for made in data["rounds"]]
        return cls(grid_from_json(data["grid"]), Link.from_json(data["link"]), model, rounds)
