"""Algorithm 3 on rows, with its guarantee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from multivalid.audit.audit import audit_source
from multivalid.batch.control import UNLIMITED, Control
from multivalid.batch.statement import add_holdout, test_when_read
from multivalid.joint.algorithm import JointRun
from multivalid.joint.certificate import JointCertificate
from multivalid.joint.plan import JointPlan
from multivalid.joint.predictor import PairLevelPredictor
from multivalid.joint.start import joint_state
from multivalid.joint.statement import certify, reached
from multivalid.properties import Pair
from multivalid.sources.memory import MemorySource as Rows

Index = NDArray[np.intp]


@dataclass(frozen=True)
class PairFit:
    """A predictor, the levels of each fitted row (rows, 2), and what is guaranteed: by the run alone, and with the verdict of rows held
    out, or of the rows fitted where there are none."""

    predictor: PairLevelPredictor
    levels: Index
    certificate: JointCertificate
    stated: Callable[[], JointCertificate]


def fit(
    rows: Rows,
    pair: Pair,
    plan: JointPlan,
    *,
    held: Rows | None = None,
    control: Control = UNLIMITED,
) -> PairFit:
    """Run a plan on rows and state what it guarantees, also on rows held out."""
    state, row_atom = joint_state(rows, pair, plan)
    run = JointRun(state, plan.rules, control)
    trace = run.printed() if plan.mode == "paper" else run.corrected()
    place = state.place[row_atom]
    predictor = PairLevelPredictor(plan.grids, trace.patches)
    certificate = certify(rows, pair, plan, trace, place, reached(rows, pair, state, place))
    levels = np.stack(np.divmod(place, state.width), axis=1)
    if held is not None:
        seen = held.with_predictions(predictor.predict(held.predictions, held.membership))
        judged = add_holdout(certificate, seen, pair, plan.grids)
        return PairFit(predictor, levels, judged, lambda: judged)
    fitted = rows.detached().with_predictions(
        np.stack([grid.points[at] for grid, at in zip(plan.grids, levels.T, strict=True)], axis=1)
    )
    stated = test_when_read(certificate, lambda: audit_source(fitted, pair, plan.grids, beyond=True))
    return PairFit(predictor, levels, certificate, stated)
