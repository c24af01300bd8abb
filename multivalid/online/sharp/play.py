"""What a prediction of the sharp learner has to remember until its outcome comes: its groups, and a few numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Bits = NDArray[np.bool_]

# The numbers, in the order of `play_t` in kernels/sharp.c.
(PREDICTION, GUIDE, OFFSET, NEARBY, BUCKET, SHARE, HAS_BASE, TILT, HAT, HAT_SHARE, COPY, OTHERS, SCALE, FROM, WIDTH, STAMP) = range(
    16
)
EXPERT = 16  # the first of eleven: five learners on the label's scale, five on that of log-odds, the base
EXPERTS, LEARNERS = 11, 10
SIZE = EXPERT + EXPERTS


class Play(NamedTuple):
    """A prediction: the groups it was made for, and its numbers.

    Examples
    --------
    >>> numbers = np.zeros(SIZE)
    >>> numbers[[PREDICTION, BUCKET, SHARE]] = 0.25, 3, 0.75
    >>> play = Play(np.array([0, 2]), numbers)
    >>> play.prediction, play.buckets
    (0.25, ((3, 0.75), (4, 0.25)))
    """

    active: Index
    numbers: Array

    @property
    def prediction(self) -> float:
        """What was published."""
        return self.numbers.item(PREDICTION)

    @property
    def buckets(self) -> tuple[tuple[int, float], ...]:
        """The bucket, or the two, that the row belongs to, each with its share."""
        below, share = int(self.numbers.item(BUCKET)), self.numbers.item(SHARE)
        both = ((below, share), (below + 1, 1.0 - share))
        return tuple(one for one in both if one[1] > 0)

    def to_json(self) -> list[list[float]]:
        """Plain data."""
        return [self.active.tolist(), self.numbers.tolist()]

    @classmethod
    def from_json(cls, data: list[list[float]], groups: int, buckets: int, copies: int) -> Play:
        """The play that `to_json` described, if it fits the learner."""
        active, numbers = np.asarray(data[0], dtype=np.int64), np.asarray(data[1], dtype=np.float64)
        if active.ndim != 1 or not active.size or active.min() < 0 or active.max() >= groups or (np.diff(active) <= 0).any():
            raise InputError("a round names a group that does not exist.")
        if numbers.shape != (SIZE,) or not np.isfinite(numbers).all():
            raise InputError(f"a round must hold {SIZE} finite numbers.")
        play = cls(active, numbers)
        if not (
            0 <= numbers[BUCKET] <= numbers[BUCKET] + (numbers[SHARE] < 1) < buckets
            and 0 <= numbers[SHARE] <= 1
            and 0 <= numbers[COPY] < copies
            and 0 <= numbers[HAT] < 9
            and 0 < numbers[SCALE] <= 1
            and numbers[OTHERS] >= 0
            and numbers[WIDTH] > 0
        ):
            raise InputError("a round names a bucket or copy that does not exist.")
        return play
