"""Who got worse without having been named: groups found on rows held out that are further off after a fit than before it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from multivalid.calibration import Calibration
from multivalid.cells.sentences import UNNAMED
from multivalid.discover import sentences
from multivalid.discover.discovery import discover
from multivalid.discover.features import LEAST_ROWS
from multivalid.errors import InputError
from multivalid.groups.blocks import Holds, evaluate
from multivalid.groups.kinds import kind_of_dtype
from multivalid.groups.predicate import parse
from multivalid.properties.base import Array
from multivalid.sources.memory import MemorySource

Made = TypeVar("Made", bound=Calibration[Any, Any])
NO_FRAME = f"{UNNAMED}: no frame was given, so nobody has looked whether any of them got worse."
MOST = 5  # groups that the note names


def with_collateral(made: Made, used: Collection[str]) -> Made:
    """The calibration of a single property with a note on who got worse, judged on the rows held out; `used` columns are no features."""
    rows = made._rows
    if len(made.grids) > 1 or not isinstance(rows, MemorySource) or made.certificate.holdout_error is None:
        return made
    line = NO_FRAME if rows.frame is None else _line(made, rows, used)
    note = f"{made.certificate.note}\n{line}".strip()
    made.certificate = replace(made.certificate, note=note)
    return made


def _line(made: Calibration[Any, Any], rows: MemorySource, used: Collection[str]) -> str:
    frame = rows.own_frame
    assert frame is not None
    usable = (name for name in frame.columns if kind_of_dtype(frame.schema[name]) is not None)
    names = [name for name in usable if name not in used and not name.startswith("__")]  # such names no predicate may have
    if len(rows) < LEAST_ROWS or not names:
        return (
            f"{UNNAMED}: {len(rows):,} rows held out with {len(names)} further columns are too few to look for any that got worse."
        )
    before, labels, weights = rows.predictions, rows.labels, rows.weights
    after = made._predicted(before, rows.membership, frame.to_native())
    masks = [rows.membership.mask(g) for g in range(1, rows.membership.groups)]
    named: Any = np.stack(masks, axis=1) if masks else ()
    try:
        found = discover(
            labels, after, data=frame.select(names).to_native(), property=made.property, groups=named, sample_weight=weights
        )
    except InputError as error:
        return f"{UNNAMED}: whether any got worse could not be looked for: {error}"
    worse = _worse(made, found.groups, frame, (before, after), labels, weights, found.coordinates[0].percent)
    if not worse:
        return f"{UNNAMED}: none was found in {len(names)} columns that is further off than before."
    return (
        f"{UNNAMED}: further off than before on the rows held out: {'; '.join(worse[:MOST])}{'; …' if len(worse) > MOST else ''}. Name "
        f"them in groups=, or pass features= for groups like them."
    )


def _worse(
    made: Calibration[Any, Any],
    texts: list[str],
    frame: Any,
    predictions: tuple[Array, Array],
    labels: Array,
    weights: Array,
    percent: bool,
) -> list[str]:
    """The groups whose gap has grown, in words."""
    out = []
    masks = evaluate([Holds(parse(text).condition) for text in texts], frame) if texts else []
    for text, mask in zip(texts, masks, strict=True):
        old, new = (float(np.average(made.property.identify(p[mask], labels[mask]), weights=weights[mask])) for p in predictions)
        if abs(new) > abs(old):
            side = "too high" if new > 0 else "too low"
            out.append(
                f"{text}: predicted {side} by {sentences.amount(new, percent)} on average, before by {sentences.amount(old, percent)}"
            )
    return out
