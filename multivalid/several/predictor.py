"""The predictor of several columns: each is corrected by itself, or all together, between two applications of the constraint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from multivalid import json_checks as read
from multivalid.batch.predictor import LevelPredictor, Predictor, Reader, grid_from_json, predictor_of
from multivalid.errors import ModelFileError
from multivalid.evaluators import Evaluator, Members, OneRow, RowMembers, in_memory
from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.practical.predictor import LinkPredictor
from multivalid.properties.base import Array
from multivalid.properties.target import Target
from multivalid.several.shares import Shares

KINDS: dict[str, Reader[Predictor]] = {"link": LinkPredictor.from_json, "levels": LevelPredictor.from_json}


@dataclass(frozen=True)
class ColumnsPredictor:
    """constraint(parts(constraint(columns))): whatever the parts do, what comes out is sorted, or sums to one.

    Attributes
    ----------
    target : Target
        Whose constraint it is.
    grids : tuple of Grid
        The levels of each column of the final predictions, which the certificate conditions on.
    parts : list
        One predictor of a single column for each column; none where all are corrected together, or none is.
    together : Shares or None
        What corrects all columns at once; dividing by the sum makes it a softmax.
    """

    target: Target
    grids: tuple[Grid, ...]
    parts: Sequence[Predictor]
    together: Shares | None = None

    @property
    def patches(self) -> list[tuple[int, Any]]:
        """The moves of all columns, each with its column."""
        return [(k, move) for k, part in enumerate(self.parts) for move in part.patches]

    def predicted(self, by: Evaluator, predictions: Sequence[Any], members: Members) -> list[Any]:
        """Calibrated predictions of all columns, for rows of any kind."""
        given = self._restored(by, "given", predictions)
        if self.together is not None:
            made = [by.keep(f"column{k}", share) for k, share in enumerate(self.together.shares(by, given, members))]
        elif self.parts:
            made = [
                by.keep(f"column{k}", part.predicted(by, [value], members)[0])
                for k, (part, value) in enumerate(zip(self.parts, given, strict=True))
            ]
        else:
            made = given
        return self._restored(by, "final", made)

    def predict_row(self, predictions: Sequence[float], members: RowMembers) -> list[float]:
        """Calibrated predictions of all columns of a single row."""
        return self.predicted(OneRow(), predictions, members)

    def predict(self, predictions: Array, membership: Membership) -> Array:
        """Calibrated predictions of all columns, for rows in memory."""
        return in_memory(self.predicted, predictions, membership)

    def _restored(self, by: Evaluator, name: str, columns: Sequence[Any]) -> list[Any]:
        return self.target.constrained(by.ops, columns, lambda place, value: by.keep(f"{name}{place}", value))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": "columns",
            "grids": [grid.to_json() for grid in self.grids],
            "parts": [part.to_json() for part in self.parts],
            **({} if self.together is None else {"together": self.together.to_json()}),
        }

    @classmethod
    def from_json(cls, data: Any, groups: int, target: Target) -> ColumnsPredictor:
        """The predictor that `to_json` described, every part checked."""
        width = len(target.coordinates)
        fields = ("kind", "grids", "parts", *(("together",) if "together" in data else ()))
        found = read.record(data, "a predictor of several columns", fields)
        grids = tuple(grid_from_json(grid) for grid in read.items(found["grids"], "grids", width))
        parts = [predictor_of(part, groups, KINDS) for part in read.items(found["parts"], "parts")]
        if parts and ("together" in found or len(parts) != width):
            raise ModelFileError(
                f"parts must be {width}, one for each column, or none where all are corrected together or none is."
            )
        together = Shares.from_json(found["together"], width, groups - 1) if "together" in found else None
        return cls(target, grids, parts, together)
