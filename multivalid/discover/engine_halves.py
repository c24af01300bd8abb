"""Rows that stay where they are: a sample is searched in memory, all other rows are tested by the engine."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.atoms.frame_columns import checked
from multivalid.atoms.names import HELD, LABEL, PREDICTION, WEIGHT
from multivalid.discover.confirm import Atoms
from multivalid.discover.coordinates import Searched
from multivalid.discover.evidence import from_engine
from multivalid.discover.halves import MOST_SEARCHED, Halves, Wanted
from multivalid.errors import InputError
from multivalid.groups.engine import condition_expression
from multivalid.groups.frames import open_frame
from multivalid.groups.nodes import Condition, render
from multivalid.groups.remote import Frame, fetch, schema_of
from multivalid.sources.holdout import drawn


def halves_in_engine(wanted: Wanted, frame: Frame) -> Halves:
    """A share of the rows, drawn alike in every query, comes into memory."""
    if wanted.cluster is not None:
        raise InputError(
            "cluster= needs the rows in memory: collect them, or a sample of whole clusters, and pass that frame as data=."
        )
    opened, totals = checked(frame, wanted.y_true, wanted.y_pred, wanted.sample_weight)
    wanted.enough(totals.rows)
    names, notes = wanted.names(frame.collect_schema().names())
    marked = drawn(opened, min(1 - wanted.test_share, MOST_SEARCHED / totals.rows), wanted.seed, [*names])
    local = open_frame(fetch(marked.filter(nw.col(HELD)).select(LABEL, PREDICTION, WEIGHT, *names)).to_native())
    labels, predictions, weights = (np.asarray(local[name].to_numpy(), dtype=np.float64) for name in (LABEL, PREDICTION, WEIGHT))
    wanted.target.check_labels(labels)
    family, mean_weight = wanted.fitted(local), totals.weight / totals.rows

    def ask(
        found: Sequence[Condition], targets: Sequence[Searched], scales: Sequence[float], edges: Sequence[NDArray[np.float64]]
    ) -> Atoms:
        rest = marked.filter(~nw.col(HELD))
        schema = schema_of(rest)
        flags = [condition_expression(condition, schema, render(condition)) for condition in found]
        known = family.expressions(schema)[1:] if len(family) > 1 else []
        return from_engine(targets[0], rest, flags, known, edges[0], scales[0], mean_weight)

    sizes = labels.size, totals.rows - labels.size
    notes.append(f"searched on {sizes[0]:,} of {totals.rows:,} rows; the other {sizes[1]:,} were tested where they are")
    return Halves(
        names, local.select(names), labels, predictions[:, None], weights / mean_weight,
        list(family.masks(local.to_native(), n_rows=len(local)))[1:] if len(family) > 1 else [],
        totals.of_events, ask, sizes, [*notes, *family.notes], None,
    )  # fmt: skip
