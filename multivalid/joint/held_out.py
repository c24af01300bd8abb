"""What rows held out say of a pair's fit."""

from __future__ import annotations

from dataclasses import replace

from multivalid.audit.audit import audit_source
from multivalid.batch.statement import add_verdict
from multivalid.joint.certificate import JointCertificate
from multivalid.joint.link_predictor import PairLinkPredictor
from multivalid.joint.predictor import PairLevelPredictor
from multivalid.properties import Pair
from multivalid.sources.memory import MemorySource as Rows


def with_holdout(
    certificate: JointCertificate, held: Rows, pair: Pair, predictor: PairLevelPredictor | PairLinkPredictor
) -> JointCertificate:
    """The certificate with both errors, and bounds on the population's, from rows that were not used."""
    seen = replace(held, predictions=predictor.predict(held.predictions, held.membership))
    found = audit_source(seen, pair, predictor.grids, beyond=True)
    first, second = found.cells.debiased()
    bounds = found.holdout_bound
    measured = replace(
        certificate,
        holdout_error=found.errors,
        holdout_debiased=(float(first.max()), float(second.max())),
        holdout_bound=(bounds[0], bounds[1]),
    )
    return add_verdict(measured, found, "held-out rows")
