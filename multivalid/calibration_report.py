"""The report of a calibration: the model's own predictions beside the calibrated ones, on rows given or kept from the fit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from multivalid.audit.audit import audit_source
from multivalid.calibration_rows import calibrate_rows, open_rows
from multivalid.report.origin import origin
from multivalid.report.page import write
from multivalid.report.sources import Chapter, Story

if TYPE_CHECKING:
    from multivalid.audit.audit import Audit
    from multivalid.calibration import Calibration
    from multivalid.sources.given import Given


def write_report(
    model: Calibration[Any, Any],
    path: str | os.PathLike[str],
    given: Given | None,
    title: str | None,
    settings: Mapping[str, Any],
) -> Path:
    """Write the page; a model without rows of its own, and none given, tells its certificate only."""
    sizes = [len(grid) for grid in model.grids]
    facts = {
        **(_kept_from_fit(model) if given is None else origin(given.y_true, given.y_pred, given.data, given.sample_weight)),
        **settings,
        "mode": model.certificate.mode,
        "levels of the model": sizes if len(sizes) > 1 else sizes[0],
        "patches": len(model.patches),
    }
    source = model._rows if given is None else open_rows(model, given)
    if source is None:
        target = model.property
        chapters = [
            Chapter(one.predicted, {}, key, key and one.name) for one, key in zip(target.coordinates, target.keys, strict=True)
        ]
        heading = title or "A calibration and what it guarantees"
        return write(Story(target, heading, chapters, model.certificate, model.groups.notes, facts), path)
    after = audit_source(calibrate_rows(model, source), model.property)
    levels = after.grids if len(after.grids) > 1 else after.grids[0]
    before = audit_source(source, model.property, levels, beyond=True)  # both on the same levels
    made: Path = after.report(path, before=before, certificate=model.certificate, title=title, settings=facts)
    return made


def compare_held_out(model: Calibration[Any, Any]) -> tuple[Audit, Audit] | None:
    """Audits before and after of the rows held out at the fit, on the same levels, without values; None where there are none."""
    if model._judged is None or model._rows is None:
        return None
    before = audit_source(model._rows, model.property, model._judged.grids[0], beyond=True, values=False)
    return before, model._judged


def _kept_from_fit(model: Calibration[Any, Any]) -> dict[str, str]:
    """Which rows a report is of when none are given to it."""
    if model._rows is None:
        return {}
    held = model.certificate.holdout_error is not None
    return {"data": "the rows held out at the fit" if held else "the rows fitted"}
