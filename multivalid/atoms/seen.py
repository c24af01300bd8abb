"""What was seen of some rows: how many there are, what is missing or wrong, and how far values reach. It adds up over parts of the rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.sources.totals import Totals
from multivalid.validate import UNKNOWN


class Seen(NamedTuple):
    """Of some rows: number, Σw, Σw², ends of predictions and labels (`used_*`: of rows with weight), labels that are neither 0 nor 1, rows
    without weight, values that are missing or infinite, and weights below zero."""

    rows: float = 0
    weight: float = 0.0
    squares: float = 0.0
    lowest: float = math.nan
    highest: float = math.nan
    least: float = math.nan
    most: float = math.nan
    used_least: float = math.nan
    used_most: float = math.nan
    others: float = 0
    weightless: float = 0
    no_label: float = 0
    no_prediction: float = 0
    no_weight: float = 0
    negative: float = 0

    @classmethod
    def of(cls, labels: NDArray[Any], predictions: NDArray[Any], weights: NDArray[Any] | None = None) -> Seen:
        """Of columns in memory; without weights every weight is one."""
        if not labels.size:
            return cls()
        lowest, highest, no_prediction = _ends(predictions)
        least, most, no_label = _ends(labels)
        events = {least, most} <= {0.0, 1.0}
        others = int(np.count_nonzero((labels != 0) & (labels != 1))) if events or no_label else 1
        rows = labels.size
        if weights is None:
            return cls(rows, rows, rows, lowest, highest, least, most, least, most, others, 0, no_label, no_prediction)
        used, w = weights > 0, weights.astype(np.float64, copy=False)
        ends = _ends(labels[used])[:2] if used.any() else (math.nan, math.nan)
        _, _, no_weight = _ends(weights)
        return cls(
            rows, float(w.sum()), float(w @ w), lowest, highest, least, most, *ends, others, int(np.count_nonzero(~used)), no_label,
            no_prediction, no_weight, int(np.count_nonzero(weights < 0)),
        )  # fmt: skip

    def plus(self, other: Seen) -> Seen:
        """Of these rows and others."""
        made = [a + b for a, b in zip(self, other, strict=True)]
        for i in (3, 5, 7):
            made[i], made[i + 1] = np.fmin(self[i], other[i]), np.fmax(self[i + 1], other[i + 1])
        return Seen(*(float(value) for value in made))

    def totals(self) -> Totals:
        """What is known of the rows before anything is grouped."""
        binary = bool(self.rows) and self.others == 0
        return Totals(
            int(self.rows), self.weight, self.squares, self.lowest, self.highest, self.least, self.most, self.used_least,
            self.used_most, binary,
        )  # fmt: skip

    def check(self, y_true: Any, y_pred: Any, sample_weight: Any) -> None:
        """Refuse values that are missing or infinite, negative weights, and weights that are all zero."""
        columns = [(y_true, "y_true", self.no_label), (y_pred, "y_pred", self.no_prediction)]
        complete(self.rows, [*columns, *([] if sample_weight is None else [(sample_weight, "sample_weight", self.no_weight)])])
        if sample_weight is None:
            return
        if self.negative:
            raise InputError(
                f"sample_weight must not be negative: {self.negative:.0f} negative values; set rows to leave out to 0."
            )
        if self.weight == 0:
            raise InputError("sample_weight is zero for every row; at least one row needs a positive weight.")


def _ends(values: NDArray[Any]) -> tuple[float, float, int]:
    """Least and largest value, and how many are missing or infinite."""
    least, most = float(values.min()), float(values.max())  # both are nan where one is missing
    wrong = 0 if math.isfinite(least) and math.isfinite(most) else int(np.count_nonzero(~np.isfinite(values)))
    return least, most, wrong


def complete(rows: float, columns: Iterable[tuple[Any, str, float]]) -> None:
    """Refuse columns with missing values: what each is called, the argument that names it, and how many there are."""
    if rows == 0:
        raise InputError("y_true is empty: at least one row is needed.")
    for name, argument, count in columns:
        if count:
            raise InputError(
                f"{argument}={name!r} has {count:.0f} missing or infinite values; drop those rows or fill them in before calling"
                f"{UNKNOWN if argument == 'y_true' else ''}."
            )
