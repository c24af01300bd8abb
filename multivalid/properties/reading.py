"""How the mean of V is shown to a person: as an observed mean, as coverage, or as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Reading:
    """One way to read V.

    Attributes
    ----------
    name : str
        Heading of a column: what is shown per group.
    axis : str
        Label of the vertical axis of a reliability diagram.
    target : float or None
        Value that perfect predictions give at every level; None where it is the prediction itself (the diagonal).
    percent : bool
        Whether the values are shares.
    moving : bool
        Whether what is observed depends on the predictions: the second coordinate of a pair is observed at the predicted first.

    Examples
    --------
    >>> from multivalid import Expectile, Quantile
    >>> Quantile(0.9).reading.value([12.0], [-0.08]).round(2)
    array([0.82])
    >>> Expectile(0.8).reading.axis
    'mean V (0 is right)'
    """

    name: str
    axis: str
    target: float | None
    percent: bool = False
    moving: bool = False

    def value(self, prediction: Any, identification: Any) -> NDArray[np.float64]:
        """What to show for cells with this mean prediction and mean V."""
        v = np.asarray(identification, dtype=np.float64)
        return np.asarray(prediction, dtype=np.float64) - v if self.target is None else self.target + v


MEAN_V = Reading("mean V", "mean V (0 is right)", 0.0)
OBSERVED_MEAN = Reading("observed", "observed mean", None)
OBSERVED_SHARE = Reading("observed", "observed frequency", None, percent=True)
OBSERVED_GIVEN_FIRST = Reading("observed", "observed", None, moving=True)


def coverage(tau: float) -> Reading:
    """The share of labels at or below the prediction, which should be tau."""
    return Reading("coverage", "coverage", tau, percent=True)
