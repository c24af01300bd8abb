"""The default mode for pairs: the practical batch fit on the first coordinate, then on the pseudo-label of the second.

Each coordinate is calibrated for the groups and for levels of the other one. As in Algorithm 3, the pass over both is repeated while
the first coordinate is off on the new level sets of the second. The result is kept only where the joint score on rows held out does
not rise; otherwise the predictions go through untouched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from multivalid.batch.control import INTERRUPTED
from multivalid.batch.statement import add_holdout
from multivalid.grid import Grid
from multivalid.joint.certificate import JointCertificate
from multivalid.joint.link_predictor import PairLinkPredictor, PairPass
from multivalid.joint.passes import all_passes, worth_it
from multivalid.joint.practical_goal import PairGoal
from multivalid.joint.practical_statement import certify
from multivalid.joint.reduction import Reduction, reduction_of
from multivalid.practical.goal import level_grid
from multivalid.properties import Pair
from multivalid.sources.memory import MemorySource as Rows


@dataclass(frozen=True)
class PracticalPairFit:
    """A predictor, the levels of each fitted row (rows, 2), and the certificate."""

    predictor: PairLinkPredictor
    levels: NDArray[np.intp]
    certificate: JointCertificate

    def stated(self) -> JointCertificate:
        """What is guaranteed."""
        return self.certificate


def fit(
    rows: Rows,
    pair: Pair,
    goal: PairGoal,
    *,
    held: Rows | None = None,
    random_state: int = 0,
) -> PracticalPairFit:
    """Fit both coordinates, compare with the input on rows held out, and say what was reached."""
    everyone, reduction = rows, reduction_of(pair)
    if not rows.weights.all():  # a row of weight 0 is not there: pseudo-labels, scales and levels must not see it
        rows = rows.take(np.flatnonzero(rows.weights > 0))
    with np.errstate(all="ignore"):  # trial steps of the fit may overflow; they are turned down, and the end is checked
        passes, notes, interrupted = _work_out(rows, pair, reduction, goal, random_state)
        predictor = PairLinkPredictor((Grid([0.0]), Grid([0.0])), reduction.form, passes)
        final = predictor.predict(rows.predictions, rows.membership)
    if not np.isfinite(final).all():
        predictor, final, notes = replace(predictor, passes=[]), rows.predictions, ["The fit was not finite: nothing done."]
    first, second = (level_grid(final[:, k], rows.weights, goal.levels[k], given) for k, given in enumerate(goal.grids))
    predictor = replace(predictor, grids=(first, second))
    certificate = certify(rows, pair, predictor, final, goal, notes)
    if interrupted:
        certificate = replace(certificate, status="budget")
    if held is not None:
        seen = held.with_predictions(predictor.predict(held.predictions, held.membership))
        certificate = add_holdout(certificate, seen, pair, predictor.grids)
    if rows is not everyone:
        final = predictor.predict(everyone.predictions, everyone.membership)
    levels = np.stack([grid.round(final[:, k]) for k, grid in enumerate(predictor.grids)], axis=1)
    return PracticalPairFit(predictor, levels, certificate)


def _work_out(
    rows: Rows, pair: Pair, reduction: Reduction, goal: PairGoal, random_state: int
) -> tuple[list[PairPass], list[str], bool]:
    """The passes that held-out rows confirmed, what to say of them, and whether Ctrl-C came before they were fitted."""
    try:
        kept, report = worth_it(rows, pair, reduction, goal, random_state)
        passes, notes = all_passes(rows, reduction, goal, random_state) if kept else ([], [])
        return passes, [report, *notes], False
    except KeyboardInterrupt:
        if not goal.control.keep_interrupted:
            raise
        return [], [INTERRUPTED + " Nothing done."], True
