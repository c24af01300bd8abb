"""Predictions where the rows live: a new column of a lazy frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.join_keys import by_bits, by_columns
from multivalid.atoms.keys import look_up, place
from multivalid.atoms.names import PREDICTION
from multivalid.grid import Grid
from multivalid.groups.family import FittedGroups
from multivalid.groups.remote import Frame, draw, fetch, join, schema_of
from multivalid.properties.base import Array
from multivalid.properties.expressions import where
from multivalid.sources.guesses import PROBE, expected_distinct

# Groups (rows × groups, without everyone) and start levels → final predictions.
Moves = Callable[[NDArray[np.bool_], NDArray[np.intp]], Array]
MOST_PATTERNS = 1_000_000
_LEVEL, _FLAG, _VALUE = "__mv_level", "__mv_flag", "__mv_value"


def predicting_levels(
    frame: Frame, groups: FittedGroups, grid: Grid, patches: Sequence[tuple[int, int, int]], moves: Moves, output: str = PREDICTION
) -> Frame:
    """Final predictions by a join with the table (groups, level) → prediction, or patch by patch where that table is too large.

    The frame is looked at once, for the combinations of groups and level that occur in it; the prediction itself stays lazy.
    """
    for keys in filter(None, (by_columns(frame, groups, grid), by_bits(frame, groups, grid))):
        seen = _see(frame, keys.expressions)
        members = None if seen is None else keys.members(seen)
        if seen is None or members is None:
            continue
        table: dict[str, NDArray[Any]] = {name: np.asarray(seen[name].to_numpy()) for name in seen.columns}
        table[_VALUE] = moves(*members)
        columns = [name for name in frame.collect_schema().names() if name != output]
        joined = join(frame.with_columns(*keys.expressions), seen.columns, table)
        return joined.select(*columns, nw.col(_VALUE).alias(output))
    return _patch_by_patch(frame, groups, grid, patches, output)


def _see(frame: Frame, keys: Sequence[nw.Expr]) -> nw.DataFrame[Any] | None:
    """The combinations of keys that occur; None when they are too many for a table."""
    rows = int(fetch(frame.select(nw.len().alias("n")))["n"].item())
    if rows > MOST_PATTERNS:
        drawn = draw(frame.select(*keys), PROBE, rows)[0]
        often = np.asarray(drawn.group_by(drawn.columns).agg(nw.len().alias("__rows"))["__rows"].to_numpy())
        if expected_distinct(often, rows) > MOST_PATTERNS:
            return None
    seen = fetch(frame.select(*keys).unique().head(MOST_PATTERNS + 1))
    return seen if len(seen) <= MOST_PATTERNS else None


def _patch_by_patch(frame: Frame, groups: FittedGroups, grid: Grid, patches: Sequence[tuple[int, int, int]], output: str) -> Frame:
    """The level of every row as a column that patch after patch rewrites: any number of combinations, at a cost per patch."""
    columns = [name for name in frame.collect_schema().names() if name != output]
    flags = groups.expressions(schema_of(frame))
    used = sorted({group for group, _, _ in patches} - {0})
    staged = frame.with_columns(
        place(nw.col(PREDICTION), grid.boundaries).alias(_LEVEL), *(flags[g].alias(f"{_FLAG}{g}") for g in used)
    )
    for stage in stages(patches):
        staged = staged.with_columns(_move(stage, 0, len(grid)).alias(_LEVEL))
    return staged.select(*columns, look_up(nw.col(_LEVEL), grid.points.tolist()).alias(output))


def stages(patches: Sequence[tuple[int, int, int]]) -> list[dict[int, tuple[int, int]]]:
    """Patches in as few steps as their order allows: in a step each level is left at most once, and before others arrive in it.

    Examples
    --------
    >>> stages([(1, 0, 2), (2, 1, 0), (3, 2, 1)])
    [{0: (1, 2), 1: (2, 0)}, {2: (3, 1)}]
    """
    made: list[dict[int, tuple[int, int]]] = []
    reached: set[int] = set()
    for group, source, target in patches:
        if not made or source in made[-1] or source in reached:
            made.append({})
            reached = set()
        made[-1][source] = group, target
        reached.add(target)
    return made


def _move(stage: dict[int, tuple[int, int]], first: int, stop: int) -> nw.Expr:
    """The level after a step, as a tree of comparisons over the levels first … stop − 1."""
    level, inside = nw.col(_LEVEL), [source for source in stage if first <= source < stop]
    if not inside:
        return level
    if stop - first == 1:
        group, target = stage[first]
        goal = nw.lit(target, dtype=nw.Int64)
        return where(nw.col(f"{_FLAG}{group}"), goal, level) if group else goal
    middle = (first + stop) // 2
    return where(level < middle, _move(stage, first, middle), _move(stage, middle, stop))
