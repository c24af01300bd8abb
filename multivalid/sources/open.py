"""`open_source`: the one place that asks where rows live; it does every check, and what follows is written once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw
import numpy as np

from multivalid.atoms.names import LABEL
from multivalid.groups.remote import fetch, gather, lazy_frame
from multivalid.properties import Property
from multivalid.sources.engine import EngineSource
from multivalid.sources.engine_columns import EngineColumns, open_columns
from multivalid.sources.engine_opening import open_engine
from multivalid.sources.memory import MemorySource
from multivalid.sources.rows import open_rows
from multivalid.sources.scales import scale_note

if TYPE_CHECKING:
    from multivalid.properties import Target

Source: TypeAlias = MemorySource | EngineSource
Opened: TypeAlias = Source | EngineColumns


def open_source(
    y_true: Any,
    y_pred: Any,
    *,
    groups: Any,
    target: Target,
    data: Any = None,
    sample_weight: Any = None,
    arrays: Any = None,
    cluster: Any = None,
) -> Opened:
    """Rows where they live, checked: columns are there and hold finite numbers, labels suit the target, groups are fitted.

    Parameters
    ----------
    y_true, y_pred : array-like, or names of columns of `data`
        Outcomes and predictions, one column per coordinate of the target.
    groups : list of items, Groups, FittedGroups, or boolean array
        For whom.
    target : Property, Pair, …
        What the predictions are of.
    data : data frame, optional
        In memory, or a lazy one, whose rows then stay in their engine; those of a pair are fetched, up to a limit, as its second
        coordinate needs every label.
    sample_weight : array-like or column name, optional
        A row of weight 0 is not there.
    arrays : boolean arrays, optional
        For groups that are fitted already, and were given as boolean arrays: these arrays for the new rows.
    cluster : array-like or column name, optional
        Rows with the same value share their luck.

    Examples
    --------
    >>> from multivalid.properties import Mean
    >>> rows = open_source([0, 1, 1], [0.5, 0.5, 0.7], groups=[], target=Mean(), sample_weight=[1, 2, 0])
    >>> len(rows), rows.totals.weight
    (2, 3.0)
    """
    frame = lazy_frame(data)
    width = len(target.coordinates)
    if frame is not None and isinstance(target, Property):
        stays = open_engine(y_true, y_pred, groups=groups, frame=frame, sample_weight=sample_weight, prop=target, cluster=cluster)
        note = scale_note(target, stays.totals, lambda: _only_one_and_two(stays))
        return replace(stays, groups=stays.groups.noting([note])) if note else stays
    if frame is not None and not target.joint:
        return open_columns(y_true, y_pred, groups=groups, frame=frame, sample_weight=sample_weight, target=target)
    if frame is not None:
        data = gather(frame, f"predictions of {width} columns are worked on")
    rows = open_rows(
        y_true, y_pred, groups=groups, data=data, sample_weight=sample_weight, width=width, arrays=arrays, target=target,
        cluster=cluster,
    )  # fmt: skip
    note = scale_note(target, rows.totals, lambda: bool(np.isin(rows.labels, (1.0, 2.0)).all()))
    return replace(rows, groups=rows.groups.noting([note])) if note else rows


def _only_one_and_two(source: EngineSource) -> bool:
    others = (nw.col(LABEL) > 1.0) & (nw.col(LABEL) < 2.0)
    return not fetch(source.frame.select(others.cast(nw.Int64).sum().alias("others")))["others"].item()
