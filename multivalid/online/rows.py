"""Rounds as a monitor is given them, read and checked as a whole: whatever is wrong is found before anything changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.errors import InputError
from multivalid.online.columns import column, numbers
from multivalid.online.times import read_times

if TYPE_CHECKING:
    from multivalid.online.monitor import MonitorSetup

Array = NDArray[np.float64]
ROUNDING = 1e-9  # of the bound of V


@dataclass(frozen=True)
class Rows:
    """Rounds in order: groups, predictions (one column per coordinate), outcomes, V (the same columns), times and their kind."""

    member: NDArray[np.bool_]
    predictions: Array
    y: Array
    values: Array
    time: Array
    kind: str | None

    @property
    def count(self) -> int:
        """How many rounds."""
        return len(self.y)

    def part(self, start: int, stop: int) -> Rows:
        """Some of them."""
        at = slice(start, stop)
        return Rows(self.member[at], self.predictions[at], self.y[at], self.values[at], self.time[at], self.kind)


def read_row(setup: MonitorSetup, x: Any, prediction: Any, y: Any, time: Any) -> Rows:
    """One round."""
    given = [prediction] if np.isscalar(prediction) or prediction is None else list(prediction)
    numbers = [float(one) if isinstance(one, (bool, np.bool_)) else validate.real(one, "prediction") for one in given]
    outcome = float(y) if isinstance(y, (bool, np.bool_)) else validate.real(y, "y")
    return make_rows(setup, setup.members.row(x)[None], np.array([numbers]), np.array([outcome]), None if time is None else [time])


def read_rows(setup: MonitorSetup, frame: Any, prediction: Any, y: Any, time: Any) -> Rows:
    """Many rounds; `prediction`, `y` and `time` are arrays or columns of `frame`."""
    member = setup.members.rows(frame)
    size, width = len(member), len(setup.watched.coordinates)
    if width == 1:
        columns = [prediction]
    elif isinstance(prediction, (list, tuple)) and len(prediction) == width:
        columns = list(prediction)
    else:
        pairs = np.asarray(prediction)
        if pairs.shape != (size, width):
            raise InputError(
                f"prediction must have {width} columns, got {'a name' if isinstance(prediction, str) else pairs.shape}."
            )
        columns = list(pairs.T)
    predictions = [numbers(frame, one, "prediction", size) for one in columns]
    return make_rows(
        setup, member, np.stack(predictions, axis=1), numbers(frame, y, "y", size),
        column(frame, time, "time") if isinstance(time, str) else time,
    )  # fmt: skip


def make_rows(setup: MonitorSetup, member: NDArray[np.bool_], predictions: Array, y: Array, time: Any) -> Rows:
    """Rows whose V and times are known to be sound."""
    if predictions.shape[1] != len(setup.watched.coordinates):
        raise InputError(f"prediction must have {len(setup.watched.coordinates)} numbers per row, got {predictions.shape[1]}.")
    setup.watched.check(predictions, y)
    times, kind = (np.zeros(y.size), None) if time is None else read_times(time, y.size)
    values = [_check_values(one, predictions, y) for one in setup.watched.coordinates]
    return Rows(member, predictions, y, np.stack(values, axis=1), times, kind)


def _check_values(coordinate: Any, predictions: Array, y: Array) -> Array:
    """V of each row; bounds that come from a user's function are held against what it gives."""
    prediction, value = coordinate.prediction(predictions), coordinate.identify(predictions, y)
    least, most = coordinate.v_range(prediction, prediction)
    slack = ROUNDING * (1.0 + np.abs(value))
    wrong = np.flatnonzero(~((value >= least - slack) & (value <= most + slack)))
    if wrong.size:
        at = int(wrong[0])
        raise InputError(
            f"V must lie in [{least[at]:g}, {most[at]:g}] for a prediction of {prediction[at]:g}, but it is {value[at]:g} in row {at} "
            f"(y={y[at]:g}); the property's own bounds are not true for these labels."
        )
    return np.asarray(value, dtype=np.float64)
