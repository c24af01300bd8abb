"""A guess where the property is, for streams that come without a model's prediction.

The crossing rule keeps its promise at any crossing; a guess only says which one to take, and so makes the predictions sharp.
This one is a sum of one number per group, each moved against V after every outcome, with steps that shrink as evidence comes in.
It can be arbitrarily wrong without any harm to calibration.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]

RATE = 0.1  # of the range per first step; 0.05 follows jumps too slowly, 0.2 is noisier


class Guide:
    """An additive running estimate over groups.

    Examples
    --------
    >>> guide = Guide(2, 0.0, 1.0)
    >>> guide.guess(np.array([0, 1]))
    0.5
    >>> guide.learn(np.array([0, 1]), -1.0)
    >>> guide.guess(np.array([0, 1])) > 0.5
    True
    """

    def __init__(self, groups: int, lo: float, hi: float) -> None:
        self.lo, self.hi = lo, hi
        self.shift: Array = np.zeros(groups)
        self.shift[0] = (lo + hi) / 2
        self.spent: Array = np.zeros(groups)
        self._step = RATE * (hi - lo)

    def guess(self, active: Index) -> float:
        """Where the property may be for these groups."""
        return min(self.hi, max(self.lo, float(np.add.reduce(self.shift[active]))))

    def learn(self, active: Index, value: float) -> None:
        """Move against `value`, which is V at the guess divided by its bound, times the weight."""
        spent = self.spent[active] + value * value
        self.spent[active] = spent
        self.shift[active] -= self._step * value / np.sqrt(1.0 + spent)
