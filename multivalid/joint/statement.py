"""What Algorithm 3 guarantees of a pair: the errors it reached, the bounds that hold, and what to say about them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from multivalid.audit.pair_cells import solved_cells
from multivalid.joint import bounds
from multivalid.joint.algorithm import JointTrace
from multivalid.joint.certificate import JointCertificate
from multivalid.joint.plan import JointPlan, pair_facts
from multivalid.joint.score import comparable_scores
from multivalid.joint.start import start_places
from multivalid.joint.state import JointState
from multivalid.joint.trivial import trivial_errors
from multivalid.properties import Pair
from multivalid.properties.base import Array
from multivalid.sources.memory import MemorySource as Rows

Index = NDArray[np.intp]


@dataclass(frozen=True)
class Reached:
    """The largest errors of any group: V-form and Γ-form of both conditions, and the second with V¹ at the predicted γ⁰."""

    error: tuple[float, float]
    gamma: tuple[float, float]
    stage: float


def reached(rows: Rows, pair: Pair, state: JointState, place: Index) -> Reached:
    """Both conditions of the definition, Γ⁰ of every cell solved from its labels."""
    first, second = (side.grid for side in state.sides)
    shape = len(first), len(second), state.table.groups
    at_second = np.tile(second.points, len(first))
    truth, value, v = solved_cells(pair, rows.labels, rows.weights, place, at_second, rows.membership)
    mass = state.mass.reshape(shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = [np.where(mass > 0, part.reshape(shape) / mass, 0.0) for part in state.identification]
    gap0, gap1 = np.repeat(first.points, len(second))[:, None] - truth, at_second[:, None] - value

    def worst(values: Array, axis: int) -> float:
        return float((mass * values.reshape(shape) ** 2).sum(axis=axis).max())

    return Reached((worst(seen[0], 0), worst(v, 1)), (worst(gap0, 0), worst(gap1, 1)), worst(seen[1], 1))


def certify(rows: Rows, pair: Pair, plan: JointPlan, trace: JointTrace, place: Index, found: Reached) -> JointCertificate:
    """What was asked, what was reached at the final places of the rows, and the bounds that hold."""
    start = start_places(rows.predictions, plan)
    width = len(plan.grids[1])
    before, after = (
        np.stack([plan.grids[0].points[at // width], plan.grids[1].points[at % width]], axis=1) for at in (start, place)
    )
    total = rows.weights.sum()
    initial = float(rows.weights @ pair.first.score(before[:, 0], rows.labels) / total)
    optimal = float(rows.weights @ pair.first.score(pair.first.solve_points(rows.labels), rows.labels) / total)
    scores = comparable_scores(pair, before, after, rows.labels)
    least = [float(min(drops)) if drops else float("nan") for drops in trace.drops]
    facts = pair_facts(pair, rows.labels, rows.weights)
    most = None
    if min(plan.drops) > 0:
        made = int(np.floor((initial - optimal) / plan.drops[0] * (1 + 1e-9) + 1e-9))
        most = bounds.update_bound(min(max(made, 0), plan.bounds[0]) if plan.bounds[0] else made, plan.bounds[1])
    trivial = trivial_errors(rows, pair)
    return JointCertificate(
        status=_status(plan, trace, found.error, trivial),
        mode=plan.mode,
        alpha=(plan.alpha[0], float("nan") if plan.second.value is None else plan.second.value),
        stage_alpha=plan.alpha[1],
        argument=plan.second.reason,
        printed_alpha=bounds.second_error_bound(replace(facts, bayes_scale=None), *plan.alpha).value,
        error=found.error,
        gamma_error=found.gamma,
        stage_error=found.stage,
        updates=(len(trace.drops[0]), len(trace.drops[1])),
        update_bound=most,
        passes=trace.passes,
        potential=initial - np.cumsum([0.0, *trace.drops[0]]),
        least_drop=(least[0], least[1]),
        drop_bound=plan.drops,
        lipschitz=plan.lipschitz,
        steepest=(trace.steepest[0], trace.steepest[1]),
        blocked=trace.blocked,
        joint_score=None if scores is None else _means(scores, rows.weights),
        initial=initial,
        optimal=optimal,
        trivial=trivial,
        error_before=None if any(trace.drops) else found.error,
        note="\n".join(filter(None, [_needed(plan, trivial), _note(plan, trace, found.error), trace.note])),
    )


def _status(plan: JointPlan, trace: JointTrace, error: tuple[float, float], trivial: tuple[float, float]) -> str:
    if trace.status != "converged":
        return trace.status
    if _broken(plan, error):
        return "uncalibrated"
    return "vacuous" if _shortfall(plan, trivial) > 1 else "converged"


def _shortfall(plan: JointPlan, trivial: tuple[float, float]) -> float:
    """By how much the errors promised exceed those of a constant prediction, at worst; at most 1 where they promise something."""
    promised = (plan.alpha[0], plan.second.value)
    ratios = [0.0 if p is None else (p / t if t > 0 else np.inf) for p, t in zip(promised, trivial, strict=True)]
    return float(max(ratios))


def _needed(plan: JointPlan, trivial: tuple[float, float]) -> str:
    """How many levels promise less than a constant prediction has: errors fall with the square of their number."""
    short = _shortfall(plan, trivial)
    if short <= 1:
        return ""
    if not np.isfinite(short):
        return "No number of levels promises less than a constant prediction has here: its error is 0."
    m = [int(np.ceil(len(grid) * np.sqrt(short))) for grid in plan.grids]
    return f"To promise less than a constant prediction has, about m = ({m[0]:,}, {m[1]:,}) levels are needed."


def _means(scores: tuple[Array, Array], weights: Array) -> tuple[float, float]:
    return float(np.average(scores[0], weights=weights)), float(np.average(scores[1], weights=weights))


def _note(plan: JointPlan, trace: JointTrace, error: tuple[float, float]) -> str:
    if plan.mode == "paper":
        return " ".join(_failures(plan, trace, error))
    steep = [k for k in (0, 1) if trace.steepest[k] > plan.lipschitz[k] * (1 + 1e-9)]
    if not steep:
        return ""
    return (
        f"In some cell V{'⁰¹'[steep[0]]} rises with slope {trace.steepest[steep[0]]:.3g}, steeper than the "
        f"L = {plan.lipschitz[steep[0]]:.3g} assumed; when converged the bounds hold all the same, as every cell was checked."
    )


def _failures(plan: JointPlan, trace: JointTrace, error: tuple[float, float]) -> list[str]:
    """What the printed text does wrong on these rows."""
    found = []
    sides = {cell.side for cell in trace.blocked}
    if 1 in sides:
        found.append("The printed inner loop on the second coordinate would spin for ever here: the target lies outside its grid.")
    if 0 in sides:
        found.append("The printed loop on the first coordinate would repeat for ever here: the level of least |V| is no better.")
    if trace.passes == 0:
        found.append("The printed loop tests the first coordinate only and never ran: the second is returned as it came.")
    if plan.second.value is not None and _broken(plan, error):
        found.append(f"Its second coordinate is off by {error[1]:.4g}, more than the {plan.second.value:.4g} promised.")
    return found


def _broken(plan: JointPlan, error: tuple[float, float]) -> bool:
    """Whether the second error is above what was promised; checked in every mode, though only the printed algorithm should do that."""
    return plan.second.value is not None and error[1] > plan.second.value * (1 + 1e-9)
