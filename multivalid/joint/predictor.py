"""A fitted map from two predictions and groups to two better predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from multivalid import json_checks as read
from multivalid.batch.level_formula import moved, moved_row
from multivalid.errors import ModelFileError
from multivalid.evaluators import Evaluator, Members, RowMembers
from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.joint.algorithm import JointPatch
from multivalid.joint.patches import replay_pairs
from multivalid.properties.base import Array


@dataclass(frozen=True)
class PairLevelPredictor:
    """Round both coordinates to their grids, then move cells: the predictor of Algorithm 3."""

    grids: tuple[Grid, Grid]
    patches: list[JointPatch]

    def predict(self, predictions: Array, membership: Membership) -> Array:
        width = len(self.grids[1])
        start = self.grids[0].round(predictions[:, 0]) * width + self.grids[1].round(predictions[:, 1])
        place = replay_pairs(self.patches, start, width, membership)
        return np.stack([self.grids[0].points[place // width], self.grids[1].points[place % width]], axis=1)

    def predicted(self, by: Evaluator, predictions: Sequence[Any], members: Members) -> list[Any]:
        columns = zip(predictions, self.grids, strict=True)
        first, second = (by.place(column, grid.boundaries.tolist()) for column, grid in columns)
        width = len(self.grids[1])
        place = moved(by, self._moves, by.keep("level", first * width + second), len(self.grids[0]) * width, members)
        values = [np.repeat(self.grids[0].points, width), np.tile(self.grids[1].points, len(self.grids[0]))]
        return [by.look_up(place, points.tolist()) for points in values]

    def predict_row(self, predictions: Sequence[float], members: RowMembers) -> list[float]:
        width = len(self.grids[1])
        first, second = (int(grid.round(value)) for grid, value in zip(self.grids, predictions, strict=True))
        place = divmod(moved_row(self._moves, first * width + second, members.numbers), width)
        return [float(grid.points[at]) for grid, at in zip(self.grids, place, strict=True)]

    @cached_property
    def _moves(self) -> list[tuple[int, int, int]]:
        """Patches as moves of places, first·width + second."""
        width = len(self.grids[1])
        ends = ((p.target * width + p.second if p.side == 0 else p.first * width + p.target) for p in self.patches)
        return [(p.group, p.first * width + p.second, end) for p, end in zip(self.patches, ends, strict=True)]

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "pair levels",
            "grids": [grid.to_json() for grid in self.grids],
            "patches": [list(patch) for patch in self.patches],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], groups: int) -> PairLevelPredictor:
        """The predictor that `to_json` described, every index checked."""
        read.record(data, "a pair predictor of levels", ("kind", "grids", "patches"))
        grids = grids_from_json(data["grids"])
        return cls(grids, [_patch(patch, groups, grids) for patch in read.items(data["patches"], "the patches")])


def grids_from_json(data: Any) -> tuple[Grid, Grid]:
    """Two grids from plain data."""
    first, second = read.items(data, "grids", 2)
    return Grid.from_json(first), Grid.from_json(second)


def _patch(patch: Any, groups: int, grids: tuple[Grid, Grid]) -> JointPatch:
    try:
        side = read.whole(read.items(patch, "a patch", 5)[0], "side", 1)
        most = (1, groups - 1, len(grids[0]) - 1, len(grids[1]) - 1, len(grids[side]) - 1)
        return JointPatch(*(read.whole(v, name, top) for v, name, top in zip(patch, JointPatch._fields, most, strict=True)))
    except ModelFileError as error:
        raise ModelFileError(f"a patch must be [side, group, level, level, level]: {error}") from None
