"""Rules that rows held out confirm, and rules as groups like any other, after those that were named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from multivalid.groups.blocks import Holds
from multivalid.groups.family import FittedGroups
from multivalid.groups.kept import Kept
from multivalid.groups.membership import Membership
from multivalid.groups.nodes import render
from multivalid.practical.columns import Columns, widen
from multivalid.practical.found_problem import Problem
from multivalid.practical.found_ways import Ways
from multivalid.practical.goal import Goal
from multivalid.practical.rules import Rule, masks_of
from multivalid.properties.base import Property
from multivalid.sources.memory import MemorySource as Rows


def find_rules(
    rows: Rows, prop: Property, goal: Goal, columns: Columns, *, blocks: NDArray[Any] | None = None, random_state: int = 0
) -> tuple[list[Rule], str]:
    """The rules alone that rows held out confirm for one column of predictions, and what to say of them."""
    problem = Problem.of(rows, prop, goal, replace(columns, readable=True), blocks)
    return Ways(problem, blocks, random_state).choose_rules()


def with_found(rows: Rows, rules: Sequence[Rule], columns: Columns) -> tuple[FittedGroups, Membership]:
    """Named groups, and rules as groups named by their conditions; `columns` has the codes of these rows."""
    names, kept, masks = list(rows.groups.names), list(rows.groups.kept), masks_of(rules, columns.codes)
    for rule in rules:
        condition = rule.condition(columns.bins)
        text = render(condition)
        names.append(text if text not in names else f"{text} (found)")
        kept.append(Kept(Holds(condition), (0,)))
    groups = FittedGroups(tuple(names), tuple(kept), rows.groups.arrays, rows.groups.notes, len(rules))
    return groups, widen(rows.membership, masks) if masks else rows.membership
