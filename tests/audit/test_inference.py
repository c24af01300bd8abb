"""The test is sized as it says, the debiased error is unbiased, and Holm's correction is Holm's."""

from __future__ import annotations

import numpy as np
import pytest

import multivalid as mv
from multivalid.cells import inference
from multivalid.cells.adjust import holm
from tests.reference import audit_naive


def binary(rng, rows):
    truth = rng.random(rows)
    return (rng.random(rows) < truth).astype(float), truth


def rare(rng, rows):
    truth = rng.uniform(0, 0.05, rows)
    return (rng.random(rows) < truth).astype(float), truth


def normal(rng, rows):
    centre = rng.random(rows)
    return centre + 0.3 * rng.standard_normal(rows), centre + 0.3 * 1.2815515655446004


SETTINGS = {
    "binary": (binary, "mean", mv.Grid.uniform(0, 1, 20)),
    "rare events": (rare, "mean", mv.Grid.uniform(0, 0.05, 20)),
    "quantile 0.9": (normal, "quantile:0.9", None),
}


def draws(name, count, rows=2000, groups=5, weighted=False, seed=1):
    """Audits of the truth itself, with disjoint groups (so that their p-values are independent)."""
    make, prop, grid = SETTINGS[name]
    rng = np.random.default_rng(seed)
    for _ in range(count):
        y, truth = make(rng, rows)
        of = rng.integers(0, groups, rows)
        weight = rng.exponential(1.0, rows) if weighted else None
        yield mv.audit(y, truth, groups=[of == k for k in range(groups)], property=prop, grid=grid, sample_weight=weight)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", SETTINGS)
def test_p_values_under_the_null(name, weighted):
    p = np.concatenate([found.table["p_value"][1:] for found in draws(name, 160, weighted=weighted)])
    # 800 independent p-values: the rejection rate at 5 % has standard error 0.8 %; a little conservative is fine, liberal is not.
    # (Twice the smaller of two p-values is conservative, most of all near 1.)
    assert 0.01 <= (p < 0.05).mean() <= 0.085
    assert (p < 0.001).mean() <= 0.01
    assert 0.45 < p.mean() < 0.75


def test_a_small_bias_is_found():
    rng = np.random.default_rng(2)
    y, truth = binary(rng, 20_000)
    group = rng.random(20_000) < 0.25
    found = mv.audit(y, np.clip(truth + 0.05 * group, 0, 1), groups=[group, ~group])
    assert found.table["p_adjusted"][1] < 1e-4
    assert found.table["p_adjusted"][2] > 0.05
    assert found.verdict.startswith(("1 of 3", "2 of 3"))


def test_outcomes_that_never_vary_are_judged_by_their_number():
    few, many = (mv.audit(np.ones(n), np.full(n, 0.3), groups=[]).table["p_value"][0] for n in (2, 200))
    assert not few <= 0.01  # by luck once in eleven
    assert many < 1e-12


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_debiased_error_is_unbiased(weighted):
    # A known bias of 0.1 in group 0 and none elsewhere; the plain error is too large by its noise, the debiased one is not.
    rng = np.random.default_rng(3)
    plain, debiased = [], []
    for _ in range(400):
        level = rng.integers(0, 4, 200) / 4
        group = rng.random(200) < 0.5
        y = level + 0.1 * group + rng.standard_normal(200) * (1 + level)
        weight = rng.exponential(1.0, 200) if weighted else None
        table = mv.audit(y, level, groups=[group], sample_weight=weight).table
        share = table["weight"][1] / table["weight"][0]
        plain.append(table["error"][1] - 0.01 * share)
        debiased.append(table["debiased"][1] - 0.01 * share)
    plain, debiased = np.array(plain), np.array(debiased)
    error = debiased.std() / len(debiased) ** 0.5
    assert abs(debiased.mean()) < 3.5 * error
    assert plain.mean() > 20 * error


def test_variance_of_equal_weights_is_the_textbook_one():
    v = np.random.default_rng(4).normal(size=9)
    column = np.array([[9.0]])
    got = inference.mean_variance(column, 2 * column, np.array([[v.mean()]]), 4 * column, np.array([[4 * (v**2).sum()]]))
    assert got[0, 0] == pytest.approx(v.var(ddof=1) / 9, rel=1e-12)


