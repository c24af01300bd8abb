"""Batched rounds: the moves of the obvious twin, and every promise of the theorem."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import multivalid as mv
from multivalid.atoms.response import response
from multivalid.batch import batched
from multivalid.batch.batched import LabelTable, Move, in_order, run_batched
from multivalid.batch.control import INTERRUPTED, Control
from multivalid.batch.patches import replay
from multivalid.batch.rules import TheoremRule
from multivalid.batch.state import Patch
from multivalid.errors import InputError
from multivalid.groups.membership import Membership
from multivalid.sources.memory import MemorySource as Rows
from tests.batch.problems import PROPERTIES, Problem, problem
from tests.batch.test_naive import grid_for
from tests.batch.test_theorem import calibrated, check_promises
from tests.reference import batched_naive


def rounds(data: Problem, prop: Any, grid: mv.Grid, numbers: dict[str, float], **options: Any) -> Any:
    members = Membership.from_dense(data.groups)
    given = Rows(data.y, data.f, data.w, mv.FittedGroups.of_flags(data.groups.shape[1]), members, None)
    answer = response(prop, grid, data.y)
    passes: list[int] = []

    def measure(patches: Sequence[Patch]) -> np.ndarray:
        passes.append(len(patches))
        return LabelTable(answer, grid, patches)(given)

    constant = float(data.w @ answer.score_constant(data.y))
    trace, cells = run_batched(measure(()), measure, answer, grid, TheoremRule(**numbers), constant=constant, **options)
    return trace, cells, passes, members


@pytest.mark.parametrize("name", PROPERTIES)
def test_same_moves_as_the_obvious_twin(name: str) -> None:
    prop, made, most = PROPERTIES[name], 0, 0
    numbers = {"threshold": 3e-4, "reach": 0.02, "least_drop": 1e-6}
    for seed in range(3):
        data = problem(seed)
        grid = grid_for(prop, 9)
        slow, count = batched_naive.run(prop, grid.points, data.y, data.w, data.masks, grid.round(data.f), **numbers)
        trace, _, passes, members = rounds(data, prop, grid, numbers)
        # One after the other, as patches are replayed, leads where moving all rows of a round at once leads.
        np.testing.assert_array_equal(replay(trace.patches, grid.round(data.f), len(grid), members), slow.levels)
        sizes = np.diff(passes)
        assert len(passes) == count + 1
        for start, stop in pairwise(passes):
            first = {(source, target) for _, source, target in trace.patches[start:stop]}
            assert first == {(source, target) for _, source, target in slow.patches[start:stop]}
        np.testing.assert_allclose(np.asarray(trace.potential)[passes], slow.potential, rtol=1e-7, atol=1e-9)
        assert {(cell.group, cell.level) for cell in trace.blocked} == set(slow.blocked)
        made, most = made + len(slow.patches), max(most, sizes.max(initial=0))
    assert made > 10
    assert most > 1, "the data should move several levels in one round"


@pytest.mark.parametrize("name", PROPERTIES)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(2, 60),
    m=st.integers(1, 25),
    factor=st.sampled_from([1.0, 0.6]),
    unweighted=st.sampled_from([0.0, 0.3]),
)
def test_the_certificate_is_true(name: str, seed: int, rows: int, m: int, factor: float, unweighted: float) -> None:
    data, prop = problem(seed, rows, 3, unweighted=unweighted), PROPERTIES[name]
    alpha = factor * calibrated(data, prop, mode="theorem", m=m, max_updates=0).certificate.alpha
    fitted = calibrated(data, prop, mode="theorem", m=m, alpha=alpha, batched=True)
    check_promises(data, prop, fitted)
    assert "not the paper's" in fitted.certificate.summary()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.floats(0, 1)), min_size=6, max_size=6), st.integers(0, 10**6))
def test_one_after_the_other_is_all_at_once(wishes: list[tuple[int, int, float]], seed: int) -> None:
    moves = [Move(Patch(group, j, to), urgency, 0.0) for j, (group, to, urgency) in enumerate(wishes) if to != j]
    rng = np.random.default_rng(seed)
    dense, start = rng.random((80, 3)) < 0.5, rng.integers(0, 6, 80)
    members, kept = Membership.from_dense(dense), in_order(moves)
    at_once = start.copy()
    for group, source, target in (move.patch for move in kept):
        at_once[members.mask(group) & (start == source)] = target
    np.testing.assert_array_equal(replay([move.patch for move in kept], start, 6, members), at_once)
    if moves:
        assert max(moves, key=lambda move: move.urgency).urgency == max(kept, key=lambda move: move.urgency).urgency


def test_a_budget_ends_between_passes_with_true_numbers() -> None:
    data, prop = problem(5), mv.parse("mean")
    full = calibrated(data, prop, mode="theorem", m=12, batched=True)
    assert full.certificate.updates > 3
    for most in range(full.certificate.updates):
        made = calibrated(data, prop, mode="theorem", m=12, batched=True, max_updates=most)
        assert made.certificate.status == "budget"
        assert made.patches == full.patches[:most]
        predictions = made.predict(data.f, groups=data.groups)
        assert made.certificate.error == pytest.approx(
            mv.audit(data.y, predictions, groups=data.groups, sample_weight=data.w, grid=made.grid).error, rel=1e-9
        )


def test_an_interruption_keeps_what_was_measured() -> None:
    data, prop = problem(5), mv.parse("mean")
    grid = grid_for(prop, 12)
    numbers = {"threshold": 1e-4, "reach": 0.02, "least_drop": 1e-6}
    whole, _, passes, _ = rounds(data, prop, grid, numbers)
    assert len(passes) > 2

    def stop(updates: int, error: float, potential: float) -> None:
        if updates == passes[1]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rounds(data, prop, grid, numbers, control=Control(progress=stop))
    trace, _, _, _ = rounds(data, prop, grid, numbers, control=Control(progress=stop, keep_interrupted=True))
    assert trace.status == "budget"
    assert trace.note.startswith(INTERRUPTED)
    assert trace.patches == whole.patches[: passes[1]]
    assert len(trace.potential) == passes[1] + 1


@pytest.mark.parametrize("options", [{"mode": "practical"}, {"mode": "paper"}, {"mode": "theorem", "property": "mean_variance"}])
def test_only_the_theorem_for_single_properties(options: dict[str, Any]) -> None:
    data = problem(1)
    predictions = np.column_stack([data.f, data.f]) if "property" in options else data.f
    with pytest.raises(InputError, match="batched=True is a way to run"):
        mv.multicalibrate(data.y, predictions, groups=data.groups, batched=True, **options)


def test_a_table_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batched, "MOST_NUMBERS", 1000)
    data = problem(1)
    with pytest.raises(InputError, match=r"20 levels × 21 label bins × 5 groups × 2 moments = 4,200 numbers, more than 1,000"):
        mv.multicalibrate(data.y, data.f, groups=data.groups, mode="theorem", property="median", m=20, batched=True)
