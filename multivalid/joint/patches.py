"""Replaying the moves of Algorithm 3 on rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from multivalid.batch.algorithm import Patch
from multivalid.batch.patches import replay
from multivalid.groups.membership import Membership
from multivalid.joint.algorithm import JointPatch

Index = NDArray[np.intp]


def replay_pairs(patches: Sequence[JointPatch], place: Index, width: int, membership: Membership) -> Index:
    """Place (first·width + second) of each row after all patches, in order, from its start place.

    Only places that some patch names are followed; rows elsewhere stay where they are.

    Examples
    --------
    >>> everyone = Membership.from_masks([np.ones(2, dtype=bool)], rows=2)
    >>> replay_pairs([JointPatch(0, 0, 0, 1, 2), JointPatch(1, 0, 2, 1, 0)], np.array([1, 5]), 3, everyone)
    array([6, 5])
    """
    if not patches:
        return place.copy()
    moves = np.array(patches, dtype=np.intp)
    side, group, first, second, target = moves.T
    source = first * width + second
    goal = np.where(side == 0, target * width + second, first * width + target)
    named = np.unique(np.concatenate([source, goal]))
    at = np.searchsorted(named, place)
    at = np.where(named[np.minimum(at, named.size - 1)] == place, at, named.size)
    ordered = zip(group.tolist(), np.searchsorted(named, source).tolist(), np.searchsorted(named, goal).tolist(), strict=True)
    after = replay([Patch(*move) for move in ordered], at, named.size + 1, membership)
    return np.where(after < named.size, np.append(named, 0)[after], place)
