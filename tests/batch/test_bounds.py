"""The finite-sample calculators, and the held-out figures of a certificate."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

import multivalid as mv
from multivalid.batch import bounds
from tests.batch.problems import problem


class TestCalculators:
    def test_update_bound(self) -> None:
        assert bounds.update_bound(0.5, 0.0, 1.0, 4 / 40**3) == 32_000  # B·m³/L with B = 1/2, m = 40
        assert bounds.update_bound(0.2, 0.3, 1.0, 0.01) == 0  # rounding may put the start below the optimum

    def test_error_bound_is_8_l2_over_m2(self) -> None:
        for m in (5, 40, 300):
            assert bounds.error_bound(m, 4 * 2.0**2 / m**3, 2.0, 1 / m) == pytest.approx(8 * 2.0**2 / m**2)

    def test_generalisation_is_the_printed_formula(self) -> None:
        groups, m, updates, delta, n = 13, 40, 16, 0.1, 20_000
        effort = log(2 * groups / delta) + updates * log(groups * m**2)
        expected = (sqrt(9.1e-5) + 0.9 * (sqrt(m) + 3 * sqrt(2 * effort)) / sqrt(n)) ** 2
        found = bounds.generalisation(9.1e-5, rows=n, bound=0.9, levels=m, groups=groups, updates=updates, delta=delta)
        assert found == pytest.approx(expected, rel=1e-12)

    def test_generalisation_grows_with_what_was_tried_and_falls_with_rows(self) -> None:
        base = {"rows": 10_000, "bound": 1.0, "levels": 20, "groups": 10, "updates": 5}
        here = bounds.generalisation(0.001, **base)  # type: ignore[arg-type]
        for name in ("bound", "levels", "groups", "updates"):
            assert bounds.generalisation(0.001, **{**base, name: 2 * base[name]}) > here  # type: ignore[arg-type]
        assert bounds.generalisation(0.001, **{**base, "rows": 20_000}) < here  # type: ignore[arg-type]
        assert bounds.generalisation(0.001, **base, delta=0.01) > here  # type: ignore[arg-type]

    def test_held_out_figure(self) -> None:
        """50,000 rows certify .0177 where the truth is .0060: twelve groups of ten levels, mean, δ = 0.1."""
        found = bounds.generalisation(0.0060, rows=50_000, bound=1.0, levels=10, groups=12, delta=0.1)
        assert 0.015 < found < 0.020

    def test_halting(self) -> None:
        assert bounds.halting_bound(lipschitz=1.0, span=0.5, levels=20) == 440
        most = bounds.halting_bound(lipschitz=1.0, span=0.5, levels=5)
        effort = log(2 * 29 * 5 * 3 / 0.05) + most * log(3 * 25)
        assert bounds.sample_size(lipschitz=1.0, bound=1.0, span=0.5, levels=5, groups=3) == pytest.approx(32 * 625 * effort, abs=1)

    def test_every_constant_has_its_place(self) -> None:
        """Nothing here is 1, so that no factor can hide."""
        assert bounds.update_bound(0.9, 0.2, lipschitz=3.0, threshold=0.05) == 168  # 4·3·0.7/0.05
        assert bounds.error_bound(7, 0.01, lipschitz=3.0, gap=0.2, mass=0.25) == pytest.approx(7 * 0.01 + 4 * 9 * 0.04 * 0.25)
        assert bounds.halting_bound(lipschitz=4.0, span=0.7, levels=10) == 38  # 2.2·0.7·100/4 = 38.5
        assert bounds.halting_bound(lipschitz=2.2, span=0.5, levels=10) == 50  # a whole number is not lost to rounding
        most = bounds.halting_bound(lipschitz=4.0, span=0.7, levels=6)
        assert most == 13  # 13.86
        effort = log(2 * 40 * 6 * 5 / 0.1) + 13 * log(5 * 36)
        needed = bounds.sample_size(lipschitz=4.0, bound=1.5, span=0.7, levels=6, groups=5, delta=0.1)
        assert needed == int(np.ceil(32 * 2.25 * 1296 * effort / 16))

    @pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, float("nan"), "x"])
    def test_delta(self, delta: object) -> None:
        with pytest.raises(mv.MultivalidError, match="delta must be"):
            bounds.generalisation(0.1, rows=10, bound=1.0, levels=2, groups=1, delta=delta)  # type: ignore[arg-type]


def test_held_out_bound_is_not_violated() -> None:
    """300 draws at δ = 0.1 of a predictor whose error on the population is known exactly."""
    rng = np.random.default_rng(0)
    levels = np.array([0.1, 0.4, 0.8])
    truth = np.array([[0.2, 0.35, 0.8], [0.1, 0.6, 0.7]])  # by group, by level
    # Two equally likely groups and the population, levels uniform: p = 1/6 for a group's cell, 1/3 for the population's.
    by_group = ((levels - truth) ** 2 / 6).sum(axis=1)
    everyone = ((levels - truth.mean(axis=0)) ** 2 / 3).sum()
    worst = max(by_group.max(), everyone)
    violations = 0
    for _ in range(300):
        n = int(rng.choice([200, 1000, 5000]))
        group, level = rng.integers(0, 2, n), rng.integers(0, 3, n)
        y = (rng.random(n) < truth[group, level]).astype(float)
        found = mv.audit(y, levels[level], groups=[group == 0, group == 1], grid=mv.Grid(levels))
        bound = bounds.generalisation(found.error, rows=n, bound=1.0, levels=3, groups=3, delta=0.1)
        violations += worst > bound
    assert violations == 0


class TestHoldout:
    @pytest.fixture
    def fitted(self) -> mv.Calibration:
        data = problem(2, 600)
        return mv.multicalibrate(
            data.y, data.f, groups=data.groups, sample_weight=data.w, mode="theorem", m=20, holdout=np.arange(600) % 3 == 0
        )

    def test_figures_are_those_of_an_audit_of_the_rows_held_out(self, fitted: mv.Calibration) -> None:
        data, out = problem(2, 600), np.arange(600) % 3 == 0
        found = fitted.audit(data.y[out], data.f[out], groups=data.groups[out], sample_weight=data.w[out])
        made = fitted.certificate
        assert made.holdout_error == pytest.approx(found.error)
        assert made.holdout_debiased == pytest.approx(found.table["debiased"].max())
        assert made.holdout_bound == pytest.approx(found.holdout_bound[0])
        assert made.holdout_error > made.error
        assert made.holdout_debiased < made.holdout_bound
        assert "On rows held out" in made.summary()

    def test_rows_held_out_are_not_used(self, fitted: mv.Calibration) -> None:
        data, kept = problem(2, 600), np.arange(600) % 3 != 0
        alone = mv.multicalibrate(
            data.y[kept], data.f[kept], groups=data.groups[kept], sample_weight=data.w[kept], mode="theorem", m=20
        )
        assert alone.patches == fitted.patches
        assert alone.certificate.holdout_error is None
        assert alone.certificate.sample_bound == fitted.certificate.sample_bound
        assert "hold rows out" in alone.certificate.summary()

    def test_a_share_is_drawn_at_random_but_reproducibly(self) -> None:
        data = problem(2, 600)
        made = [
            mv.multicalibrate(data.y, data.f, groups=data.groups, mode="theorem", m=20, holdout=0.3, random_state=seed).certificate
            for seed in (0, 0, 1)
        ]
        assert made[0].holdout_error == made[1].holdout_error != made[2].holdout_error

    @pytest.mark.parametrize(
        ("holdout", "message"),
        [
            (1.5, "holdout must be strictly between 0 and 1"),
            (0.001, "leaves no rows held out; there are 20 rows"),
            (np.ones(20, dtype=bool), "leaves no rows to fit"),
            (np.ones(19, dtype=bool), "holdout must be a share of the rows or 20 booleans"),
            (np.arange(20), "holdout must be a share of the rows or 20 booleans"),
        ],
    )
    def test_bad_holdout(self, holdout: object, message: str) -> None:
        data = problem(2, 20)
        with pytest.raises(mv.MultivalidError, match=message):
            mv.multicalibrate(data.y, data.f, groups=[], holdout=holdout)
