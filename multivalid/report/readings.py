"""How the mean of V is shown to a person: as an observed mean, as coverage, or as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.properties import EventProbability, Mean, Moment, Property, Quantile
from multivalid.properties.pairs.base import SecondCoordinate


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


def reading_of(prop: Property | SecondCoordinate) -> Reading:
    """The reading of a property.

    Examples
    --------
    >>> from multivalid import Expectile, Quantile
    >>> reading_of(Quantile(0.9)).value([12.0], [-0.08]).round(2)
    array([0.82])
    >>> reading_of(Expectile(0.8)).axis
    'mean V (0 is right)'
    """
    if isinstance(prop, Quantile):
        return Reading("coverage", "coverage", prop.tau, percent=True)
    if isinstance(prop, EventProbability):
        return Reading("observed", "observed frequency", None, percent=True)
    if isinstance(prop, (Mean, Moment)):
        return Reading("observed", "observed mean", None)
    if isinstance(prop, SecondCoordinate) and prop.pair.has_target:
        return Reading("observed", "observed", None, moving=True)
    return Reading("mean V", "mean V (0 is right)", 0.0)
