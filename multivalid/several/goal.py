"""What the user fixed for several columns: one value of each option for all, or one each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from multivalid.batch.control import Control
from multivalid.errors import InputError
from multivalid.grid import Grid
from multivalid.levels import given_grids
from multivalid.practical.goal import Goal as ColumnGoal
from multivalid.properties.target import Target


@dataclass(frozen=True)
class Goal:
    """What the user fixed; grid, m, alpha and lipschitz have one value per column."""

    mode: str
    grids: Sequence[Grid | None]
    m: Sequence[Any]
    alpha: Sequence[Any]
    lipschitz: Sequence[Any]
    control: Control
    seed: int
    interrupted: bool = False  # Ctrl-C came before the fit began

    @classmethod
    def of(cls, target: Target, mode: str, grid: Any, m: Any, alpha: Any, lipschitz: Any, control: Control, seed: int) -> Goal:
        """Every option for every column: one value for all, or one each."""
        width = len(target.coordinates)
        grids = [None] * width if grid is None else given_grids(grid, width)
        count, error, steep = (each(value, width, name) for value, name in ((m, "m"), (alpha, "alpha"), (lipschitz, "lipschitz")))
        return cls(mode, grids, count, error, steep, control, seed)

    def practical(self, k: int) -> ColumnGoal:
        """What is asked of one column; an interruption ends the fit of all."""
        return ColumnGoal(self.m[k], self.grids[k], self.alpha[k], replace(self.control, keep_interrupted=False))


def each(value: Any, width: int, name: str) -> list[Any]:
    """One value per column.

    Examples
    --------
    >>> each(20, 3, "m"), each([5, 10], 2, "m")
    ([20, 20, 20], [5, 10])
    """
    if not isinstance(value, (list, tuple)):
        return [value] * width
    if len(value) != width:
        raise InputError(f"{name} must be one value, or {width} of them, one per column, got {value!r}.")
    return list(value)
