"""Reading the sharp learner's state: the table of groups, and what the bound means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from multivalid.online.sharp.engine import SharpEngine


def table_of(engine: SharpEngine) -> dict[str, NDArray[Any]]:
    """One row per group; errors are mass-multiplied, as in an audit."""
    t, total = engine.tables, max(engine.weight, 1e-300)
    weight, safe = t.count.sum(axis=1), np.where(t.count > 0, t.count, 1.0)
    share = t.sum**2 / safe
    worst = share.argmax(axis=1)
    rows = np.arange(t.groups)
    with np.errstate(invalid="ignore"):
        prediction = np.where(weight > 0, t.level.sum(axis=1) / np.where(weight > 0, weight, 1.0), np.nan)
        level = np.where(t.count > 0, t.level / safe, np.nan)[rows, worst]
    return {
        "name": np.array(engine.setup.members.names, dtype=object),
        "rows": t.rows.astype(np.int64),
        "weight": weight,
        "error": share.sum(axis=1) / total,
        "l1": np.abs(t.sum).sum(axis=1) / total,
        "linf": np.abs(t.sum).max(axis=1) / total,
        "prediction": prediction,
        "bound": engine.bounds() / total,
        "worst_bucket": worst,
        "worst_level": level,
    }


def notes_of(engine: SharpEngine) -> list[str]:
    """One line for each thing that changes what the bound means."""
    notes, setup = [], engine.setup
    if not engine.queue.proven:
        notes.append(
            f"outcomes came later than copies={setup.copies} and batch={setup.batch} allow: error is exact, nothing is promised for it"
        )
    if engine.clipped and setup.labels is not None:
        lo, hi = setup.labels
        notes.append(f"{_outcomes(engine.clipped)} outside ({lo:g}, {hi:g}) counted as its ends; error and bound speak of these")
    elif engine.clipped and engine.labels is not None:
        lo, hi = engine.labels
        notes.append(f"the range grew to ({lo:g}, {hi:g}) at {_outcomes(engine.clipped)}; the bound counts by how much")
    if setup.shares == "drawn":
        notes.append(
            f"shares are drawn: the bound holds with probability {1 - setup.delta:g} while labels do not react to the draw"
        )
    return notes


def _outcomes(count: int) -> str:
    return f"{count:,} outcome{'s' if count > 1 else ''}"
