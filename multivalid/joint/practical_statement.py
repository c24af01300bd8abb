"""What the practical fit of a pair may state: the errors on the levels of its final predictions, and what is off beyond chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from multivalid.audit.audit import audit_source
from multivalid.audit.pair_cells import PairCells
from multivalid.audit.text import is_untestable, verdict_on
from multivalid.joint.algorithm import BlockedPair
from multivalid.joint.certificate import JointCertificate
from multivalid.joint.link_predictor import PairLinkPredictor
from multivalid.joint.practical_goal import PairGoal
from multivalid.joint.score import comparable_scores
from multivalid.joint.trivial import trivial_errors
from multivalid.practical.start import chance_limit
from multivalid.properties import Pair
from multivalid.sources.memory import MemorySource as Rows

FEWEST = 10  # rows of a cell below which none is said to be off


def certify(
    rows: Rows, pair: Pair, predictor: PairLinkPredictor, final: NDArray[np.float64], goal: PairGoal, notes: list[str]
) -> JointCertificate:
    """Given the levels of the final predictions: the errors reached, and which groups are off beyond chance."""
    found = audit_source(replace(rows, predictions=final), pair, predictor.grids, beyond=True)
    cells = found.cells
    limit = chance_limit(2 * int((cells.mass > 0).sum()))
    chance = [
        float(errors(limit * np.sqrt(variance)).max())
        for errors, variance in ((cells.first_errors, cells.first_variance), (cells.second_errors, cells.seen_variance))
    ]
    error, stage = found.errors, float(cells.second_errors(cells.seen).max())
    reached = (0.0, 0.0) if found.off else (error[0], stage)  # where no group is off, nothing more was to be had
    alpha = [max(chance[k], reached[k]) if asked is None else asked for k, asked in enumerate(goal.alpha)]
    updates = [sum(1 for side, _ in predictor.patches if side == k) for k in (0, 1)]
    spent = not goal.control.room(max(updates))
    fine = error[0] <= alpha[0] and stage <= alpha[1] and not found.off
    trivial = None if goal.alpha == (None, None) else trivial_errors(rows, pair)
    empty = (
        is_untestable(found) if trivial is None else any(a is not None and a > t for a, t in zip(goal.alpha, trivial, strict=True))
    )
    scores = comparable_scores(pair, rows.predictions, final, rows.labels)
    nan = float("nan")
    potential = [np.average(pair.first.score(p[:, 0], rows.labels), weights=rows.weights) for p in (rows.predictions, final)]
    means = None if scores is None else [float(np.average(s, weights=rows.weights)) for s in scores]
    return JointCertificate(
        status=("vacuous" if empty else "converged") if fine else ("budget" if spent else "blocked"),
        mode="practical",
        alpha=(alpha[0], alpha[1]),
        stage_alpha=alpha[1],
        argument="no group off beyond chance" if goal.alpha == (None, None) else "as asked",
        printed_alpha=None,
        error=error,
        gamma_error=(float(cells.first_errors(cells.first_gap).max()), float(cells.second_errors(cells.second_gap).max())),
        stage_error=stage,
        updates=(updates[0], updates[1]),
        update_bound=None,
        passes=len(predictor.passes),
        potential=np.array(potential),
        least_drop=(nan, nan),
        drop_bound=(0.0, 0.0),
        lipschitz=(nan, nan),
        steepest=(nan, nan),
        blocked=[] if fine else _beyond(cells, limit),
        joint_score=None if means is None else (means[0], means[1]),
        note="\n".join(line for line in (*notes, verdict_on(found, "the rows fitted")) if line),
        asked=goal.alpha != (None, None),
        trivial=trivial,
    )


def _beyond(cells: PairCells, limit: float) -> list[BlockedPair]:
    """Cells that are off beyond chance although no correction held up on rows held out."""
    found = []
    for side, v, variance in ((0, cells.first, cells.first_variance), (1, cells.seen, cells.seen_variance)):
        for i, j, g in np.argwhere((np.abs(v) > limit * np.sqrt(variance)) & (cells.rows >= FEWEST)):
            found.append(BlockedPair(side, int(g), int(i), int(j), float(cells.mass[i, j, g]), float(v[i, j, g])))
    return found
