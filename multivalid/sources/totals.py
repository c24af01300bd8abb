"""What is known of all rows before anything is grouped."""

from __future__ import annotations

from dataclasses import dataclass


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
        """Whether labels say whether an event happened: all are 0 or 1, and if all are equal, predictions could be chances.

        A sample of claims may hold none: its labels are all 0, and predictions of 3 are no less right for that.
        """
        return self.binary and (self.least < self.most or not (self.lowest < 0 or self.highest > 1))

    @property
    def effective(self) -> float:
        """Kish's effective number of rows."""
        return self.weight**2 / self.squares
