"""What the theorems promise holds on data, for every property."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import multivalid as mv
from tests.batch.problems import PROPERTIES, Problem, problem
from tests.reference.batch_naive import worst_error

REACHED = ("converged", "vacuous", "uncalibrated")  # the last: reached, and groups are off beyond chance all the same


def calibrated(data: Problem, prop: Any, **options: Any) -> mv.Calibration:
    return mv.multicalibrate(data.y, data.f, groups=data.groups, sample_weight=data.w, property=prop, **options)


def check_promises(data: Problem, prop: Any, fitted: mv.Calibration) -> None:
    """Every number of the certificate, recomputed from predictions and labels alone."""
    made = fitted.certificate
    predictions = fitted.predict(data.f, groups=data.groups)
    there = data.w > 0  # the others play no part in the fit
    np.testing.assert_array_equal(predictions[there], fitted.grid.points[fitted.levels])  # replay is exact on the rows fitted
    # Fitted groups may be fewer (empty or doubled ones are left out); the error over all masks is the same.
    error = worst_error(prop, fitted.grid.points, data.y[there], data.w[there], data.masks[there], fitted.levels)
    assert error == pytest.approx(made.error, rel=1e-8, abs=1e-13)
    if made.status in REACHED:
        assert error <= made.alpha * (1 + 1e-9)
        assert (made.status == "vacuous") == (made.trivial is not None and made.alpha > made.trivial)
        assert made.status == "vacuous" or "On the rows fitted: " in made.note
    else:
        assert made.status == "blocked"
        assert made.blocked
        assert error > made.alpha
    size = max(1.0, np.abs(made.potential).max())
    assert made.potential.size == made.updates + 1 == len(fitted.patches) + 1
    assert made.potential[-1] == pytest.approx(np.average(prop.score(predictions, data.y), weights=data.w), abs=1e-10 * size)
    start = fitted.grid.points[fitted.grid.round(data.f)]
    assert (
        made.initial == made.potential[0] == pytest.approx(np.average(prop.score(start, data.y), weights=data.w), abs=1e-10 * size)
    )
    if made.updates:
        assert (np.diff(made.potential) < 0).all()
        assert made.least_drop >= made.drop_bound * (1 - 1e-6) - 1e-14 * size
    else:
        assert np.isnan(made.least_drop)
    assert made.update_bound is None or made.updates <= made.update_bound
    assert made.optimal <= made.potential[-1] + 1e-10 * size


@pytest.mark.parametrize("name", PROPERTIES)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(2, 60),
    groups=st.integers(1, 4),
    m=st.integers(1, 25),
    factor=st.sampled_from([1.0, 0.6, 5.0]),
    unweighted=st.sampled_from([0.0, 0.3]),
)
def test_bounds_of_the_theorem_are_never_exceeded(
    name: str, seed: int, rows: int, groups: int, m: int, factor: float, unweighted: float
) -> None:
    prop = PROPERTIES[name]
    data = problem(seed, rows, groups, unweighted=unweighted)
    first = calibrated(data, prop, mode="theorem", m=m)
    check_promises(data, prop, first)
    if factor != 1.0:  # another error asked for on the same grid
        check_promises(data, prop, calibrated(data, prop, mode="theorem", m=m, alpha=first.certificate.alpha * factor))
    if prop.facts(0, 1).lipschitz is not None:
        assert first.certificate.status in REACHED
        assert not first.certificate.blocked


@pytest.mark.parametrize("name", PROPERTIES)
@pytest.mark.parametrize("mode", ["theorem", "paper"])
def test_converged_means_within_alpha(name: str, mode: str) -> None:
    prop = PROPERTIES[name]
    for seed in range(3):
        data = problem(seed, 400, unweighted=0.1)
        fitted, there = calibrated(data, prop, mode=mode, m=30, alpha=None if mode == "theorem" else 0.005), data.w > 0
        error = worst_error(prop, fitted.grid.points, data.y[there], data.w[there], data.masks[there], fitted.levels)
        assert (error <= fitted.certificate.alpha * (1 + 1e-9)) == (fitted.certificate.status in REACHED)
        assert fitted.certificate.updates > 0


class TestPaperMode:
    def test_one_update_to_the_right_level(self) -> None:
        y, f = np.full(50, 0.9), np.full(50, 1 / 21)
        fitted = mv.multicalibrate(y, f, groups=[], mode="paper", m=20)
        made = fitted.certificate
        assert (made.status, made.updates, made.update_bound) == ("converged", 1, 145)
        assert fitted.predict(f) == pytest.approx(19 / 21)
        assert made.least_drop == pytest.approx(0.36326, abs=1e-5)
        assert made.drop_bound == pytest.approx(1 / 400)
        assert made.alpha == pytest.approx(0.2)

    def test_a_jump_of_v_blocks_instead_of_looping(self) -> None:
        y, f = np.full(40, 0.5), np.full(40, 1 / 21)
        fitted = mv.multicalibrate(y, f, groups=[], property="median", mode="paper", m=20, alpha=0.2, lipschitz=1.0)
        made = fitted.certificate
        assert made.status == "blocked"
        assert fitted.predict(f) == pytest.approx(10 / 21)
        (cell,) = made.blocked
        assert (cell.level, cell.jump) == (9, 1.0)
        assert cell.lipschitz == pytest.approx(21.0)
        assert "for ever" in made.note
        assert "cannot be improved" in made.summary()

    def test_printed_alpha_is_too_wide_to_do_anything(self) -> None:
        data = problem(0, 300)
        assert calibrated(data, "mean", mode="paper", m=20).certificate.updates == 0

    def test_bounds_follow_the_units(self) -> None:
        y, f = np.full(50, 0.9), np.full(50, 1 / 21)
        y[0], f[0] = 0.0, 0.0
        y[1] = 1.0
        unit = mv.multicalibrate(y, f, groups=[], mode="paper", m=20).certificate
        wide = mv.multicalibrate(100 * y, 100 * f, groups=[], mode="paper", m=20).certificate
        assert wide.updates == unit.updates
        assert wide.update_bound == unit.update_bound
        assert wide.alpha == pytest.approx(1e4 * unit.alpha)
        assert wide.drop_bound == pytest.approx(1e4 * unit.drop_bound)


@pytest.fixture(scope="module")
def data() -> Problem:
    """20,000 rows, 13 groups."""
    rng = np.random.default_rng(1)
    masks = rng.random((20_000, 13)) < 0.4
    f = rng.uniform(0.05, 0.95, 20_000)
    y = np.clip(f + 0.1 * masks[:, 0] - 0.08 * masks[:, 1] + rng.normal(0, 0.15, 20_000), 0, 1)
    return Problem(y, f, np.ones(20_000), np.column_stack([np.ones(20_000, bool), masks]))


class TestReferenceRuns:
    """The constants of the worked examples with 40 levels."""

    def test_mean(self, data: Problem) -> None:
        made = calibrated(data, "mean", mode="theorem", m=40).certificate
        assert made.alpha == pytest.approx(0.005)
        assert made.drop_bound == pytest.approx(4 / 40**3 / 4)
        assert made.status in REACHED
        assert 0 < made.updates <= made.update_bound <= 32_000
        assert made.error <= 0.005
        assert made.least_drop >= 1.5625e-5

    def test_quantile_with_a_known_density(self, data: Problem) -> None:
        made = calibrated(data, "quantile:0.9", mode="theorem", m=40, lipschitz=4.0).certificate
        assert made.alpha == pytest.approx(0.08)
        assert made.status in REACHED
        assert made.error <= 0.08


class TestAlphaAndGrid:
    def test_alpha_chooses_the_levels(self) -> None:
        made = mv.multicalibrate([0.0, 1.0], [0.5, 0.5], groups=[], mode="theorem", alpha=0.005)
        assert len(made.grid) == 40
        assert made.certificate.alpha == 0.005

    def test_alpha_out_of_reach_names_a_grid_that_reaches(self) -> None:
        with pytest.raises(mv.MultivalidError, match=r"alpha=0\.005 is out of reach.*at least m = 40 levels"):
            mv.multicalibrate([0.0, 1.0], [0.5, 0.5], groups=[], mode="theorem", m=20, alpha=0.005)
        assert mv.multicalibrate([0.0, 1.0], [0.5, 0.5], groups=[], mode="theorem", m=40, alpha=0.005)

    @pytest.mark.parametrize("grid", [mv.Grid.closed(0, 1, 12), mv.Grid([0.1, 0.2, 0.5, 0.8], lo=0, hi=1), mv.Grid.paper(9)])
    def test_grids_of_any_shape_keep_the_promise(self, grid: mv.Grid) -> None:
        for name, prop in PROPERTIES.items():
            if name == "ratio":  # of labels in [0, 1] it has the same range, but not of labels at 0
                continue
            data = problem(5)
            lo, hi = prop.facts(0.0, 1.0).range
            scaled = mv.Grid(lo + (hi - lo) * grid.points, lo=lo, hi=hi)
            data.f = np.clip(data.f, lo, hi)
            check_promises(data, prop, calibrated(data, prop, mode="theorem", grid=scaled))

    def test_a_grid_need_only_cover_the_labels_there_are(self) -> None:
        grid = mv.Grid.uniform(0.2, 0.8, 10)
        assert mv.multicalibrate([0.3, 0.7], [0.3, 0.3], groups=[], mode="theorem", grid=grid).grid == grid

    def test_a_wide_grid_widens_the_bound(self) -> None:
        y, f = np.array([0.3, 0.7]), np.array([0.3, 0.3])
        narrow = mv.multicalibrate(y, f, groups=[], mode="theorem", grid=mv.Grid.uniform(0, 1, 10)).certificate
        wide = mv.multicalibrate(y, f, groups=[], mode="theorem", grid=mv.Grid.uniform(-9, 10, 10)).certificate
        assert wide.sample_bound > narrow.sample_bound


class TestEdges:
    def test_one_level_one_row(self) -> None:
        for prop in PROPERTIES.values():
            fitted = mv.multicalibrate([0.5], [0.9], groups=[], property=prop, mode="theorem", m=1)
            assert fitted.certificate.updates == 0
            assert fitted.predict([0.1]) == fitted.grid.points

    @pytest.mark.parametrize("label", [0.0, 0.5, 1.0, 7.0, -3.0])
    def test_labels_that_are_all_equal(self, label: float) -> None:
        for name in ("mean", "quantile:0.9", "expectile:0.2", "huber:0.1", "lp_quantile:3:0.4"):
            fitted = mv.multicalibrate(np.full(9, label), np.full(9, label), groups=[], property=name, mode="theorem", m=10)
            assert abs(fitted.predict([label])[0] - label) <= fitted.grid.gap

    def test_a_large_offset_costs_no_digits(self) -> None:
        data = problem(6, 300)
        for name in ("mean", "quantile:0.9", "expectile:0.8", "huber:0.2"):
            near = calibrated(data, name, mode="theorem", grid=mv.Grid.closed(0, 1, 17))
            data_far = Problem(np.round(data.y * 2**20) / 2**20 + 2.0**30, data.f + 2.0**30, data.w, data.masks)
            far = calibrated(data_far, name, mode="theorem", grid=mv.Grid.closed(2.0**30, 2.0**30 + 1, 17))
            assert far.patches == near.patches

    def test_rows_in_no_group_are_handled_like_all_others(self) -> None:
        y, f = np.array([0.2] * 10 + [0.8] * 10), np.full(20, 0.5)
        group = np.arange(20) < 10
        fitted = mv.multicalibrate(y, f, groups=[group], mode="theorem", m=40)
        outside = fitted.predict([0.5], groups=[np.array([False])])
        assert abs(outside[0] - 0.8) <= fitted.grid.gap

    def test_rows_without_weight_do_not_count_but_move_along(self) -> None:
        data = problem(7, 300, unweighted=0.2)
        kept = data.w > 0
        outlier = data.y.copy()
        outlier[~kept] = 1000.0
        with_zeros = mv.multicalibrate(outlier, data.f, groups=data.groups, sample_weight=data.w, mode="theorem", m=15)
        without = mv.multicalibrate(
            data.y[kept], data.f[kept], groups=data.groups[kept], sample_weight=data.w[kept], mode="theorem", m=15
        )
        assert with_zeros.grid == without.grid
        assert with_zeros.patches == without.patches
        moved = with_zeros.predict(data.f, groups=data.groups)
        np.testing.assert_array_equal(moved[kept], with_zeros.grid.points[with_zeros.levels])
        assert moved.shape == data.f.shape

    def test_a_cell_of_rows_without_weight(self) -> None:
        for mode in ("theorem", "paper"):
            fitted = mv.multicalibrate(
                [0.0, 1.0, 0.4], [0.9, 0.9, 0.1], groups=[], sample_weight=[1, 1, 0], mode=mode, m=10, alpha=0.1
            )
            assert fitted.certificate.status == "converged"

    def test_blocked_cells_do_no_harm_while_the_error_is_within_alpha(self) -> None:
        y, f = np.array([0.5] * 5 + [0.2] * 95), np.array([0.45] * 5 + [0.25] * 95)
        fitted = mv.multicalibrate(y, f, groups=[], property="median", mode="theorem", m=10, alpha=0.5, lipschitz=0.05)
        assert fitted.certificate.status == "vacuous"  # as a constant promises no more than .25; blocked it is not
        assert fitted.certificate.blocked
        assert fitted.certificate.error <= 0.5

    def test_a_steeper_cell_than_assumed_is_noted(self) -> None:
        made = mv.multicalibrate(
            [0.5] * 9, [0.1] * 9, groups=[], property="median", mode="theorem", m=10, lipschitz=0.1
        ).certificate
        assert "steeper than the L = 0.1 assumed" in made.note
