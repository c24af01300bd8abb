"""The grower against an oracle that tries every split, compiled and in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from multivalid.discover.bins import Categories, Ordered
from multivalid.discover.forest import add_trees, splits
from multivalid.discover.grow import Split, grow
from multivalid.discover.histogram import add_to_rows, histogram, pair_histograms, partition
from multivalid.discover.literals import literals
from multivalid.discover.search import Search
from multivalid.discover.split import PRIOR_ROWS
from multivalid.kernels import library
from tests.reference.trees_naive import best_pair, every_split

BINS = [Ordered("a", "number", (1.0, 2.0, 3.0, 4.0)), Categories("c", "text", ("u", "v", "w", "x")), Ordered("b", "number", (0.0,))]


@pytest.fixture(params=["compiled", "numpy"])
def kernels(request):
    if request.param == "numpy":
        with library.numpy_only():
            yield
    else:
        if not library.available():
            pytest.skip("no compiled library here")
        yield


def rows(seed, count=600):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, one.size, count) for one in BINS], axis=1).astype(np.uint8)
    if seed % 2:
        codes[codes[:, 0] == 5, 0] = 0  # no missing value in the first column
    gradient = rng.standard_t(2, count) + (codes[:, 1] == seed % 4) - 0.7 * (codes[:, 0] > 2)
    return codes, gradient * rng.exponential(1, count), rng.exponential(1, count) * (rng.random(count) < 0.5)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("seed", range(12))
def test_the_first_split_is_the_best_of_all(seed):
    codes, gradient, slope = rows(seed)
    tree = grow(BINS, codes, np.arange(len(codes), dtype=np.int32), gradient, slope, depth=1).root
    best = max(every_split(BINS, codes, gradient, slope), key=lambda one: one[0])
    assert isinstance(tree, Split)
    left = tree.left[codes[:, tree.column]]
    made = max(
        gain for gain, c, mask in every_split(BINS, codes, gradient, slope) if c == tree.column and np.array_equal(mask, left)
    )
    assert made == pytest.approx(best[0], rel=1e-9)


@pytest.mark.usefixtures("kernels")
def test_leaves_are_newton_steps_and_rows_get_their_leaf():
    codes, gradient, slope = rows(5)
    grown = grow(BINS, codes, np.arange(len(codes), dtype=np.int32), gradient, slope)
    out = np.zeros(len(codes))
    add_trees([grown.root, grown.root], codes, out)
    assert 2 <= len(grown.leaves) <= 8
    assert sum(len(inside) for inside, _ in grown.leaves) == len(codes)
    for inside, value in grown.leaves:
        assert np.allclose(out[inside], 2 * value)
        wanted = -gradient[inside].sum() / (slope[inside].sum() + PRIOR_ROWS * slope.mean())
        assert value == pytest.approx(np.clip(wanted, -2, 2), rel=1e-9)


def test_both_kernels_give_the_same_bits():
    if not library.available():
        pytest.skip("no compiled library here")
    codes, gradient, slope = rows(3, 5000)
    picked = np.random.default_rng(0).permutation(5000)[:3000].astype(np.int32)
    columns, pairs, sizes = np.ascontiguousarray(codes.T), [(1, 0), (2, 1)], [one.size for one in BINS]
    fast = histogram(codes, 6, picked, gradient, slope), pair_histograms(columns, pairs, sizes, gradient, slope)
    left = np.zeros(256, dtype=bool)
    left[[0, 3]] = True
    parts = partition(codes, 1, left, picked)
    trees = [grow(BINS, codes, picked, gradient, slope).root]
    added = np.zeros(5000)
    add_trees(trees, codes, added)
    with library.numpy_only():
        assert np.array_equal(fast[0], histogram(codes, 6, picked, gradient, slope))
        for one, other in zip(fast[1], pair_histograms(columns, pairs, sizes, gradient, slope), strict=True):
            assert np.array_equal(one, other)
        for one, other in zip(parts, partition(codes, 1, left, picked), strict=True):
            assert np.array_equal(one, other)
        again = grow(BINS, codes, picked, gradient, slope).root
        twin = np.zeros(5000)
        add_trees([again], codes, twin)
    assert np.array_equal(added, twin)
    assert len(splits(again)) == len(splits(trees[0]))


@pytest.mark.parametrize("seed", range(8))
def test_both_kernels_choose_the_same_splits_and_change_the_same_rows(seed):
    if not library.available():
        pytest.skip("no compiled library here")
    codes, gradient, slope = rows(seed, 700)
    everyone = np.arange(len(codes), dtype=np.int32)
    fast, added = grow(BINS, codes, everyone, gradient, slope), np.ones(len(codes))
    for inside, value in fast.leaves:
        add_to_rows(added, inside, value)
    with library.numpy_only():
        slow, again = grow(BINS, codes, everyone, gradient, slope), np.ones(len(codes))
        for inside, value in slow.leaves:
            add_to_rows(again, inside, value)
    assert np.array_equal(added, again)
    assert len(splits(fast.root)) == len(splits(slow.root)) > 3
    for one, other in zip(splits(fast.root), splits(slow.root), strict=True):
        assert one.column == other.column
        assert np.array_equal(one.left, other.left)


def test_nothing_to_split_is_one_leaf():
    codes = np.zeros((50, 3), dtype=np.uint8)
    grown = grow(BINS, codes, np.arange(50, dtype=np.int32), np.ones(50), np.ones(50))
    assert grown.root == pytest.approx(-50 / (50 + PRIOR_ROWS))


def test_a_code_never_seen_goes_where_nothing_is_known():
    """Category 'other' had no rows: its step is zero, so it goes with the side whose steps are on that side of zero."""
    codes = np.zeros((400, 3), dtype=np.uint8)
    codes[200:, 1] = 1
    gradient = np.where(codes[:, 1] == 1, 1.0, -1.0)
    tree = grow(BINS, codes, np.arange(400, dtype=np.int32), gradient, np.ones(400), depth=1).root
    assert isinstance(tree, Split)
    assert tree.left[0] != tree.left[1]
    assert tree.left.size == BINS[1].size


@pytest.mark.usefixtures("kernels")
def test_the_best_pair_is_the_best_of_all_pairs():
    rng = np.random.default_rng(8)
    codes = np.stack([rng.integers(0, one.size, 1500) for one in BINS], axis=1).astype(np.uint8)
    values = rng.standard_t(3, 1500) + 0.8 * ((codes[:, 0] > 2) & (codes[:, 1] == 2))
    search = Search(BINS, codes, values, depth=2)
    search.squares = search.residual**2
    search.mean_square = float(search.squares.mean())
    assert max(score for score, _ in search._pairs()) == pytest.approx(best_pair(search), rel=1e-9)


def test_literals_hold_for_enough_rows_and_are_there_once():
    codes = np.random.default_rng(0).integers(0, 6, 1000).astype(np.uint8)
    made = literals(0, BINS[0], codes, 30)
    held = made.sets @ np.bincount(codes, minlength=6)
    assert held.min() >= 30
    assert held.max() <= 970
    assert len(np.unique(made.sets, axis=0)) == len(made)
