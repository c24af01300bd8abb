"""Replaying patches: words of 64 rows give what boolean masks give, whatever the number of rows and levels, compiled or not."""

from __future__ import annotations

import numpy as np
import pytest

import multivalid as mv
from multivalid.batch.patches import BLOCK, MANY, predict, replay
from multivalid.batch.state import Patch
from tests.kernels.both import loop  # noqa: F401

GROUPS = 5


def by_masks(patches, level, membership):
    """The obvious way: one boolean mask per patch."""
    level = level.copy()
    for group, source, target in patches:
        level[membership.mask(group) & (level == source)] = target
    return level


def problem(rows, levels, seed=0):
    rng = np.random.default_rng(seed)
    members = mv.Membership.from_masks((rng.random(rows) < share for share in (1.1, 0.5, 0.05, 0.9, 0.0)), rows)
    patches = [Patch(*(int(v) for v in rng.integers(0, (GROUPS, levels, levels)))) for _ in range(3 * levels)]
    # Skewed, so that levels hold different numbers of rows and many are empty.
    return members, patches, rng.beta(0.4, 1.7, rows)


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize("levels", [1, 2, 50, 255, 256, 257])
@pytest.mark.parametrize("rows", [1, 63, 64, 65, MANY - 1, MANY, MANY + 1])
def test_words_and_masks_agree(rows, levels):
    members, patches, predictions = problem(rows, levels)
    grid = mv.Grid.uniform(0, 1, levels)
    start = grid.round(predictions)
    final = by_masks(patches, start, members)
    np.testing.assert_array_equal(replay(patches, start, levels, members), final)
    np.testing.assert_array_equal(predict(patches, predictions, grid, members), grid.points[final])


@pytest.mark.usefixtures("loop")
def test_more_than_one_block_and_an_odd_rest():
    rows = BLOCK + 12_345
    members, patches, predictions = problem(rows, 7)
    grid = mv.Grid([0.0, 0.01, 0.05, 0.2, 0.3, 0.7, 1.0])
    expected = grid.points[by_masks(patches, grid.round(predictions), members)]
    np.testing.assert_array_equal(predict(patches, predictions, grid, members), expected)


@pytest.mark.parametrize("patch", [(5, 0, 0), (0, 7, 0), (0, 0, 7), (-1, 0, 0), (0, -1, 0)])
@pytest.mark.usefixtures("loop")
def test_a_patch_beyond_the_tables_is_refused(patch):
    members, _, predictions = problem(100, 7)
    with pytest.raises(IndexError):
        replay([Patch(*patch)], mv.Grid.uniform(0, 1, 7).round(predictions), 7, members)
