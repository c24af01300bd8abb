"""A fitted map from predictions and groups to better predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from multivalid.batch.algorithm import Patch
from multivalid.batch.patches import predict
from multivalid.errors import InputError, ModelFileError
from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.properties.base import Array
from multivalid.storage import is_number


class Predictor(Protocol):
    """What a calibration applies to new rows."""

    @property
    def grid(self) -> Grid:
        """The levels its guarantee conditions on."""

    @property
    def patches(self) -> Sequence[tuple[Any, ...]]:
        """The ordered moves it is made of: `Patch`es of whole levels, or `Shift`s inside them."""

    def predict(self, predictions: Array, membership: Membership) -> Array:
        """New predictions for rows with these predictions and groups."""

    def to_json(self) -> dict[str, Any]:
        """Plain data for a saved model."""


@dataclass(frozen=True)
class LevelPredictor:
    """Round to the grid, then move whole levels of groups: the predictor of Algorithms 1 and 2."""

    grid: Grid
    patches: list[Patch]

    def predict(self, predictions: Array, membership: Membership) -> Array:
        return predict(self.patches, predictions, self.grid, membership)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "levels", "grid": self.grid.to_json(), "patches": [list(patch) for patch in self.patches]}

    @classmethod
    def from_json(cls, data: dict[str, Any], groups: int) -> LevelPredictor:
        """The predictor that `to_json` described, every index checked."""
        grid = grid_from_json(data.get("grid"))
        patches = data.get("patches")
        if not isinstance(patches, list) or set(data) != {"kind", "grid", "patches"}:
            raise ModelFileError("a predictor of levels must have a grid and a list of patches, and nothing else.")
        return cls(grid, [_patch(patch, groups, len(grid)) for patch in patches])


def grid_from_json(data: Any) -> Grid:
    """A grid from plain data, or the library's error."""
    numbers = isinstance(data, dict) and set(data) == {"points", "lo", "hi"} and isinstance(data["points"], list)
    if not numbers or not all(is_number(v) for v in (*data["points"], data["lo"], data["hi"])):
        raise ModelFileError("grid must have points (a list of numbers), lo and hi.")
    try:
        grid = Grid.from_json(data)
    except InputError as error:
        raise ModelFileError(f"grid: {error}") from None
    if grid.points.tolist() != data["points"]:
        raise ModelFileError("grid points must increase.")
    return grid


def _patch(patch: Any, groups: int, levels: int) -> Patch:
    whole = isinstance(patch, list) and len(patch) == 3 and all(isinstance(v, int) and not isinstance(v, bool) for v in patch)
    if not whole or not (0 <= patch[0] < groups and 0 <= patch[1] < levels and 0 <= patch[2] < levels):
        raise ModelFileError(
            f"a patch must be [group, level, level] with group below {groups} and levels below {levels}, got {str(patch)[:80]}."
        )
    return Patch(*patch)
