"""Every column of the audit against plain loops, on data where every term matters."""

from __future__ import annotations

import numpy as np
import pytest

import multivalid as mv
from tests.properties.registry import CUSTOM, REGISTRY, Case
from tests.reference import audit_naive
from tests.shared import workloads


def messy(case: Case, rows: int = 120, seed: int = 0):
    """Labels with ties and on the edges, predictions on and off the grid, unequal weights with zeros, an empty and a one-row group."""
    rng = np.random.default_rng(seed)
    y = case.lo + case.length * np.where(rng.random(rows) < 0.4, rng.integers(0, 5, rows) / 4, rng.beta(2, 4, rows))
    ends = case.prop.facts(case.lo, case.hi).range
    prediction = ends.lo + ends.length * np.where(rng.random(rows) < 0.3, rng.integers(0, 11, rows) / 10, rng.random(rows))
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], rows)
    alone = np.zeros(rows, dtype=bool)
    alone[np.flatnonzero(weight)[7]] = True
    weightless = weight == 0
    masks = [rng.random(rows) < share for share in (0.6, 0.3, 0.1)] + [alone, weightless]
    return y, prediction, weight, masks, mv.Grid(ends.lo + ends.length * np.array([0.0, 0.2, 0.35, 0.7, 1.0]))


def compare(found: mv.Audit, table: list, cells: list, scale: float, tolerance: float = 1e-12) -> None:
    expected = {name: np.array([row[name] for row in table]) for name in table[0]}
    # What is said of chance has oracles of its own, in tests/cells.
    chance = {"chi2", "dof", "p_value", "p_adjusted", "gap", "gap_low", "gap_high", "rms", "rms_low", "rms_high", "detectable"}
    assert set(found.table) == {*expected, *chance, "name"}
    unit = {"error": 2, "gamma_error": 2, "debiased": 2, "l1": 1, "linf": 1, "prediction": 1, "value": 1, "worst_level": 1}
    for name, column in expected.items():
        size = scale ** unit.get(name, 0)
        np.testing.assert_allclose(found.table[name], column, rtol=tolerance, atol=tolerance * size, err_msg=name)
    names = list(found.table["name"])
    order = sorted(range(len(found.cells["group"])), key=lambda i: (names.index(found.cells["group"][i]), found.cells["level"][i]))
    assert len(order) == len(cells)
    for name in ("level", "rows", "weight", "prediction", "value", "error"):
        got, want = found.cells[name][order], np.array([cell[name] for cell in cells])
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * scale ** unit.get(name, 0), err_msg=name)
    np.testing.assert_allclose(
        found.cells["identification"][order], [c["mean"] for c in cells], rtol=tolerance, atol=tolerance * scale
    )
    assert [names.index(found.cells["group"][i]) for i in order] == [cell["group"] for cell in cells]


@pytest.mark.parametrize("case", REGISTRY, ids=lambda case: case.name)
def test_every_property(case):
    y, prediction, weight, masks, grid = messy(case)
    everyone = np.ones(y.size, dtype=bool)
    found = mv.audit(y, prediction, groups=masks, property=case.prop, grid=grid, sample_weight=weight)
    # The last group has no row with weight, and rows without weight are not there.
    assert found.groups.notes == [f"group 'group {len(masks)}' has no rows: left out"]
    table, cells = audit_naive.audit(y, prediction, [everyone, *masks[:-1]], case.prop, list(grid.points), weight)
    scale = max(1.0, float(np.abs(case.prop.identify(prediction, y)).max()), float(np.abs(prediction).max()))
    compare(found, table, cells, scale)


@pytest.mark.parametrize("prop", [mv.Mean(), mv.Quantile(0.3), CUSTOM[2].prop], ids=repr)
def test_without_weights_and_with_given_levels(prop):
    y, prediction, _, masks, _ = messy(Case(prop), rows=90, seed=3)
    prediction = np.round(prediction * 8) / 8  # at most 9 values: the audit takes them one by one
    found = mv.audit(y, prediction, groups=masks[:2], property=prop)
    everyone = np.ones(y.size, dtype=bool)
    compare(found, *audit_naive.audit(y, prediction, [everyone, *masks[:2]], prop, sorted(set(prediction))), 1.0)
    np.testing.assert_array_equal(found.grid.points, np.unique(prediction))


def test_a_single_row():
    found = mv.audit([1.0], [0.25], groups=[])
    compare(found, *audit_naive.audit([1.0], [0.25], [[True]], mv.Mean(), [0.25]), 1.0)
    assert found.table["debiased"][0] == 0.0
    assert found.error == 0.5625
    assert np.isnan(found.table["p_value"][0])  # one row cannot tell


def test_nothing_off_at_all():
    found = mv.audit([0.25, 0.25], [0.25, 0.25], groups=[])
    compare(found, *audit_naive.audit([0.25, 0.25], [0.25, 0.25], [[True, True]], mv.Mean(), [0.25]), 1.0)
    assert np.isnan(found.table["p_value"][0])
    assert found.verdict == "These rows cannot tell whether any group is off."


def test_census():
    bench = workloads()
    data = bench.census()
    y, base, member = data["y_test"], data["base_test"], data["g_test"]
    assert member.shape == (99_285, 149)
    grid = mv.Grid.uniform(0, 1, 20)
    found = mv.audit(y, base, groups=mv.Groups([member], names=[f"g{i}" for i in range(149)]), grid=grid)
    expected = {"everyone": bench.error(base, y, np.ones((y.size, 1), bool), lambda p, t: p - t)["max_error"]}
    level, v = grid.round(base), base - y
    for i in range(149):
        inside = member[:, i]
        terms = [(v[inside & (level == j)], (inside & (level == j)).sum()) for j in range(20)]
        expected[f"g{i}"] = sum(part.sum() ** 2 / n for part, n in terms if n) / y.size
    got = dict(zip(found.table["name"], found.table["error"], strict=True))
    left_out = set(expected) - set(got)
    assert all("same rows" in note or "left out" in note for note in found.groups.notes)
    assert len(left_out) == len(found.groups.notes)
    for name, error in got.items():
        assert error == pytest.approx(expected[name], abs=1e-12, rel=1e-12)
    kept = {name: expected[name] for name in got}
    assert sorted(got, key=got.get, reverse=True)[:10] == sorted(kept, key=kept.get, reverse=True)[:10]
    assert found.error == pytest.approx(max(expected.values()), abs=1e-12)
