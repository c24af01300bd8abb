"""The fast algorithm makes the very moves that the obvious one makes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import multivalid as mv
from multivalid.atoms.response import response
from multivalid.atoms.table import build
from multivalid.batch import bundles, label_sums
from multivalid.batch.algorithm import run
from multivalid.batch.control import Control
from multivalid.batch.rules import PrintedRule, TheoremRule
from multivalid.batch.state import State
from multivalid.groups.membership import Membership
from multivalid.properties.parse import CATALOGUE
from tests.batch.problems import BY_NAME, PROPERTIES, Problem, problem
from tests.reference import batch_naive

CLEAR = 1e-9  # choices closer than this may go either way by rounding


def test_every_name_of_the_catalogue_is_tried() -> None:
    positive_labels_only = {"geometric_mean"}  # labels here reach down to 0
    assert set(BY_NAME) | positive_labels_only == set(CATALOGUE)


def grid_for(prop: Any, m: int) -> mv.Grid:
    lo, hi = prop.facts(0.0, 1.0).range
    return mv.Grid.uniform(lo, hi, m)


def state_of(data: Problem, prop: Any, grid: mv.Grid) -> tuple[State, Any]:
    answer = response(prop, grid, data.y)
    bins, moments = answer.encode(data.y)
    members = Membership.from_dense(data.groups)
    table, row_atom = build(members.by_row(), grid.round(data.f), bins, moments * data.w[:, None], members.groups)
    return State(table, answer, grid, float(data.w @ answer.score_constant(data.y))), row_atom


def compare(data: Problem, prop: Any, grid: mv.Grid, rule: str, **numbers: float) -> int:
    slow = batch_naive.run(
        prop, grid.points, data.y, data.w, data.masks, grid.round(data.f), rule=rule, most=60, **numbers
    )  # fmt: skip
    assert slow.margin > CLEAR, "choose other data: here rounding decides"
    fast_rule = TheoremRule(**numbers) if rule == "theorem" else PrintedRule(numbers["threshold"])
    state, row_atom = state_of(data, prop, grid)
    trace = run(state, fast_rule, Control(60))
    assert [(source, target) for _, source, target in trace.patches] == [(source, target) for _, source, target in slow.patches]
    assert all(fast.group in groups for fast, (groups, _, _) in zip(trace.patches, slow.patches, strict=True))
    np.testing.assert_array_equal(state.level[row_atom], slow.levels)
    np.testing.assert_allclose(trace.potential, slow.potential, rtol=1e-7, atol=1e-9)
    assert {(cell.level, cell.group) for cell in trace.blocked} <= set(slow.blocked)
    return len(slow.patches)


@pytest.fixture(params=["atoms that meet move as one", "running sums", "entries"])
def layout(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    meeting = request.param == "atoms that meet move as one"
    monkeypatch.setattr(bundles, "MOST_PLACES", math.inf if meeting else 0)
    if request.param == "entries":
        monkeypatch.setattr(label_sums, "LARGEST_DENSE", 0)


@pytest.mark.usefixtures("layout")
@pytest.mark.parametrize("name", PROPERTIES)
class TestSameMoves:
    def test_theorem_rule(self, name: str) -> None:
        prop = PROPERTIES[name]
        made = [
            compare(problem(seed), prop, grid_for(prop, 9), "theorem", threshold=3e-4, reach=0.02, least_drop=1e-6)
            for seed in range(3)
        ]
        assert sum(made) > 10, "the data should need many moves"

    def test_printed_rule(self, name: str) -> None:
        prop = PROPERTIES[name]
        made = [compare(problem(seed), prop, grid_for(prop, 7), "printed", threshold=1e-3) for seed in (10, 11)]
        assert sum(made) > 4, "the data should need many moves"


def test_weights_matter() -> None:
    data = problem(3)
    weighted = mv.multicalibrate(data.y, data.f, groups=data.groups, sample_weight=data.w, mode="theorem", m=12)
    plain = mv.multicalibrate(data.y, data.f, groups=data.groups, mode="theorem", m=12)
    assert weighted.patches != plain.patches


def test_a_whole_weight_is_repetition() -> None:
    data = problem(4)
    times = np.random.default_rng(0).integers(0, 4, data.y.size)
    again = np.repeat(np.arange(data.y.size), times)
    options: dict[str, Any] = {"mode": "theorem", "m": 12}
    weighted = mv.multicalibrate(data.y, data.f, groups=data.groups, sample_weight=times, **options)
    repeated = mv.multicalibrate(data.y[again], data.f[again], groups=data.groups[again], **options)
    assert weighted.patches == repeated.patches
    assert weighted.certificate.error == pytest.approx(repeated.certificate.error, rel=1e-9)
    assert weighted.certificate.alpha == repeated.certificate.alpha


class TestMeeting:
    """Many atoms of few combinations on few levels: nearly every move makes some of them meet."""

    @staticmethod
    def fit(name: str, places: float, monkeypatch: pytest.MonkeyPatch) -> tuple[State, Any]:
        monkeypatch.setattr(bundles, "MOST_PLACES", places)
        rng = np.random.default_rng(5)
        rows = 8000
        masks = np.column_stack([np.ones(rows, dtype=bool), rng.random((rows, 4)) < 0.5])
        f, w = rng.random(rows), rng.integers(0, 3, rows).astype(float)
        y = np.round(np.clip(0.1 + 0.5 * f + masks[:, 1:] @ [0.3, -0.2, 0.1, 0.2] * f + rng.normal(0, 0.2, rows), 0.05, 1), 2)
        prop = PROPERTIES[name]
        grid = grid_for(prop, 30)
        state, _ = state_of(Problem(y, f, w, masks), prop, grid)
        return state, run(state, TheoremRule(threshold=1e-6, reach=0.001, least_drop=1e-8), Control(200))

    @pytest.mark.parametrize("name", PROPERTIES)
    def test_the_same_moves_levels_and_table(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        (one, met), (other, apart) = (self.fit(name, places, monkeypatch) for places in (4, 0))
        # Two groups may hold the same rows of a level: rounding then picks one of them, and the rows that move are the same.
        assert [patch[1:] for patch in met.patches] == [patch[1:] for patch in apart.patches]
        assert len(met.patches) > 20
        np.testing.assert_array_equal(one.level, other.level)
        np.testing.assert_allclose(one.cells, other.cells, atol=1e-12)
        assert one.potential() == pytest.approx(other.potential(), rel=1e-12)

    def test_atoms_did_meet(self, monkeypatch: pytest.MonkeyPatch) -> None:
        state, _ = self.fit("mean", 4, monkeypatch)
        assert state.bundles is not None
        assert np.count_nonzero(state.bundles.leader != np.arange(len(state.table))) > len(state.table) / 4
