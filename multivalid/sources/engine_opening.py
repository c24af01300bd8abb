"""Opening a lazy frame: columns are checked, groups fitted, labels held against the property; rows stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from multivalid.atoms.names import HELD, WEIGHT
from multivalid.atoms.summary import Look, renamed
from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.lazy import COUNT, Survey, fit_lazy
from multivalid.groups.remote import Frame, fetch, schema_of
from multivalid.sources.engine import EngineSource, Marked
from multivalid.sources.engine_clusters import with_cluster
from multivalid.sources.engine_labels import check_labels
from multivalid.sources.looked_up import Lines
from multivalid.sources.marks import where
from multivalid.sources.sets import Asked, tabulate_sets
from multivalid.sources.tally import to_tally

TOGETHER = 64  # combinations up to which one look gives totals and counts: many sums over many combinations cost more than two


def open_engine(
    y_true: Any,
    y_pred: Any,
    *,
    groups: Any,
    frame: Frame,
    sample_weight: Any,
    prop: Any = None,
    cluster: Any = None,
    holdout: Any = None,
) -> EngineSource:
    """Check the columns, fit the groups, and keep everything where it is.

    Where the columns that the groups use take few values together, one or two looks at the rows do it all: totals, also of the rows held
    out, and the combinations of values with how many rows have each, from which the groups are fitted in memory.
    """
    opened = renamed(with_cluster(frame, cluster), y_true, y_pred, sample_weight)
    held = [HELD] if isinstance(holdout, str) else []
    if held:
        opened = opened.with_columns(where(holdout, opened).alias(HELD))
    fitted = groups if isinstance(groups, FittedGroups) else None
    spec = groups if isinstance(groups, Groups) else None if fitted else Groups(groups)
    guesses, keys = to_tally(opened, spec)
    together = keys if keys and guesses.combinations(keys) <= TOGETHER else ()
    look = Look.at(opened, [*together, *held], plain=sample_weight is None)
    look.check(y_true, y_pred, sample_weight)
    if look.weightless:  # a row of weight 0 is not there
        opened = opened.filter(nw.col(WEIGHT) > 0)
        look = Look.at(opened, [*together, *held], plain=sample_weight is None)
    totals = look.totals()
    if prop is not None:
        check_labels(prop, opened, totals)
    if keys:
        guesses.tallied = look.counted(keys) if together else _tally(opened, keys)
    guesses = replace(guesses, rows=totals.rows, _known={})
    if fitted is None:
        assert spec is not None
        lines = (
            guesses.tallied.lazy() if guesses.tallied is not None else opened.with_columns(nw.lit(1, dtype=nw.Int64).alias(COUNT))
        )
        fitted = fit_lazy(spec, lines, totals.rows, lambda found: _survey(lines, found, guesses), tallied=bool(keys))
    else:
        fitted.expressions(schema_of(opened))  # refuses columns that are not there or of another type
    marked = Marked(holdout, look.totals(False), look.totals(True)) if held else None
    opened, looked_up = Lines.of(opened, fitted, guesses.tallied)
    return EngineSource(
        opened,
        fitted,
        totals,
        guesses=guesses,
        plain=sample_weight is None,
        cluster=cluster,
        marked=marked,
        lines=looked_up,
    )


def _tally(opened: Frame, keys: Sequence[str]) -> nw.DataFrame[Any]:
    """The combinations of keys, and how many rows have each."""
    lines = fetch(opened.select(*keys).group_by(list(keys)).agg(nw.len().alias(COUNT)))
    return lines.with_columns(nw.col(COUNT).cast(nw.Int64))


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
