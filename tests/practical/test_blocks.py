"""Groups that exclude each other as codes: the same sums, predictions and fits as one line of bits per group."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from multivalid.evaluators import Arrays, DenseMembers, OneRow, RowMembers
from multivalid.groups import recode
from multivalid.groups.membership import Coded, Flagged, Membership, everyone, pack_masks
from multivalid.groups.recode import with_codes
from multivalid.practical import blocks, newton, start
from multivalid.practical.data import CHUNK, LinkRows, Matching, folds
from multivalid.practical.link import LogOdds
from multivalid.practical.model import Model
from multivalid.practical.shifts import shift_round
from multivalid.practical.solve import MOST_DIRECT, solve, solve_each

ROWS = 3000
SIZES = (9, 2, 7)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes already for few groups."""
    for module in (blocks, recode):
        monkeypatch.setattr(module, "FEWEST", 6)


def codes(seed: int, rows: int = ROWS) -> list[np.ndarray]:
    """Columns with missing values (0) and uneven groups, one of them empty."""
    rng = np.random.default_rng(seed)
    drawn = [np.minimum(rng.geometric(0.3, rows) - 1, size) for size in SIZES]
    drawn[2][drawn[2] == 4] = 0
    return drawn


def both(seed: int, rows: int = ROWS) -> tuple[Membership, Membership]:
    """The same groups as codes and as bits, a free group among them."""
    columns, free = codes(seed, rows), np.random.default_rng(seed + 1).random(rows) < 0.3
    parts = [Coded(column.astype(np.uint8), size) for column, size in zip(columns, SIZES, strict=True)]
    by_code = Membership.of([everyone(rows), *parts[:2], pack_masks([free], rows), parts[2]], rows)
    return by_code, Membership(by_code.bits, rows)


def rows_of(membership: Membership, seed: int = 0) -> LinkRows:
    rng = np.random.default_rng(seed + 7)
    base, weights = rng.normal(-1, 1, membership.rows), rng.gamma(2.0, 0.5, membership.rows)
    truth = base + 0.7 * membership.mask(3) - 0.9 * membership.mask(12) + 0.8 * (membership.mask(1) & membership.mask(12))
    labels = (rng.random(membership.rows) < 1 / (1 + np.exp(-truth))).astype(float)
    return LinkRows(labels, weights / weights.mean(), base, membership)


def rich(rows: LinkRows) -> Model:
    rng = np.random.default_rng(5)
    model = Model.new(rows.base, rows.membership.groups - 1)
    model = model.moved(rng.normal(0, 0.4, model.flat.values.size)).with_bends(rng.normal(0, 1, 500))
    model = model.with_products(np.array([[0, 1, 2, 11], [10, 13, 19, 19]])).with_twists()
    return model.moved(rng.normal(0, 0.2, model.flat.values.size))


@pytest.mark.parametrize("richer", [False, True])
def test_sums_by_code_are_sums_by_line(richer: bool) -> None:
    loss, found = Matching(mv.Mean(), LogOdds()), []
    for membership in both(1):
        rows = rows_of(membership)
        model = rich(rows) if richer else Model.new(rows.base, rows.membership.groups - 1)
        eta, v, gradient = newton.sweep(model, rows, loss)
        parts, damper = newton.hessian(model, rows, loss)
        found.append([eta, v, gradient, parts, damper, start.summed_shifts(model, rows)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6 * np.abs(other).max())


def test_products_are_screened_alike() -> None:
    pairs = []
    for membership in both(2, 20_000):
        rows = rows_of(membership)
        done = newton.fit(Model.new(rows.base, rows.membership.groups - 1), rows, Matching(mv.Mean(), LogOdds()))
        pairs.append(start.screen(done.model, rows, done.identification).T.tolist())
    assert pairs[0] == pairs[1]
    assert [0, 11] in pairs[0]


def test_rounds_of_shifts_are_alike() -> None:
    found = []
    for membership in both(3, 8000):
        rows = rows_of(membership)
        made = shift_round(rows.base, rows, Matching(mv.Mean(), LogOdds()), np.array([-2.0, -1.0, 0.0]))
        found.append((made, made.apply(rows.base, rows.membership)))
    assert len(found[0][0].shifts) > 1
    assert [shift[:2] for shift in found[0][0].shifts] == [shift[:2] for shift in found[1][0].shifts]
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-5)


