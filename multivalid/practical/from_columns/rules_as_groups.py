"""Rules as groups like any other, after those that were named."""

from __future__ import annotations

from collections.abc import Sequence

from multivalid.groups.blocks import Holds
from multivalid.groups.family import FittedGroups
from multivalid.groups.kept import Kept
from multivalid.groups.membership import Membership
from multivalid.groups.nodes import render
from multivalid.practical.columns import Columns, widen
from multivalid.practical.rules import Rule, masks_of
from multivalid.sources.memory import MemorySource as Rows


def add_as_groups(rows: Rows, rules: Sequence[Rule], columns: Columns) -> tuple[FittedGroups, Membership]:
    """Named groups, and rules as groups named by their conditions; `columns` has the codes of these rows."""
    names, kept, masks = list(rows.groups.names), list(rows.groups.kept), masks_of(rules, columns.codes)
    for rule in rules:
        condition = rule.condition(columns.bins)
        text = render(condition)
        names.append(text if text not in names else f"{text} (found)")
        kept.append(Kept(Holds(condition), (0,)))
    groups = FittedGroups(tuple(names), tuple(kept), rows.groups.arrays, rows.groups.notes, len(rules))
    return groups, widen(rows.membership, masks) if masks else rows.membership
