"""Groups that nobody named for several columns: rules that rows held out confirm for any column become groups of all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.practical.columns import Columns
from multivalid.practical.from_columns.choice import find_rules
from multivalid.practical.from_columns.rules_as_groups import add_as_groups
from multivalid.practical.rules import Rule
from multivalid.properties.target import Target
from multivalid.several.goal import Goal
from multivalid.sources.memory import MemorySource as Rows


def with_found_rules(
    rows: Rows, target: Target, goal: Goal, columns: Columns, fitting: NDArray[np.intp], blocks: NDArray[Any] | None
) -> tuple[Rows, str]:
    """All rows with the rules as further groups, and what to say; rules are searched on the rows of `fitting` only."""
    part = rows.take(fitting)
    part = replace(part, predictions=target.mend(part.predictions))
    inside = replace(columns, codes=np.ascontiguousarray(columns.codes[fitting]))
    rules: dict[Rule, None] = {}
    lines = []
    for k, coordinate in enumerate(target.coordinates):
        found, line = find_rules(
            part.column(k), coordinate.predicted, goal.practical(k), inside,
            blocks=None if blocks is None else blocks[fitting], random_state=goal.seed,
        )  # fmt: skip
        rules |= dict.fromkeys(found)
        lines.append(f"{target.keys[k]}: {line}")
    groups, membership = add_as_groups(rows, list(rules), columns)
    return replace(rows, groups=groups, membership=membership), "\n".join(lines)
