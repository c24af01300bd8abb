"""What a user fixes of the practical fit of a pair."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from multivalid import validate
from multivalid.batch.control import UNLIMITED, Control
from multivalid.grid import Grid, checked_grid
from multivalid.joint.plan import OR_TWO, two
from multivalid.practical.goal import Goal

LEVELS = 5  # of either coordinate: cells are (group, level⁰, level¹), so their number grows with the square


@dataclass(frozen=True)
class PairGoal:
    """What the user fixed."""

    levels: tuple[int, int]
    grids: tuple[Grid | None, Grid | None]
    alpha: tuple[float | None, float | None]
    control: Control

    @classmethod
    def of(cls, m: Any, grid: Any, alpha: Any, control: Control = UNLIMITED) -> PairGoal:
        """Checked; each argument is one value for both coordinates or two."""
        counts = [LEVELS if c is None else validate.count(c, "m") for c in two(m, "m")]
        wanted = [None if a is None else validate.positive(a, "alpha") for a in two(alpha, "alpha")]
        grids = two(grid, "grid")
        for given in grids:
            if given is not None:
                checked_grid(given, OR_TWO)
        return cls((counts[0], counts[1]), grids, (wanted[0], wanted[1]), control)

    def stage(self) -> Goal:
        """The goal of one coordinate's own fit; an interruption ends the fit of the pair, not of a stage.

        Once the first coordinate has moved, the second as it came is no safe choice: a stage is held to its t alone, and the joint
        score of the whole decides whether anything is done.
        """
        return Goal(control=replace(self.control, keep_interrupted=False), needed_rows=0.0)
