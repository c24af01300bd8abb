"""The limit without approximation holds always; the other is tight, and says for which laws."""

from __future__ import annotations

import numpy as np

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
