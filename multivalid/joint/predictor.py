"""A fitted map from two predictions and groups to two better predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from multivalid import json_checks as read
from multivalid.batch.predictor import grid_from_json
from multivalid.errors import ModelFileError
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
    return grid_from_json(first), grid_from_json(second)


def _patch(patch: Any, groups: int, grids: tuple[Grid, Grid]) -> JointPatch:
    try:
        side = read.whole(read.items(patch, "a patch", 5)[0], "side", 1)
        most = (1, groups - 1, len(grids[0]) - 1, len(grids[1]) - 1, len(grids[side]) - 1)
        return JointPatch(*(read.whole(v, name, top) for v, name, top in zip(patch, JointPatch._fields, most, strict=True)))
    except ModelFileError as error:
        raise ModelFileError(f"a patch must be [side, group, level, level, level]: {error}") from None
