"""Moves of places and numbers of levels for pairs, each against a second writing."""

from __future__ import annotations

import numpy as np
import pytest

from multivalid.batch.default_levels import MOST_LEVELS
from multivalid.evaluators import RowMembers, in_memory
from multivalid.grid import Grid
from multivalid.groups.membership import Membership
from multivalid.joint.algorithm import JointPatch
from multivalid.joint.default_levels import MOST_CELLS, _most_levels
from multivalid.joint.predictor import PairLevelPredictor
from tests.joint.test_algorithm import fitted


def moved_by_hand(predictor: PairLevelPredictor, prediction: np.ndarray, groups: list[int]) -> list[float]:
    place = [int(grid.round(value)) for grid, value in zip(predictor.grids, prediction, strict=True)]
    for patch in predictor.patches:
        if patch.group in groups and place == [patch.first, patch.second]:
            place[patch.side] = patch.target
    return [float(grid.points[at]) for grid, at in zip(predictor.grids, place, strict=True)]


def test_moves_of_either_coordinate_are_the_same_in_every_way_to_predict():
    predictor = PairLevelPredictor(
        (Grid.uniform(0, 1, 4), Grid.uniform(0, 10, 6)),
        [JointPatch(0, 1, 2, 5, 0), JointPatch(1, 0, 0, 5, 3), JointPatch(0, 2, 0, 3, 3), JointPatch(0, 0, 1, 1, 2)],
    )
    rng = np.random.default_rng(4)
    said = np.column_stack([rng.random(400), rng.uniform(0, 10, 400)])
    masks = rng.random((400, 2)) < 0.5
    member = Membership.from_masks([np.ones(400, dtype=bool), *masks.T], 400)
    groups = [[0, *(1 + np.flatnonzero(row)).tolist()] for row in masks]
    expected = [moved_by_hand(predictor, one, own) for one, own in zip(said, groups, strict=True)]
    assert len({tuple(one) for one in expected}) > 12, "the case must be there"
    np.testing.assert_array_equal(predictor.predict(said, member), expected)
    np.testing.assert_array_equal(in_memory(predictor.predicted, said, member), expected)
    assert [predictor.predict_row(one, RowMembers(own)) for one, own in zip(said, groups, strict=True)] == expected


@pytest.mark.parametrize(("levels", "groups"), [((20, 30), 7), ((10, 1000), 3), ((4000, 4000), 50)])
def test_as_many_levels_as_the_table_has_room_for(levels, groups):
    first, second = _most_levels(levels, groups)
    assert first >= levels[0]
    assert second >= levels[1]
    times = max((MOST_CELLS / (levels[0] * levels[1] * groups)) ** 0.5, 1.0)
    assert (first, second) == tuple(min(int(one * times), MOST_LEVELS) for one in levels)
    if times > 1:
        assert first * second * groups <= MOST_CELLS, "as few cells as there is room for"


@pytest.mark.parametrize("seed", [1, 4, 7, 14])
def test_the_least_drop_is_that_of_the_mean_score_replayed_patch_by_patch(seed):
    pair, rows, _, made = fitted(seed)
    scores = []
    for count in range(len(made.predictor.patches) + 1):
        first = PairLevelPredictor(made.predictor.grids, made.predictor.patches[:count]).predict(rows.predictions, rows.membership)[
            :, 0
        ]
        scores.append(np.average(pair.first.score(first, rows.labels), weights=rows.weights))
    drops = [-step for step, patch in zip(np.diff(scores), made.predictor.patches, strict=True) if patch.side == 0]
    assert rows.weights.sum() != pytest.approx(1.0), "the case must be there"
    assert made.certificate.least_drop[0] == pytest.approx(min(drops, default=np.nan), rel=1e-6, nan_ok=True)
    assert seed not in (1, 4) or drops
