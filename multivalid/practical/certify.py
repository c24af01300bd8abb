"""What the practical fit may state: the error on the levels of its final predictions, and which groups are off beyond chance there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multivalid.audit.audit import Audit, audit_source
from multivalid.audit.text import is_untestable, verdict_on
from multivalid.batch.algorithm import Blocked
from multivalid.batch.certificate import Certificate
from multivalid.batch.plan import label_range
from multivalid.cells.residual import ratio
from multivalid.cells.tabulate import tabulate_groups
from multivalid.grid import Grid
from multivalid.practical.start import chance_limit
from multivalid.properties.base import Property
from multivalid.sources.memory import MemorySource as Rows

NEGLIGIBLE = 1e-5  # of V's bound: a mean V below this is rounding and the fit's own tolerance, not a violation
ONLY_NOISE = "What is left above the error asked cannot be told from noise on these rows."


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
    """Conditional on the levels of the final predictions, which `rows` carry; the tests are those of an audit of the same rows."""
    found = audit_source(rows, prop, grid, beyond=True, values=False)
    facts, trivial, error = prop.facts(*label_range(prop, rows.labels, rows.weights)), _of_a_constant(rows, prop), found.error
    best = prop.score(prop.solve_points(rows.labels), rows.labels)
    negligible = (NEGLIGIBLE * _size_of_v(rows, prop)) ** 2
    off = found.off if error > negligible else []
    goal = alpha if alpha is not None else _yardstick(found, negligible, bool(off))
    reached = error <= goal and not off
    # Where nothing was asked the tests decide, and promise nothing where none could be made.
    untested = alpha is None and error > negligible and is_untestable(found)
    empty = untested or (alpha is not None and goal > trivial)
    status = "budget" if stopped else (("vacuous" if empty else "converged") if reached else "blocked")
    said = verdict_on(found, "the rows fitted") if error > negligible else ""
    noise = [ONLY_NOISE] if status == "blocked" and not off else []
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
        blocked=_beyond(found) if status == "blocked" else [],
        note="\n".join(line for line in (note, said, *noise) if line),
        asked=alpha is not None,
        trivial=trivial,
    )


def _size_of_v(rows: Rows, prop: Property) -> float:
    """The most that |V| can be for labels such as these: amounts of a millionth are in [0, 1] too, and not negligible for that."""
    used = rows.labels[rows.weights > 0]
    low, high = float(used.min()), float(used.max())
    return prop.facts(*((low, high) if low < high else label_range(prop, used))).bound


def _of_a_constant(rows: Rows, prop: Property) -> float:
    """The error of Γ of all labels as everybody's prediction: an alpha above it promises nothing.

    Without groups that is 0, whatever it is worth; there it is the mean of V², the most that it can be for any groups at all.
    """
    v = prop.identify(prop.solve(rows.labels, rows.weights), rows.labels)
    if rows.membership.groups < 2:
        return float(np.average(v**2, weights=rows.weights))
    place = np.zeros(len(rows.labels), dtype=np.intp)
    weight, total = tabulate_groups(rows.membership, place, [rows.weights, rows.weights * v], 1)
    return float(np.max(ratio(total**2, weight)) / weight[0, 0])


def _yardstick(found: Audit, negligible: float, off: bool) -> float:
    """Where nothing was asked: the error of a group whose cells all lie at the edge of chance; what was reached, if no group is off."""
    _, group = _places(found)
    edge = chance_limit(group.size) * found.cells["standard_error"]
    allowed = np.bincount(group, weights=found.cells["weight"] * edge**2) / found.table["weight"][0]
    return max(float(allowed.max()), negligible, 0.0 if off else found.error)


def _beyond(found: Audit) -> list[Blocked]:
    """Cells that are off beyond chance although no correction held up on rows held out."""
    level, group = _places(found)
    share, v, nan = found.cells["weight"] / found.table["weight"][0], found.cells["identification"], float("nan")
    off = np.flatnonzero(np.abs(found.cells["z"]) > chance_limit(group.size))
    return [Blocked(int(group[i]), int(level[i]), float(share[i]), float(v[i]), nan, nan) for i in off]


def _places(found: Audit) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Level and group of every row of `found.cells`, as numbers."""
    level, group = np.nonzero(found.coordinates[0].sums.weight > 0)
    return level, group
