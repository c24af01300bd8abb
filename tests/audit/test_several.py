"""Several quantiles, several classes: each coordinate as if audited alone, with one correction over all."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import multivalid as mv

rng = np.random.default_rng(0)
Y = rng.gamma(2.0, size=300)
SAID = np.stack([np.quantile(Y, 0.1) + 0.1 * rng.random(300), np.full(300, np.quantile(Y, 0.7))], axis=1)
GROUP, WEIGHT = rng.random(300) < 0.3, rng.choice([0.0, 1.0, 3.0], 300)


def test_every_coordinate_is_that_of_its_own_audit():
    found = mv.audit(Y, SAID, groups=[GROUP], property=mv.Quantiles([0.1, 0.9]), sample_weight=WEIGHT)
    alone = [
        mv.audit(Y, SAID[:, k], groups=[GROUP], property=f"quantile:{tau}", sample_weight=WEIGHT)
        for k, tau in enumerate((0.1, 0.9))
    ]
    for one, key in zip(alone, found.property.keys, strict=True):
        for name in ("error", "value", "prediction", "debiased", "p_value"):
            np.testing.assert_array_equal(found.table[f"{key}_{name}"], one.table[name])
        assert (found.table[f"{key}_p_adjusted"] >= one.table["p_adjusted"] - 1e-12).all()
    assert found.error == max(one.error for one in alone)
    assert "off beyond chance" in found.verdict
    assert all(key in found.summary() for key in found.property.keys)
    assert set(found.cells["coordinate"]) == set(found.property.keys)


def test_rows_of_an_engine_are_fetched():
    frame = pl.DataFrame({"y": Y, "a": SAID[:, 0], "b": SAID[:, 1], "g": GROUP})
    memory, lazy = (
        mv.audit("y", ["a", "b"], data=one, groups=["g"], property="quantiles:0.1,0.9") for one in (frame, frame.lazy())
    )
    assert lazy.error == pytest.approx(memory.error, rel=1e-12)


def test_classes():
    code = rng.integers(0, 3, 200)
    found = mv.audit(code, np.full((200, 3), 1 / 3), groups=[], property=mv.Classes([0, 1, 2]))
    shares = np.bincount(code) / 200
    assert [part.table["value"][0] for part in found.parts] == pytest.approx(shares)
