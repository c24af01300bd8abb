"""A fitted map from two predictions and groups to two better predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from multivalid.batch.predictor import grid_from_json
from multivalid.errors import ModelFileError
from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.joint.algorithm import JointPatch
from multivalid.joint.patches import replay_pairs
from multivalid.properties.base import Array


class PairPredictor(Protocol):
    """What a calibration of a pair applies to new rows."""

    @property
    def grids(self) -> tuple[Grid, Grid]:
        """The levels of both coordinates that the guarantee conditions on."""

    @property
    def patches(self) -> Sequence[tuple[Any, ...]]:
        """The ordered moves it is made of."""

    def predict(self, predictions: Array, membership: Membership) -> Array:
        """New predictions, shape (rows, 2)."""

    def to_json(self) -> dict[str, Any]:
        """Plain data for a saved model."""


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
        if set(data) != {"kind", "grids", "patches"} or not isinstance(data["patches"], list):
            raise ModelFileError("a pair predictor must have grids and a list of patches.")
        grids = grids_from_json(data["grids"])
        return cls(grids, [_patch(patch, groups, grids) for patch in data["patches"]])


def grids_from_json(data: Any) -> tuple[Grid, Grid]:
    """Two grids from plain data."""
    if not isinstance(data, list) or len(data) != 2:
        raise ModelFileError("grids must be a list of two grids.")
    return grid_from_json(data[0]), grid_from_json(data[1])


def _patch(patch: Any, groups: int, grids: tuple[Grid, Grid]) -> JointPatch:
    whole = isinstance(patch, list) and len(patch) == 5 and all(isinstance(v, int) and not isinstance(v, bool) for v in patch)
    if whole and patch[0] in (0, 1):
        limits = (2, groups, len(grids[0]), len(grids[1]), len(grids[patch[0]]))
        if all(0 <= v < limit for v, limit in zip(patch, limits, strict=True)):
            return JointPatch(*patch)
    raise ModelFileError(
        f"a patch must be [side, group, level, level, level] with group below {groups} and levels of the grids, got {str(patch)[:80]}."
    )
