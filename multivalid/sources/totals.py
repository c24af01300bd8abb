"""What is known of all rows before anything is grouped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from multivalid.properties.base import Array


@dataclass(frozen=True)
class Totals:
    """Of all rows: how many, Σw, Σw², ends of the predictions and of the labels (`used_*`: of rows with weight).

    `binary` says that every label is 0 or 1.
    """

    rows: int
    weight: float
    squares: float
    lowest: float
    highest: float
    least: float
    most: float
    used_least: float
    used_most: float
    binary: bool = False

    @property
    def of_events(self) -> bool:
        """Whether labels say whether an event happened; see `are_events`."""
        return self.binary and are_events(np.array([self.least, self.most]), np.array([self.lowest, self.highest]))

    @property
    def effective(self) -> float:
        """Kish's effective number of rows."""
        return self.weight**2 / self.squares


def are_events(labels: Array, predictions: Array) -> bool:
    """Whether labels say whether an event happened: all are 0 or 1, and if all are equal, predictions could be chances.

    A sample of claims may hold none: its labels are all 0, and predictions of 3 are no less right for that.

    Examples
    --------
    >>> none, some = np.array([0.0, 0.0]), np.array([0.0, 1.0])
    >>> are_events(none, np.array([0.1, 3.0])), are_events(none, np.array([0.1, 0.2])), are_events(some, np.array([0.1, 3.0]))
    (False, True, True)
    """
    binary = bool(((labels == 0) | (labels == 1)).all())
    return binary and bool(labels.min() < labels.max() or not ((predictions < 0) | (predictions > 1)).any())