def test_predictions_by_code_are_those_by_line_and_of_one_row_to_the_last_bit() -> None:
    by_code, by_line = both(4, 300)
    rows = rows_of(by_code)
    model = rich(rows)
    one = model.start(Arrays(), rows.base, DenseMembers(by_code, 0, 300))
    np.testing.assert_array_equal(one, model.start(Arrays(), rows.base, DenseMembers(by_line, 0, 300)))
    inside = by_line.dense(0, 300)
    for i in range(300):
        assert one[i] == model.start(OneRow(), float(rows.base[i]), RowMembers(np.flatnonzero(inside[1:, i]) + 1))
    for group in range(by_code.groups):
        np.testing.assert_array_equal(DenseMembers(by_code, 9, 200).holds(group), inside[group, 9:200] == 1)


def test_runs_of_groups_that_exclude_each_other_become_codes() -> None:
    by_code, by_line = both(5)
    found = with_codes(by_line)
    np.testing.assert_array_equal(found.bits, by_code.bits)
    assert sorted(part.size for part in found.parts if isinstance(part, Coded)) == [7, 9]
    overlapping = Membership.from_dense(np.random.default_rng(0).random((500, 12)) < 0.4)
    assert [type(part) for part in with_codes(overlapping).parts] == [Flagged]


@pytest.mark.parametrize("prop", [mv.Mean(), mv.Quantile(0.8)], ids=repr)
def test_a_column_and_its_values_as_boolean_arrays_give_the_same_fit(prop: mv.Property) -> None:
    rng = np.random.default_rng(6)
    shop, region = rng.integers(0, 12, 6000), rng.integers(0, 8, 6000)
    base = 1 / (1 + np.exp(-rng.normal(-1, 1, 6000)))
    labels = np.clip(base + rng.normal(0, 0.3, 12)[shop] + 0.1 * rng.normal(size=6000), 0, 1)
    data = pd.DataFrame({"shop": [f"s{k:02d}" for k in shop], "region": [f"r{k}" for k in region]})
    by_column = mv.multicalibrate(labels, base, groups=["shop", "region"], data=data, property=prop)
    masks = np.column_stack([shop[:, None] == np.arange(12), region[:, None] == np.arange(8)])
    by_mask = mv.multicalibrate(labels, base, groups=masks, property=prop)
    one, other = by_column.predict(base, data=data), by_mask.predict(base, groups=[masks])
    assert np.abs(one - base).max() > 0.05
    np.testing.assert_allclose(one, other, atol=1e-8)


def test_folds_are_whole_chunks_and_leave_nothing_out() -> None:
    for count in (1, CHUNK - 1, CHUNK, 3 * CHUNK + 5, 11 * CHUNK):
        found = folds(count, 5)
        assert (found[0].start, found[-1].stop) == (0, count)
        assert all(one.stop == other.start for one, other in pairwise(found))
        assert all(one.start % CHUNK == 0 or one.start == count for one in found)


def test_conjugate_gradients_solve_what_is_solved_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    size = MOST_DIRECT + 60
    features = rng.normal(size=(2 * size, size)) * rng.gamma(1.0, 1.0, size)
    features[:, 3] = features[:, 2]  # two that repeat each other
    features[:, 9] = 0.0  # and one with no rows
    matrix, few = features.T @ features, np.arange(size) < 8
    ridges, right = rng.gamma(2.0, 50.0, (3, size)), rng.normal(size=(3, 4, size))
    plain = np.stack([solve(matrix, ridge, sides.T).T for ridge, sides in zip(ridges, right, strict=True)])
    slow = [solve(np.vander(np.linspace(0, 1, size)) @ np.vander(np.linspace(0, 1, size)).T, 0 * ridges[0], right[0, 0], few)]
    assert np.isfinite(slow).all()  # what takes too many steps is solved directly
    monkeypatch.setattr(np.linalg, "solve", None)
    near = np.stack([solve(matrix, ridge, sides.T, few).T for ridge, sides in zip(ridges, right, strict=True)])
    np.testing.assert_allclose(near, plain, atol=1e-8 * np.abs(plain).max())
    np.testing.assert_allclose(solve_each(matrix, ridges, right, few), plain, atol=1e-3 * np.abs(plain).max())
    assert not solve(matrix, ridges[0], np.zeros(size), few).any()
