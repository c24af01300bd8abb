"""Packed bits: the same rows in, the same rows out, in both orientations."""

from __future__ import annotations

import numpy as np
import pytest

import multivalid as mv
from multivalid.errors import InputError
from multivalid.groups import membership
from multivalid.groups.membership import BLOCK, Membership, distinct, unpack

SHAPES = [(1, 1), (7, 3), (8, 8), (63, 9), (64, 64), (65, 65), (200, 130), (BLOCK + 5, 3)]


def dense(rows: int, groups: int) -> np.ndarray:
    return np.random.default_rng(rows + groups).random((rows, groups)) < 0.3


@pytest.mark.parametrize(("rows", "groups"), SHAPES)
def test_masks_come_back(rows, groups):
    array = dense(rows, groups)
    one, two = Membership.from_dense(array), Membership.from_masks([np.ones(rows, bool), *array.T], rows)
    np.testing.assert_array_equal(one.bits, two.bits)
    assert one.groups == groups + 1
    assert one.mask(0).all()
    for g in range(groups):
        np.testing.assert_array_equal(one.mask(g + 1), array[:, g])
    np.testing.assert_array_equal(one.sizes(), [rows, *array.sum(axis=0)])
    assert one.words.shape == (groups + 1, (rows + 63) // 64)


@pytest.mark.parametrize(("rows", "groups"), SHAPES)
def test_by_row_is_the_transpose(rows, groups):
    array = dense(rows, groups)
    by_row = Membership.from_masks(array.T, rows).by_row()
    assert by_row.shape[1] % 8 == 0
    np.testing.assert_array_equal(unpack(by_row, groups), array)


def test_take():
    array = dense(100, 5)
    rows = np.array([99, 0, 3, 3])
    taken = Membership.from_dense(array).take(rows)
    np.testing.assert_array_equal(np.array([taken.mask(g + 1) for g in range(5)]).T, array[rows])


@pytest.mark.parametrize("groups", [1, 3, 70, 200])
def test_patterns(groups):
    array = dense(300, groups)
    array[100:200] = array[:100]  # repeated combinations
    code, bits = Membership.from_masks(array.T, 300).patterns()
    np.testing.assert_array_equal(unpack(bits, groups)[code], array)
    assert len(bits) == len(np.unique(array, axis=0))


def test_patterns_survive_a_collision_of_the_mix(monkeypatch):
    by_row = Membership.from_masks(dense(50, 100).T, 50).by_row()
    expected = len(np.unique(by_row, axis=0))

    unique = np.unique

    def collide(values, **options):
        # The first call sorts the mixes: pretend that all of them are equal, as an unlucky mix would have it.
        return unique(np.zeros_like(values) if values.ndim == 1 else values, **options)

    monkeypatch.setattr(membership.np, "unique", collide)
    code, bits = distinct(by_row)
    np.testing.assert_array_equal(bits[code], by_row)
    assert len(bits) == expected


def test_bad_masks():
    with pytest.raises(InputError, match=r"masks must be booleans of shape \(3,\), one for every row, got bool of shape \(2,\)"):
        mv.Membership.from_masks([np.ones(2, bool)], rows=3)
    with pytest.raises(InputError, match="got float64 of shape"):
        mv.Membership.from_masks([np.ones(3)], rows=3)
    with pytest.raises(InputError, match=r"array must be booleans of shape \(rows, groups\), got int64 of shape \(2,\)"):
        mv.Membership.from_dense(np.array([0, 1]))
