"""What the certificate of a single property says."""

from __future__ import annotations

import numpy as np

import multivalid as mv


def test_a_bound_above_a_constant_prediction_promises_nothing() -> None:
    """Three hundred rows: the bound for the population is above 1, which no number in [0, 1] can be off by; a large sample's is not."""
    rng = np.random.default_rng(0)
    f = rng.uniform(0.1, 0.9, 300)
    few = mv.multicalibrate((rng.random(300) < f).astype(float), f, groups=[rng.random(300) < 0.5], mode="theorem", m=20)
    assert few.certificate.sample_bound > few.certificate.trivial
    assert "nothing is promised" in few.certificate.summary()
    assert "at most" not in few.certificate.summary().split("On the population")[1]
