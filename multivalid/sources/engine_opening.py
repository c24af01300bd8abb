"""Opening a lazy frame: columns are checked, groups fitted, labels held against the property; rows stay where they are."""

from __future__ import annotations

from typing import Any

from multivalid.atoms.frame_columns import renamed
from multivalid.atoms.names import HELD
from multivalid.groups.family import FittedGroups, Groups
from multivalid.groups.remote import Frame, schema_of
from multivalid.sources.engine import EngineSource
from multivalid.sources.engine_clusters import with_cluster
from multivalid.sources.engine_groups import fit_groups
from multivalid.sources.engine_labels import check_labels
from multivalid.sources.engine_look import Given, first_look
from multivalid.sources.looked_up import Lines
from multivalid.sources.marks import where
from multivalid.sources.sides import Marked


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
    copying: bool = False,
) -> EngineSource:
    """Check the columns, fit the groups, and keep everything where it is.

    Where the columns that the groups use take few values together, one or two looks at the rows do it all: totals, also of the rows held
    out, and the combinations of values with how many rows have each, from which the groups are fitted in memory. With `copying` what later
    looks need is written to a file on the way, where rows pass by.
    """
    opened = renamed(with_cluster(frame, cluster), y_true, y_pred, sample_weight)
    if isinstance(holdout, str):
        opened = opened.with_columns(where(holdout, opened).alias(HELD))
    fitted = groups if isinstance(groups, FittedGroups) else None
    spec = groups if isinstance(groups, Groups) else None if fitted else Groups(groups)
    look = first_look(Given(frame, y_true, y_pred, sample_weight), opened, spec, copying=copying and cluster is None)
    look.all_rows.check(y_true, y_pred, sample_weight)
    opened, guesses, totals = look.frame, look.guesses, look.seen.totals()
    if prop is not None:
        check_labels(prop, opened, totals)
    if fitted is None:
        assert spec is not None
        fitted = fit_groups(spec, opened, totals.rows, guesses)
    else:
        fitted.expressions(schema_of(opened))  # refuses columns that are not there or of another type
    marked = Marked(holdout, look.used[False].totals(), look.used[True].totals()) if isinstance(holdout, str) else None
    opened, looked_up = Lines.of(opened, fitted, guesses.tallied)
    return EngineSource(
        opened,
        fitted,
        totals,
        guesses,
        plain=sample_weight is None,
        cluster=cluster,
        marked=marked,
        lines=looked_up,
        copies=look.copies,
    )
