"""Atoms carry exactly the sums of their rows, and tables merge in any order to what one pass gives."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from multivalid.atoms.table import AtomTable, build, compress, totals
from multivalid.groups.membership import Membership


def rows(count: int = 400, groups: int = 9, seed: int = 0):
    """Packed groups, levels, label bins and weighted moments, with many rows that share an atom."""
    rng = np.random.default_rng(seed)
    member = rng.random((5, groups))[rng.integers(0, 5, count)] < 0.5
    level, bin = rng.integers(0, 4, count), rng.integers(0, 6, count)
    weight, y = rng.choice([0.25, 1.0, 3.0], count), rng.integers(-8, 9, count) / 4  # dyadic: sums are exact in any order
    sums = weight[:, None] * np.stack([np.ones(count), y, y**2], axis=1)
    return Membership.from_masks(member.T, count).by_row(), level, bin, sums


def as_dict(table: AtomTable) -> dict:
    return {
        (table.bits[a].tobytes(), int(table.level[a]), int(b)): tuple(s)
        for a, b, s in zip(table.atom, table.bin, table.sums, strict=True)
    }


def naive(by_row, level, bin, sums) -> dict:
    found: dict = {}
    for i in range(level.size):
        key = (by_row[i].tobytes(), int(level[i]), int(bin[i]))
        found[key] = tuple(np.array(found.get(key, (0.0, 0.0, 0.0))) + sums[i])
    return found


def part(data, start, stop):
    return [column[start:stop] for column in data]


def test_sums_are_those_of_the_rows():
    data = rows()
    table, row_atom = build(*data, 9)
    assert as_dict(table) == naive(*data)
    by_row, level, _, sums = data
    np.testing.assert_array_equal(table.bits[row_atom], by_row)
    np.testing.assert_array_equal(table.level[row_atom], level)
    assert len(table) == len({(b.tobytes(), j) for b, j in zip(by_row, level, strict=True)})
    assert len(table) < level.size / 5
    np.testing.assert_allclose(table.weight, totals(row_atom, sums[:, 0], len(table)), rtol=1e-15)


def test_entries_are_sorted_and_offsets_find_them():
    table, _ = build(*rows(), 9)
    key = table.atom * 6 + table.bin
    assert (np.diff(key) > 0).all()
    for a in range(len(table)):
        np.testing.assert_array_equal(table.atom[table.offset[a] : table.offset[a + 1]], a)
    assert table.offset[-1] == table.atom.size
    assert table.offset.size == len(table) + 1


@pytest.mark.parametrize("cuts", [(0, 130, 131, 400), (0, 1, 399, 400)])
def test_merge_equals_one_pass(cuts):
    data = rows()
    whole, _ = build(*data, 9)
    a, b, c = (build(*part(data, start, stop), 9)[0] for start, stop in pairwise(cuts))
    orders = [a.merge(b).merge(c), a.merge(b.merge(c)), c.merge(a).merge(b), b.merge(c.merge(a))]
    for merged in orders:
        assert as_dict(merged) == as_dict(whole)
        assert len(merged) == len(whole)
        assert merged.groups == 9
        for name in ("bits", "level", "atom", "bin", "sums"):  # the very same table, not only the same content
            np.testing.assert_array_equal(getattr(merged, name), getattr(whole, name), err_msg=name)


def test_merging_is_what_adds_weight():
    data = rows(50)
    table, _ = build(*data, 9)
    twice = table.merge(table)
    np.testing.assert_array_equal(twice.sums, 2 * table.sums)
    assert len(twice) == len(table)


@pytest.mark.parametrize("space", [10, 3000, 10**12], ids=["counted", "counted sparsely", "sorted"])
def test_compress(space):
    key = np.random.default_rng(1).integers(0, space, 500)
    kept, position = compress(key, space)
    np.testing.assert_array_equal(kept, np.unique(key))
    np.testing.assert_array_equal(kept[position], key)
