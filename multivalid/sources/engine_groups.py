"""Groups fitted on a lazy frame, or on the combinations of values that occur in it where these have been counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.lazy import COUNT, Survey, fit_lazy
from multivalid.groups.remote import Frame, fetch, schema_of
from multivalid.sources.guesses import Guesses
from multivalid.sources.sets import Asked, tabulate_sets


def fit_groups(spec: Groups, opened: Frame, rows: int, guesses: Guesses) -> FittedGroups:
    """Groups fitted on the combinations of values that were counted, else on the rows."""
    tallied = guesses.tallied
    lines = opened.with_columns(nw.lit(1, dtype=nw.Int64).alias(COUNT)) if tallied is None else tallied.lazy()
    return fit_lazy(spec, lines, rows, lambda found: _survey(lines, found, guesses), tallied=tallied is not None)


def _survey(lines: Frame, groups: FittedGroups, guesses: Any) -> Survey:
    """Sizes of the groups, and which of them hold the same rows: groups of equal size are compared line by line."""
    flags, number = groups.expressions(schema_of(lines)), nw.col(COUNT)
    asked = Asked(nw.lit(0, dtype=nw.Int64), 1, [number.cast(nw.Float64)])
    (counted,) = tabulate_sets(lines, groups, [asked], guesses.combinations, guesses.rows)
    sizes = counted[0, :, 0].astype(np.int64).tolist()
    block = np.repeat(np.arange(len(groups.kept) + 1), [1, *(len(one.codes) for one in groups.kept)])
    twins = list(range(len(sizes)))
    waiting = [[g for g, size in enumerate(sizes) if size == one] for one in dict.fromkeys(sizes) if one]
    while waiting := [alike for alike in waiting if len(alike) > 1]:
        # Groups of one block exclude each other, so those never are the same.
        pairs = [(alike[0], g) for alike in waiting for g in alike[1:] if block[g] != block[alike[0]]]
        # As large, so equal if none is missing.
        apart = _totals(lines, [(flags[a] & ~flags[b]).cast(nw.Int64) * number for a, b in pairs])
        same = {g: a for (a, g), count in zip(pairs, apart, strict=True) if count == 0}
        for g, a in same.items():
            twins[g] = a
        waiting = [[g for g in alike[1:] if g not in same] for alike in waiting]
        waiting = [alike for alike in waiting if len({int(block[g]) for g in alike}) > 1]
    return Survey(sizes, twins)


def _totals(frame: Frame, terms: Sequence[nw.Expr]) -> list[int]:
    if not terms:
        return []
    return [int(value) for value in fetch(frame.select(*(term.sum().alias(f"t{i}") for i, term in enumerate(terms)))).row(0)]
