"""A fitted map from predictions and groups to better predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from multivalid import json_checks as read
from multivalid.batch.level_formula import moved, moved_row
from multivalid.batch.moves import Patch
from multivalid.errors import ModelFileError
from multivalid.evaluators import Evaluator, Members, RowMembers
from multivalid.grid import Array, Grid

if TYPE_CHECKING:  # what moves many rows is imported where it is used: a single row does without
    from multivalid.groups.family import FittedGroups
    from multivalid.groups.membership import Membership
    from multivalid.groups.remote import Frame

P_co = TypeVar("P_co", covariant=True)
Reader = Callable[[dict[str, Any], int], P_co]  # plain data and the number of groups → a predictor


class Predictor(Protocol):
    """What a calibration applies to new rows."""

    @property
    def grids(self) -> tuple[Grid, ...]:
        """The levels its guarantee conditions on, for each column of the predictions."""

    @property
    def patches(self) -> Sequence[tuple[Any, ...]]:
        """The ordered moves it is made of: `Patch`es of whole levels, or `Shift`s inside them."""

    def predict(self, predictions: Array, membership: Membership) -> Array:
        """New predictions for rows with these predictions and groups: one per row, or (rows, 2) for a pair."""

    def predicted(self, by: Evaluator, predictions: Sequence[Any], members: Members) -> list[Any]:
        """The same as a formula of the columns of the predictions, for rows of any kind."""

    def predict_row(self, predictions: Sequence[float], members: RowMembers) -> list[float]:
        """The same for a single row; what `predict` gives, to the last bit."""

    def to_json(self) -> dict[str, Any]:
        """Plain data for a saved model."""


@dataclass(frozen=True)
class LevelPredictor:
    """Round to the grid, then move whole levels of groups: the predictor of Algorithms 1 and 2."""

    grid: Grid
    patches: list[Patch]

    @property
    def grids(self) -> tuple[Grid, ...]:
        return (self.grid,)

    @property
    def rounding(self) -> Grid:
        """Its levels: predictions are rounded to them before anything else."""
        return self.grid

    def predict(self, predictions: Array, membership: Membership) -> Array:
        from multivalid.batch.patches import predict

        return predict(self.patches, predictions, self.grid, membership)

    def predicted(self, by: Evaluator, predictions: Sequence[Any], members: Members) -> list[Any]:
        level = by.keep("level", by.place(predictions[0], self.grid.boundaries.tolist()))
        return [by.look_up(moved(by, self.patches, level, len(self.grid), members), self.grid.points.tolist())]

    def predict_row(self, predictions: Sequence[float], members: RowMembers) -> list[float]:
        start = int(np.searchsorted(self.grid.boundaries, predictions[0], side="left"))
        return [float(self.grid.points[moved_row(self.patches, start, members.numbers)])]

    def on_frame(self, frame: Frame, groups: FittedGroups, output: str, lines: Any = None) -> Frame:
        """The lazy frame with the new predictions as the column `output`; it looks for combinations with levels itself."""
        from multivalid.atoms.predict import predicting_levels
        from multivalid.batch.patches import replay
        from multivalid.groups.membership import Membership

        def targets(dense: NDArray[np.bool_], level: NDArray[np.intp]) -> Array:
            return self.grid.points[replay(self.patches, level, len(self.grid), Membership.from_dense(dense))]

        return predicting_levels(frame, groups, self.grid, self.patches, targets, output)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "levels", "grid": self.grid.to_json(), "patches": [list(patch) for patch in self.patches]}

    @classmethod
    def from_json(cls, data: dict[str, Any], groups: int) -> LevelPredictor:
        """The predictor that `to_json` described, every index checked."""
        read.record(data, "predictor of levels", ("kind", "grid", "patches"))
        grid = Grid.from_json(data["grid"])
        return cls(grid, [_patch(patch, groups, len(grid)) for patch in read.items(data["patches"], "the patches")])


def _patch(patch: Any, groups: int, levels: int) -> Patch:
    try:
        group, source, target = read.items(patch, "a patch", 3)
        return Patch(read.whole(group, "group", groups - 1), *(read.whole(at, "level", levels - 1) for at in (source, target)))
    except ModelFileError as error:
        raise ModelFileError(f"a patch must be [group, level, level]: {error}") from None


def predictor_of(data: Any, groups: int, kinds: Mapping[str, Reader[P_co]]) -> P_co:
    """The predictor that a model file describes, by the reader of its kind."""
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str) or data["kind"] not in kinds:
        raise ModelFileError(f"predictor must be an object of kind {' or '.join(kinds)}.")
    return kinds[data["kind"]](data, groups)
