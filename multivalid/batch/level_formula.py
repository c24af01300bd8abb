"""Patches as a formula of the level and the groups: for SQL, where a level is a column that a step rewrites; and for one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from multivalid.evaluators import Evaluator, Members

Move = tuple[int, int, int]  # group, level, new level


def moved(by: Evaluator, moves: Sequence[Move], level: Any, levels: int, members: Members) -> Any:
    """The level of every row after all moves, in order."""
    from multivalid.atoms.predict import stages  # engines need more of that module; a single row nothing

    for step in stages(moves):
        level = by.keep("level", _after(by, step, level, 0, levels, members))
    return level


def _after(by: Evaluator, step: dict[int, tuple[int, int]], level: Any, first: int, stop: int, members: Members) -> Any:
    """The level after one step, as a tree of comparisons over the levels first … stop − 1."""
    inside = [source for source in step if first <= source < stop]
    if not inside:
        return level
    if stop - first == 1:
        group, target = step[first]
        return by.ops.where(members.holds(group), target, level)
    middle = (first + stop) // 2
    low, high = (_after(by, step, level, *part, members) for part in ((first, middle), (middle, stop)))
    return by.ops.where(level < middle, low, high)


def moved_row(moves: Sequence[Move], level: int, groups: Sequence[int]) -> int:
    """The level of one row that is in these groups (and in 0, everyone)."""
    for group, source, target in moves:
        if level == source and (group == 0 or group in groups):
            level = target
    return level