def test_holm():
    rng = np.random.default_rng(5)
    for size in (1, 2, 7, 40):
        p = rng.random(size) ** 3
        p[: size // 3] = p[0]  # ties
        np.testing.assert_allclose(holm(p), audit_naive.holm(list(p)), rtol=1e-15)
    np.testing.assert_allclose(holm(np.array([0.01, 0.02, 0.9])), [0.03, 0.04, 0.9])


@pytest.mark.parametrize("steep", [1.0, 2.0, 6.0, np.inf])
def test_intervals_hold_for_over_confident_predictions(steep):
    """0.01 and 0.99 said where the chances are 0.3 and 0.7: outcomes vary more than any tilt of the chances said."""
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        z, group = rng.normal(-1, 1.5, 1500), rng.random(1500) < 0.2
        truth = 1 / (1 + np.exp(-z))
        said = (z > 0).astype(float) if steep == np.inf else 1 / (1 + np.exp(-steep * z))
        table = mv.audit((rng.random(1500) < truth) * 1.0, said, groups=[group]).table
        right = np.array([(said - truth).mean(), (said - truth)[group].mean()])
        held += bool(((table["gap_low"] <= right) & (right <= table["gap_high"])).all())
    assert held >= 52  # .95 asked for: 57 expected


def test_predictions_outside_the_labels_range_keep_their_gap_in_its_interval():
    rng = np.random.default_rng(0)
    y = (rng.random(500) < 0.5) * 1.0
    for said in (1.5, 1.0, 0.0, -2.0):
        table = mv.audit(y, np.full(500, said), groups=[]).table
        assert table["gap_low"][0] < said - y.mean() < table["gap_high"][0]
        assert table["gap_high"][0] - table["gap_low"][0] < 0.2
        assert table["p_adjusted"][0] == 0


def test_predictions_that_are_exactly_right_are_not_off_and_one_side_cannot_tell():
    y = np.full(200, 2.0)
    right = mv.audit(y, y, groups=[])
    assert right.table["p_value"][0] == 1.0
    assert right.verdict == "The one group is not off beyond chance at 5 %."
    # No outcome above the prediction: a rare large one may be to come (claims), so nothing is said of chance, nor that rows are few.
    high = mv.audit(y, y + 0.5, groups=[])
    assert np.isnan(high.table["p_value"][0])
    assert "nearly all of them on one side" in high.summary()


def test_a_sample_of_claims_without_a_claim_is_no_sample_of_events():
    table = mv.audit(np.zeros(50), np.full(50, 3.0), groups=[]).table
    assert np.isnan(table["p_value"][0])  # a claim of 300 in a hundred rows would make it right
    assert mv.audit(np.zeros(50), np.full(50, 0.5), groups=[]).table["p_value"][0] < 1e-6


def test_a_few_predictions_outside_the_range_are_not_certainly_wrong():
    """A straight line through events says 1.03 or -0.02 at its ends: off by that much, and no more."""
    rng = np.random.default_rng(2)
    f = rng.uniform(0.1, 0.9, 2000)
    y = (rng.random(2000) < f) * 1.0
    f[:40], y[:40] = 1.03, 1.0
    f[40:80], y[40:80] = -0.02, 0.0
    few = np.arange(2000) < 300
    table = mv.audit(y, f, groups=[few]).table
    assert (table["p_adjusted"] > 0.05).all()
    gap = np.array([(f - y).mean(), (f - y)[few].mean()])
    np.testing.assert_allclose(table["gap"], gap, atol=1e-12)
    assert (table["gap_low"] < gap).all()
    assert (gap < table["gap_high"]).all()
    far = mv.audit(np.append(y, np.zeros(50)), np.append(f, np.full(50, 40.0)), groups=[np.arange(2050) >= 1900])
    assert far.table["p_value"][1] == 0.0
    assert (far.table["gap_low"] < far.table["gap"]).all()
    assert (far.table["gap"] < far.table["gap_high"]).all()


def test_certain_predictions_that_are_wrong_both_ways_are_off():
    y = np.repeat([0.0, 1.0], 50)
    for said in (1 - y, np.where(y == 1, 3.0, -2.0)):  # no gap on average
        assert mv.audit(y, said, groups=[]).off == ["everyone"]
    noisy = np.where(y == 1, np.float32(1.0000001), 0.0)
    assert mv.audit(y, y, groups=[]).off == []
    assert np.isfinite(mv.audit(y, noisy, groups=[]).table["gap_high"][0])
