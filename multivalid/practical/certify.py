"""What the practical fit may state: the error on the levels of its final predictions, and the error that chance alone allows."""

from __future__ import annotations

import numpy as np

from multivalid.atoms.select import Rows
from multivalid.batch.algorithm import Blocked
from multivalid.batch.certificate import Certificate
from multivalid.batch.plan import label_facts
from multivalid.cells.statistics import CellStatistics
from multivalid.grid import Grid
from multivalid.practical.start import chance_limit
from multivalid.properties import Property
from multivalid.properties.base import Array

NEGLIGIBLE = 1e-5  # of V's bound: a mean V below this is rounding and the fit's own tolerance, not a violation


def certify(
    rows: Rows,
    prop: Property,
    grid: Grid,
    updates: int,
    potential: list[float],
    *,
    alpha: float | None,
    stopped: bool,
    note: str,
) -> Certificate:
    """Conditional on the levels of the final predictions, which `rows` carry; `updates` cells were moved on the way."""
    cells = CellStatistics.of(rows.cells(prop, [grid])[0])
    facts = label_facts(prop, rows.labels, rows.weights)
    error = float(cells.errors.max())
    limit, variance = chance_limit(int((cells.weight > 0).sum())), _variance(cells, rows, prop)
    chance = float((cells.mass * limit**2 * variance).sum(axis=0).max())
    goal = alpha if alpha is not None else max(chance, (NEGLIGIBLE * facts.bound) ** 2)
    status = "budget" if stopped else ("converged" if error <= goal else "blocked")
    best = prop.score(prop.solve_points(rows.labels), rows.labels)
    return Certificate(
        status=status,
        mode="practical",
        alpha=goal,
        error=error,
        updates=updates,
        update_bound=None,
        initial=potential[0],
        optimal=float(rows.weights @ best / rows.weights.sum()),
        potential=np.array(potential),
        least_drop=float("nan"),
        drop_bound=0.0,
        lipschitz=float("nan") if facts.lipschitz is None else facts.lipschitz,
        steepest=float("nan"),
        blocked=_beyond(cells, limit, variance) if status == "blocked" else [],
        note=note,
        asked=alpha is not None,
    )


def _variance(cells: CellStatistics, rows: Rows, prop: Property) -> Array:
    """Variance of each cell's mean V; from V² of all rows where no level has two rows to see a spread in."""
    if (cells.rows[:, 0] >= 2).any():
        return cells.steady
    v, w = prop.identify(rows.predictions, rows.labels), rows.weights
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(cells.rows > 0, float(w @ v**2 / w.sum()) / cells.rows, 0.0))


def _beyond(cells: CellStatistics, limit: float, variance: Array) -> list[Blocked]:
    """Cells that are off beyond chance although no correction held up on rows held out."""
    off = np.argwhere(np.abs(cells.mean) > limit * np.sqrt(variance))
    nan = float("nan")
    return [Blocked(int(g), int(j), float(cells.mass[j, g]), float(cells.mean[j, g]), nan, nan) for j, g in off]
