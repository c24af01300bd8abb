"""`multicalibrate` with features: from the frame to codes, and from what was found to a calibration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.batch.statement import add_holdout
from multivalid.calibration import Calibration
from multivalid.discover.bins import MOST_CODES, encode
from multivalid.discover.features import LEAST_ROWS, checked_names, fit_features, without_copies
from multivalid.errors import InputError
from multivalid.fit_rows import Opened, Searched
from multivalid.practical.columns import Columns
from multivalid.practical.from_columns.fit import fit_from_columns
from multivalid.practical.goal import Goal
from multivalid.properties import Property, Target
from multivalid.sources.memory import MemorySource

BLOCKS = 20  # of time


def fit_with_columns(prop: Property, opened: Opened, goal: Goal, searched: Searched, seed: int) -> Calibration:
    """Named groups and groups found in columns, together."""
    rows = opened.rows
    assert isinstance(rows, MemorySource)
    frame = _frame_of(rows)
    names, notes = _names(rows, frame, searched)
    fitting, held = positions(rows, opened.holdout, seed)
    part = frame if held is None else frame[fitting]
    bins = fit_features(part.select(names), names, MOST_CODES - 2, named=True, labels=rows.labels[fitting])
    units = _units(searched, frame, rows)
    mine = rows if held is None else rows.take(fitting)
    columns = Columns(bins.bins, encode(bins.bins, part), searched.readable)
    made = fit_from_columns(mine, prop, goal, columns, blocks=None if units is None else units[fitting], random_state=seed)
    certificate, judge = made.certificate, made.rows
    if held is not None:
        out = frame[held]
        _refuse_arrays(rows)
        groups = made.rows.groups
        judge = replace(rows.take(held), groups=groups, membership=groups.membership(out.to_native(), n_rows=held.size))
        trees = made.predictor.tree_sums(out, judge.predictions)
        seen = judge.with_predictions(made.predictor.predict(judge.predictions, judge.membership, trees))
        certificate = add_holdout(certificate, seen, prop)
    note = "\n".join([*filter(None, [opened.note]), *notes, *bins.notes, certificate.note])
    certificate = replace(certificate, note=note)
    return Calibration(prop, made.rows.groups, made.predictor, certificate, made.levels, judge, made.rows.ends)


def find_for_several(rows: MemorySource, target: Target, goal: Any, searched: Searched, holdout: Any) -> tuple[MemorySource, str]:
    """Rows of several columns of predictions with the groups found in the columns of their frame, and what to say of them."""
    from multivalid.several.found import with_found_rules

    frame = _frame_of(rows)
    names, notes = _names(rows, frame, searched)
    fitting = positions(rows, holdout, goal.seed)[0]
    bins = fit_features(frame[fitting].select(names), names, MOST_CODES - 2, named=True, labels=rows.labels[fitting])
    columns = Columns(bins.bins, encode(bins.bins, frame), True)
    wide, note = with_found_rules(rows, target, goal, columns, fitting, _units(searched, frame, rows))
    return wide, "\n".join([*notes, *bins.notes, note])


def _names(rows: MemorySource, frame: nw.DataFrame[Any], searched: Searched) -> tuple[list[str], list[str]]:
    """The columns to search in, and what to say of those left out."""
    names, notes = checked_names(searched.features, frame.columns, searched.used, label=searched.label)
    names, copies = without_copies(frame, names, rows.predictions)
    return names, [*notes, *copies]


def _frame_of(rows: MemorySource) -> nw.DataFrame[Any]:
    """The columns to search in; refused where rows are too few to find anything."""
    if len(rows) < LEAST_ROWS:
        raise InputError(
            f"features= needs at least {LEAST_ROWS} rows to find and confirm groups, got {len(rows)}; name groups instead."
        )
    assert rows.own_frame is not None  # checked with the options
    return rows.own_frame


def _refuse_arrays(rows: MemorySource) -> None:
    """Boolean arrays among the named groups are not known for the rows held out."""
    if rows.groups.arrays:
        raise InputError(
            "features= with holdout= needs groups that are columns or conditions; make the boolean arrays columns of the frame."
        )


def positions(rows: MemorySource, holdout: Any, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
    """Positions of the rows to fit and of those to judge on."""
    everyone = np.arange(len(rows))
    if holdout is None:
        return everyone, None
    marked = replace(rows, predictions=everyone.astype(np.float64))
    fitting, held = marked.split(holdout, seed)
    assert held is not None
    return fitting.predictions.astype(np.intp), held.predictions.astype(np.intp)


def _units(asked: Searched, frame: nw.DataFrame[Any], rows: MemorySource) -> NDArray[Any] | None:
    given, name = (asked.blocks, "blocks") if asked.blocks is not None else (asked.time, "time")
    if given is None:
        return None
    if isinstance(given, str):
        if given not in frame.columns:
            raise InputError(f"{name}={given!r} is not a column of data.")
        values = frame[given].to_numpy()
    else:
        values = np.asarray(given)
        values = values if rows.kept is None else values[rows.kept]
    if values.shape != (len(rows),):
        raise InputError(f"{name} must have one value per row ({len(rows)}), got shape {values.shape}.")
    _, codes = np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)
    if codes.max() < 4:
        raise InputError(f"{name} must have at least 5 different values, so that some can be held out, got {int(codes.max()) + 1}.")
    return codes if asked.blocks is not None else time_blocks(codes)


def time_blocks(values: NDArray[Any]) -> NDArray[np.intp]:
    """Stretches of time with about equally many rows."""
    order = np.argsort(values, kind="stable")
    out = np.empty(order.size, dtype=np.intp)
    out[order] = np.arange(order.size) * BLOCKS // order.size
    return out
