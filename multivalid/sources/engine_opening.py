"""Opening a lazy frame: columns are checked, groups fitted, labels held against the property; rows stay where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from multivalid.atoms.summary import LABEL, checked
from multivalid.errors import InputError
from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.lazy import Survey, fit_lazy
from multivalid.groups.membership import Membership, distinct, unpack
from multivalid.groups.remote import Frame, draw, fetch
from multivalid.properties import Property
from multivalid.properties.ops import expressions
from multivalid.sources.bundling import PROBE, Crowded, expected_distinct
from multivalid.sources.engine import EngineSource
from multivalid.sources.totals import Totals


def open_engine(
    y_true: Any,
    y_pred: Any,
    *,
    groups: Any,
    frame: Frame,
    sample_weight: Any,
    prop: Property | None = None,
    weightless: bool = False,
) -> EngineSource:
    """Check the columns, fit the groups, and keep everything where it is."""
    opened, totals = checked(frame, y_true, y_pred, sample_weight, weightless=weightless)
    if prop is not None:
        check_labels(prop, opened, totals)
    if isinstance(groups, FittedGroups):
        return _surveyed(opened, groups, totals)
    spec = groups if isinstance(groups, Groups) else Groups(groups)
    fitted, patterns = fit_lazy(spec, opened, totals.rows, lambda candidates: _survey(_surveyed(opened, candidates, totals)))
    return replace(_surveyed(opened, fitted, totals), patterns=patterns)


def _surveyed(frame: Frame, groups: FittedGroups, totals: Totals) -> EngineSource:
    """With a guess of how many combinations there are of the values of the groups' columns, and of the groups."""
    if not groups.columns:
        return EngineSource(frame, groups, totals, 1, 1, 1)
    groups.expressions(frame.collect_schema())  # refuses columns that are not there or of another type
    drawn, _ = draw(frame.select(list(groups.columns)), PROBE, totals.rows)
    found = drawn.group_by(drawn.columns).agg(nw.len().alias("__rows"))
    often = np.asarray(found["__rows"].to_numpy(), dtype=np.int64)
    members = Membership.from_masks(groups.masks(found.to_native(), n_rows=len(found)), len(found))
    shown = np.bincount(members.patterns().code, weights=often).astype(np.int64)
    guesses = expected_distinct(often, totals.rows), expected_distinct(shown, totals.rows)
    return EngineSource(frame, groups, totals, None, *guesses)


def _survey(rows: EngineSource) -> Survey:
    """Sizes of the groups, which of them hold the same rows, and how many combinations of them there are, if they can be counted."""
    try:
        found = rows.grouped([], [nw.lit(1.0, dtype=nw.Float64)])
    except Crowded:
        return _by_counting(rows)
    code, bits = distinct(found.bits)
    often = np.bincount(code, weights=found.sums[:, 0]).astype(np.int64)
    member = unpack(bits, len(rows.groups)) > 0
    first: dict[bytes, int] = {}
    twins = [first.setdefault(member[:, g].tobytes(), g) for g in range(len(rows.groups))]
    return Survey((often @ member).tolist(), twins, often.size)


def _by_counting(rows: EngineSource) -> Survey:
    """The same without the combinations: groups of equal size are compared row by row, by the engine."""
    flags = rows.groups.expressions(rows.frame.collect_schema())
    sizes = _totals(rows.frame, [flag.cast(nw.Int64) for flag in flags[1:]])
    sizes = [len(rows), *sizes]
    twins = list(range(len(sizes)))
    waiting = [[g for g, size in enumerate(sizes) if size == one] for one in dict.fromkeys(sizes) if one]
    while waiting := [alike for alike in waiting if len(alike) > 1]:
        pairs = [(alike[0], g) for alike in waiting for g in alike[1:]]
        apart = _totals(
            rows.frame, [(flags[a] & ~flags[b]).cast(nw.Int64) for a, b in pairs]
        )  # as large, so equal if none is missing
        same = {g: a for (a, g), count in zip(pairs, apart, strict=True) if count == 0}
        for g, a in same.items():
            twins[g] = a
        waiting = [[g for g in alike[1:] if g not in same] for alike in waiting]
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
