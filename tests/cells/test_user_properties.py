"""Every property of the registry, a user's own of arrays alone too, is audited and fitted on labels that are all at two values."""

from __future__ import annotations

import numpy as np
import pytest

import multivalid as mv

from ..properties.registry import REGISTRY, Case


@pytest.mark.parametrize("case", REGISTRY, ids=lambda case: case.name)
def test_labels_of_two_values_are_judged_whatever_the_property(case: Case) -> None:
    rng = np.random.default_rng(0)
    ends = (0.0, 1.0) if case.lo == 0.0 else (case.lo, case.hi)
    y, g = np.where(rng.random(600) < 0.4, ends[1], ends[0]), rng.random(600) < 0.5
    right = case.prop.solve(y)
    p = np.clip(np.full(600, right), *case.prop.facts(*ends).range)
    audited = mv.audit(y, p, groups=[g], property=case.prop)
    by_hand = [np.mean(case.prop.identify(p[rows], y[rows])) for rows in (np.ones(600, dtype=bool), g)]
    weights = [1.0, g.mean()]
    for found, mean_v, weight in zip(audited.table["error"], by_hand, weights, strict=True):
        assert found == pytest.approx(weight * mean_v**2, rel=1e-6, abs=1e-12)  # one level: every prediction is the same
    fitted = mv.multicalibrate(y, p, groups=[g], property=case.prop)
    assert np.isfinite(fitted.predict(p, groups=[g])).all()
