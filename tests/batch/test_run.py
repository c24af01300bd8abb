"""Budgets, progress, interruption, and Algorithm 2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import multivalid as mv
from multivalid.batch import algorithm
from multivalid.batch.patches import predict, replay
from multivalid.batch.state import Patch, State
from tests.batch.problems import PROPERTIES, problem
from tests.reference.batch_naive import cell_table


def long_run(**options: Any) -> mv.Calibration:
    data = problem(0, 500)
    return mv.multicalibrate(data.y, data.f, groups=data.groups, mode="theorem", m=60, **options)


class TestBudget:
    def test_stops_after_so_many_updates_on_the_way_of_the_full_run(self) -> None:
        full = long_run()
        assert full.certificate.updates > 20
        short = long_run(max_updates=7)
        assert short.certificate.status == "budget"
        assert short.patches == full.patches[:7]
        np.testing.assert_allclose(short.certificate.potential, full.certificate.potential[:8])

    def test_a_budget_that_suffices_changes_nothing(self) -> None:
        full = long_run()
        same = long_run(max_updates=full.certificate.updates)
        assert (same.certificate.status, same.patches) == (full.certificate.status, full.patches)
        assert full.certificate.status in ("converged", "vacuous")

    def test_no_update_at_all(self) -> None:
        fitted = long_run(max_updates=0)
        assert (fitted.certificate.status, fitted.patches) == ("budget", [])
        assert np.isnan(fitted.certificate.least_drop)


class TestProgress:
    def test_a_callback_sees_updates_error_and_potential(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(algorithm, "REPORT_EVERY", 5)
        seen: list[tuple[int, float, float]] = []
        fitted = long_run(progress=lambda *numbers: seen.append(numbers))
        updates = fitted.certificate.updates
        assert [count for count, _, _ in seen] == [*range(5, updates + 1, 5), updates]
        assert seen[-1][1] == pytest.approx(fitted.certificate.error)
        assert (np.diff([potential for *_, potential in seen[:-1]]) < 0).all()
        assert seen[-1][2] == pytest.approx(fitted.certificate.potential[-1])

    def test_true_writes_to_standard_error(self, capsys: pytest.CaptureFixture[str]) -> None:
        fitted = long_run(progress=True)
        assert f"{fitted.certificate.updates} updates, worst error" in capsys.readouterr().err


class TestInterruption:
    def test_ctrl_c_raises_and_returns_what_is_done_if_asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(algorithm, "REPORT_EVERY", 5)

        def stop(updates: int, error: float, potential: float) -> None:
            if updates >= 10:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            long_run(progress=stop)
        fitted = long_run(progress=stop, on_interrupt="return")
        assert fitted.certificate.status == "budget"
        assert fitted.patches == long_run().patches[:10]
        self.is_consistent(fitted)

    @pytest.mark.parametrize("before", [True, False])
    def test_in_the_middle_of_a_move(self, monkeypatch: pytest.MonkeyPatch, before: bool) -> None:
        honest, calls = State.move, [0]

        def move(self: State, cell: Any, level: int, to: int) -> Any:
            calls[0] += 1
            if calls[0] == 8 and before:
                self.level[cell.atoms[:1]] = to  # half done
                self.mass[to] += 1.0
                raise KeyboardInterrupt
            touched = honest(self, cell, level, to)
            if calls[0] == 8:
                raise KeyboardInterrupt
            return touched

        monkeypatch.setattr(State, "move", move)
        fitted = long_run(on_interrupt="return")
        assert len(fitted.patches) == 7
        self.is_consistent(fitted)

    @staticmethod
    def is_consistent(fitted: mv.Calibration) -> None:
        data = problem(0, 500)
        assert fitted.certificate.status == "budget"
        assert "Interrupted by Ctrl-C" in fitted.certificate.summary()
        assert fitted.certificate.potential.size == len(fitted.patches) + 1
        predictions = fitted.predict(data.f, groups=data.groups)
        np.testing.assert_array_equal(predictions, fitted.grid.points[fitted.levels])
        found = mv.audit(data.y, predictions, groups=data.groups, grid=fitted.grid)
        assert fitted.certificate.error == pytest.approx(found.error)
        assert fitted.certificate.potential[-1] == pytest.approx(np.mean((predictions - data.y) ** 2 / 2))


class TestAlgorithm2:
    @pytest.mark.parametrize("name", [name for name in PROPERTIES if PROPERTIES[name].facts(0.0, 1.0).lipschitz is not None])
    def test_groups_may_change_and_the_updates_stay_within_one_bound(self, name: str) -> None:
        prop = PROPERTIES[name]
        facts = prop.facts(0.0, 1.0)
        lipschitz, m = facts.lipschitz, 80
        grid = mv.Grid.uniform(*facts.range, m)
        threshold = 4 * lipschitz**2 * (facts.range.length / m) ** 2 / m
        data = problem(1, 200)
        levels, total = np.full(200, m - 1), 0  # as wrong as can be
        for seed in range(12):
            masks = np.random.default_rng(seed).random((200, 5)) < 0.4
            members = mv.Membership.from_dense(masks)
            levels, trace = mv.recalibrate(
                data.y, levels, members, property=prop, grid=grid, threshold=threshold, lipschitz=lipschitz, sample_weight=data.w
            )
            total += len(trace.patches)
            assert trace.status == "converged"
            every = np.column_stack([np.ones(200, bool), masks])
            mass, mean = cell_table(prop, grid.points, data.y, data.w, every, levels)
            open_cells = (mass * mean**2 >= threshold * (1 + 1e-9)) & (np.abs(mean) > 2 * lipschitz * grid.gap * (1 + 1e-9))
            assert not open_cells.any()
        assert 0 < total <= 4 * lipschitz * facts.span / threshold

    def test_a_cell_without_a_better_level_is_blocked(self) -> None:
        grid = mv.Grid.paper(20)
        everyone = mv.Membership.from_masks([np.ones(8, dtype=bool)], rows=8)
        levels, trace = mv.recalibrate(
            [0.5] * 8, [0] * 8, everyone, property=mv.Quantile(0.5), grid=grid, threshold=0.01, lipschitz=1.0
        )
        assert trace.status == "blocked"
        assert set(levels) <= {9, 10}

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"levels": [0, 9]}, "levels must be whole numbers from 0 to 3"),
            ({"levels": [0.0, 1.0]}, "levels must be whole numbers from 0 to 3"),
            ({"levels": [0]}, "levels has 1 rows but labels has 2"),
            ({"labels": [0.0, np.nan]}, "labels has 1 missing"),
            ({"threshold": 0.0}, "threshold must be positive"),
            ({"lipschitz": -1.0}, "lipschitz must be positive"),
            ({"sample_weight": [0.0, 0.0]}, "sample_weight is zero for every row"),
            ({"groups": mv.Membership.from_masks([np.ones(3, dtype=bool)], rows=3)}, "groups has 3 rows but labels has 2"),
        ],
    )
    def test_bad_input(self, change: dict[str, Any], message: str) -> None:
        options: dict[str, Any] = {
            "labels": [0.0, 1.0], "levels": [0, 1], "groups": mv.Membership.from_masks([np.ones(2, dtype=bool)], rows=2),
            "property": mv.Mean(), "grid": mv.Grid.uniform(0, 1, 4), "threshold": 0.01, "lipschitz": 1.0,
        }  # fmt: skip
        with pytest.raises(mv.MultivalidError, match=message):
            mv.recalibrate(**{**options, **change})


class TestReplay:
    def test_word_by_word_equals_row_by_row(self) -> None:
        rng = np.random.default_rng(0)
        for rows in (1, 63, 64, 65, 1000):
            masks = rng.random((rows, 5)) < 0.5
            members = mv.Membership.from_dense(masks)
            full = np.column_stack([np.ones(rows, bool), masks])
            for levels in (1, 2, 3, 17):
                level = rng.integers(0, levels, rows)
                patches = [Patch(*(int(v) for v in rng.integers(0, (6, levels, levels)))) for _ in range(40)]
                slow = level.copy()
                for group, source, target in patches:
                    slow[full[:, group] & (slow == source)] = target
                np.testing.assert_array_equal(replay(patches, level, levels, members), slow)

    @pytest.mark.parametrize(
        "grid", [mv.Grid.uniform(0, 1, 50), mv.Grid.closed(-3, 7, 17), mv.Grid.paper(20), mv.Grid([0.1, 0.2, 0.7]), mv.Grid([0.5]),
                 mv.Grid([0.0, 1.0]), mv.Grid.uniform(0, 1, 700), mv.Grid.uniform(1e9, 1e9 + 1, 30)],
    )  # fmt: skip
    def test_predictions_are_rounded_as_the_grid_rounds(self, grid: mv.Grid) -> None:
        rng = np.random.default_rng(0)
        edges = grid.boundaries
        values = np.concatenate([
            rng.uniform(grid.lo - 1, grid.hi + 1, 5000), grid.points, edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf),
            [1e308, -1e308, 0.0],
        ])  # fmt: skip
        everyone = mv.Membership.from_dense(np.zeros((values.size, 0), dtype=bool))
        np.testing.assert_array_equal(predict([], values, grid, everyone), grid.points[grid.round(values)])
