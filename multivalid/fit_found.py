"""`multicalibrate` with features: from the frame to codes, and from what was found to a calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from multivalid.atoms import select
from multivalid.calibration import Calibration
from multivalid.collateral import with_collateral
from multivalid.discover.bins import MOST_CODES, encode
from multivalid.discover.features import LEAST_ROWS, checked_names, fit_features
from multivalid.errors import InputError
from multivalid.groups.frames import open_frame
from multivalid.groups.membership import Membership
from multivalid.groups.remote import draw, fetch, lazy_frame
from multivalid.practical import fit as practical
from multivalid.practical.found import Columns, fit_found, judge_found, time_blocks
from multivalid.properties import Pair

SAMPLE = 1_000_000  # rows of a lazy frame that come to the driver


@dataclass(frozen=True)
class Found:
    """What the user asked for besides named groups."""

    features: Sequence[str] | None
    readable: bool
    blocks: Any
    time: Any

    def check(self, prop: Any, mode: str, data: Any) -> None:
        """Refuse what makes no sense."""
        if self.features is None:
            raise InputError("readable=, blocks= and time= go with features=, the columns in which groups may be found.")
        if mode != "practical":
            raise InputError(f'features= goes with mode="practical", got mode={mode!r}.')
        if isinstance(prop, Pair):
            raise InputError(f"features= is not for pairs, got {prop!r}; find groups with discover, and name them in groups=.")
        if data is None:
            raise InputError("features= names columns, but data=None; pass the frame as data=.")
        if self.blocks is not None and self.time is not None:
            raise InputError("blocks= and time= both say which rows belong together; give one of them.")


def fit_with_columns(
    y_true: Any,
    y_pred: Any,
    groups: Any,
    data: Any,
    prop: Any,
    asked: Found,
    goal: practical.Goal,
    *,
    mode: str,
    sample_weight: Any,
    holdout: Any,
    seed: int,
) -> Calibration:
    """Named groups and groups found in columns, together."""
    asked.check(prop, mode, data)
    lazy, notes = lazy_frame(data), []
    if lazy is not None:
        total = int(fetch(lazy.select(nw.len().alias("n")))["n"].item())
        drawn, at_random = draw(lazy, SAMPLE, total, seed)
        data = drawn.to_native()
        if len(drawn) < total:
            notes.append(f"Fitted on {'a random sample of' if at_random else 'the first'} {len(drawn):,} of {total:,} rows.")
    rows = select.rows(y_true, y_pred, groups=groups, data=data, sample_weight=sample_weight)
    prop.check_labels(rows.labels)
    if len(rows) < LEAST_ROWS:
        raise InputError(
            f"features= needs at least {LEAST_ROWS} rows to find and confirm groups, got {len(rows)}; name groups instead."
        )
    frame = open_frame(data)
    frame = frame if rows.kept is None else frame[rows.kept]
    names, more = checked_names(asked.features, frame.columns, {"y_pred": y_pred, "sample_weight": sample_weight}, label=y_true)
    fitting, held = positions(rows, select.marked(holdout, data, "holdout"), seed)
    part = frame if held is None else frame[fitting]
    bins = fit_features(part.select(names), names, MOST_CODES - 2, named=True)
    units = _units(asked, frame, rows)
    mine = rows if held is None else rows.take(fitting)
    columns = Columns(bins.bins, encode(bins.bins, part), asked.readable)
    made = fit_found(mine, prop, goal, columns, blocks=None if units is None else units[fitting], random_state=seed)
    certificate = made.certificate
    judge = replace(made.rows, frame=part)
    if held is not None:
        out = frame[held]
        base = rows.take(held)
        member = Membership.from_masks(made.groups.masks(out.to_native(), arrays=_arrays(rows, held), n_rows=held.size), held.size)
        away = replace(base, groups=made.groups, membership=member, frame=out)
        seen = judge_found(made, made.rows, away, prop, made.predictor.found(out, away.predictions))
        certificate, judge = seen.certificate, away
    told = "\n".join([*notes, *more, *bins.notes, certificate.note])
    done = Calibration(prop, made.groups, made.predictor, replace(certificate, note=told), made.levels, judge).fitted_on(made.rows)
    return with_collateral(done, frame.to_native(), (y_true, y_pred, sample_weight), held)


def find_for_several(
    rows: Any, target: Any, goal: Any, asked: Found, mode: str, holdout: Any, used: dict[str, Any]
) -> tuple[Any, str]:
    """Rows of several columns of predictions with the groups found in the columns of their frame, and what to say of them."""
    from multivalid.several.found import with_found_rules

    asked.check(target, mode, rows.frame)
    if len(rows) < LEAST_ROWS:
        raise InputError(
            f"features= needs at least {LEAST_ROWS} rows to find and confirm groups, got {len(rows)}; name groups instead."
        )
    frame = rows.frame if rows.kept is None or len(rows.frame) == len(rows) else rows.frame[rows.kept]
    names, notes = checked_names(asked.features, frame.columns, used, label=used["y_true"])
    fitting = positions(rows, holdout, goal.seed)[0]
    bins = fit_features(frame[fitting].select(names), names, MOST_CODES - 2, named=True)
    columns = Columns(bins.bins, encode(bins.bins, frame), True)
    wide, note = with_found_rules(rows, target, goal, columns, fitting, _units(asked, frame, rows))
    return wide, "\n".join([*notes, *bins.notes, note])


def _arrays(rows: Any, held: NDArray[np.intp]) -> Any:
    """Boolean arrays among the named groups, for the rows held out."""
    if not rows.groups.arrays:
        return None
    raise InputError(
        "features= with holdout= needs groups that are columns or conditions; make the boolean arrays columns of the frame."
    )


def positions(rows: Any, holdout: Any, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
    """Positions of the rows to fit and of those to judge on."""
    everyone = np.arange(len(rows))
    if holdout is None:
        return everyone, None
    marked = replace(rows, predictions=everyone.astype(np.float64))
    fitting, held = marked.split(holdout, seed)
    assert held is not None
    return fitting.predictions.astype(np.intp), held.predictions.astype(np.intp)


def _units(asked: Found, frame: nw.DataFrame[Any], rows: Any) -> NDArray[Any] | None:
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
