"""Opening a lazy frame: columns are checked, groups fitted, labels held against the property; rows stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from multivalid.atoms.summary import LABEL, checked
from multivalid.errors import InputError
from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.lazy import Survey, fit_lazy
from multivalid.groups.remote import Frame, fetch, schema_of
from multivalid.properties import Property
from multivalid.properties.ops import expressions
from multivalid.sources.engine import EngineSource
from multivalid.sources.engine_clusters import with_cluster
from multivalid.sources.guesses import Guesses
from multivalid.sources.sets import tabulate_sets
from multivalid.sources.totals import Totals


def open_engine(
    y_true: Any,
    y_pred: Any,
    *,
    groups: Any,
    frame: Frame,
    sample_weight: Any,
    prop: Property | None = None,
    cluster: Any = None,
) -> EngineSource:
    """Check the columns, fit the groups, and keep everything where it is."""
    opened, totals = checked(with_cluster(frame, cluster), y_true, y_pred, sample_weight)
    clustered = cluster is not None
    if prop is not None:
        check_labels(prop, opened, totals)
    guesses = Guesses(opened, totals.rows)
    if isinstance(groups, FittedGroups):
        groups.expressions(schema_of(opened))  # refuses columns that are not there or of another type
        return EngineSource(opened, groups, totals, guesses=guesses, clustered=clustered)
    spec = groups if isinstance(groups, Groups) else Groups(groups)
    fitted, patterns = fit_lazy(spec, opened, totals.rows, lambda candidates: _survey(opened, candidates, guesses))
    return EngineSource(opened, fitted, totals, patterns, guesses=guesses, clustered=clustered)


def _survey(frame: Frame, groups: FittedGroups, guesses: Guesses) -> Survey:
    """Sizes of the groups, and which of them hold the same rows: groups of equal size are compared row by row, by the engine."""
    flags = groups.expressions(schema_of(frame))
    one = [nw.lit(1.0, dtype=nw.Float64)]
    counted = tabulate_sets(frame, groups, nw.lit(0, dtype=nw.Int64), 1, one, guesses.combinations)
    sizes = counted[0, :, 0].astype(np.int64).tolist()
    block = np.repeat(np.arange(len(groups.kept) + 1), [1, *(len(one.codes) for one in groups.kept)])
    twins = list(range(len(sizes)))
    waiting = [[g for g, size in enumerate(sizes) if size == one] for one in dict.fromkeys(sizes) if one]
    while waiting := [alike for alike in waiting if len(alike) > 1]:
        # Groups of one block exclude each other, so those never are the same.
        pairs = [(alike[0], g) for alike in waiting for g in alike[1:] if block[g] != block[alike[0]]]
        # As large, so equal if none is missing.
        apart = _totals(frame, [(flags[a] & ~flags[b]).cast(nw.Int64) for a, b in pairs])
        same = {g: a for (a, g), count in zip(pairs, apart, strict=True) if count == 0}
        for g, a in same.items():
            twins[g] = a
        waiting = [[g for g in alike[1:] if g not in same] for alike in waiting]
        waiting = [alike for alike in waiting if len({int(block[g]) for g in alike}) > 1]
    return Survey(sizes, twins, None)


def _totals(frame: Frame, terms: Sequence[nw.Expr]) -> list[int]:
    if not terms:
        return []
    return [int(value) for value in fetch(frame.select(*(term.sum().alias(f"t{i}") for i, term in enumerate(terms)))).row(0)]


def check_labels(prop: Property, frame: Frame, totals: Totals) -> None:
    """Refuse properties that the engine cannot add up, and labels outside the property's domain."""
    prop.check_engine()
    domain = prop.label_domain
    if totals.least < domain.lo or totals.most > domain.hi:
        raise InputError(
            f"y_true must lie in [{domain.lo:g}, {domain.hi:g}] for {prop!r}, but it goes from {totals.least:g} to "
            f"{totals.most:g}; rescale the labels or choose another property."
        )
    denominator = prop.must_be_positive(expressions(), nw.col(LABEL))
    if denominator is not None:
        smallest = fetch(frame.select(denominator.min().alias("least")))["least"].item()
        if smallest <= 0:
            raise InputError(f"y_true must keep the denominator of {prop!r} positive, but it goes down to {smallest:g}.")
