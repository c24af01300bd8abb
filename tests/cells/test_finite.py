"""The limit without approximation holds always; the other is tight, and says for which laws."""

from __future__ import annotations

import numpy as np

import multivalid as mv
from multivalid.cells.chance import evidence, findings
from multivalid.cells.finite import finite_limits
from tests.cells.tabulation import tabulate


def test_it_holds_and_is_looser():
    rng = np.random.default_rng(0)
    held = tight = 0
    for _ in range(60):
        f = rng.uniform(0, 0.04, 3000)
        y = (rng.random(3000) < 0.5 * f).astype(float)
        group = rng.random(3000) < 0.3
        law, sums = tabulate(y, f, [group])
        truth = np.mean((0.5 * f) ** 2)  # at least as large as with levels
        rate = np.clip(sums["v"] / np.maximum(sums["rows"], 1) + 1 - sums["ur"] / np.maximum(sums["rows"], 1), 0, 1)
        finite = finite_limits(sums, rate * (1 - rate), 1.0, 1.0).max()
        asymptotic = findings([evidence(law, sums)])[0].limit.max()
        held += finite >= truth
        tight += asymptotic >= 0.99 * truth
        assert finite > asymptotic
    assert held == 60
    assert tight >= 53


def test_small_cells_have_no_variance_of_their_own():
    one = np.ones((3, 1))
    wide = finite_limits({"rows": one, "v": 0 * one}, 0 * one, 1.0, 1.0)
    assert wide[0] > 1  # three rows prove nothing


def test_an_audit_states_it_where_v_has_a_known_range():
    rng = np.random.default_rng(1)
    f = rng.uniform(0, 1, 20_000)
    y, group = (rng.random(20_000) < 0.8 * f).astype(float), rng.random(20_000) < 0.3
    found = mv.audit(y, f, groups=[group])
    truth = float(np.mean((0.2 * f) ** 2))
    assert truth <= found.holdout_bound[0] < found.finite_bound[0] < 4 * truth
    limit = mv.audit(f * rng.random(20_000), np.full(20_000, 0.5), groups=[group], property="quantile:0.9")
    assert limit.holdout_bound[0] < limit.finite_bound[0]
    for options in ({"property": "expectile:0.7"}, {"sample_weight": 1 + f}, {"cluster": np.arange(20_000) // 20}):
        assert np.isnan(mv.audit(y + 0.5 * f, f, groups=[group], **options).finite_bound[0])
    assert np.isnan(mv.audit(y, f, groups=[group], sample_weight=1 + f).finite_bound[0])
