"""Many rows at once: mini-batches, and the replay of a history. Every value is checked before the first row is learned."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.errors import InputError
from multivalid.online.members import eager

if TYPE_CHECKING:
    from multivalid.online.learner import OnlineMulticalibrator
    from multivalid.online.play import Play

Array = NDArray[np.float64]
Bits = NDArray[np.bool_]
BLOCK = 4096


def predict_many(learner: OnlineMulticalibrator, data: Any, base: Any) -> Array:
    """One draw per row, all from the present state."""
    bits = learner.setup.members.rows(data)
    plays = _plays(learner, bits, _numbers(data, base, "base", len(bits)))
    learner._pending_many = [(row.tobytes(), play) for row, play in zip(bits, plays, strict=True)]
    return np.asarray(learner.grid.points[[play.level for play in plays]])


def learn_many(learner: OnlineMulticalibrator, data: Any, y: Any, weight: Any) -> None:
    """The outcomes of a batch, in order; kept together or not at all."""
    bits = learner.setup.members.rows(data)
    labels, weights = _outcomes(learner, data, y, weight, len(bits))
    used = learner._draws.used
    pending = learner._pending_many
    if pending is not None and [key for key, _ in pending] == [row.tobytes() for row in bits]:
        plays = [play for _, play in pending]
    else:
        plays = _plays(learner, bits, None)
    shown = [learner._jittered(label) for label in labels]
    learner._keep(used, learner._record_rounds, plays, shown, weights)
    learner._pending_many = None
    learner._next += len(plays)
    for play, label, w in zip(plays, shown, weights, strict=True):
        learner._apply(play, label, w)


def replay(learner: OnlineMulticalibrator, data: Any, y: Any, *, base: Any, weight: Any, time: str | None, progress: bool) -> Array:
    """Each row predicted, then learned; predictions come back in the order of `data`."""
    size = _length(data)
    labels, weights = _outcomes(learner, data, y, weight, size)
    given = _numbers(data, base, "base", size)
    # Packed: one bit per row and group, so that even a long history fits.
    packed = [np.packbits(learner.setup.members.rows(part), axis=1) for part in _parts(data, size)]
    bits = np.concatenate(packed) if packed else np.zeros((0, 1), dtype=np.uint8)
    order = np.arange(size) if time is None else np.argsort(_column(data, time, "time"), kind="stable")
    out = np.empty(size)
    for done, i in enumerate(order.tolist()):
        active = np.flatnonzero(np.unpackbits(bits[i], count=len(learner.groups)))
        used = learner._draws.used
        play = learner._play(active, None if given is None else given.item(i))
        shown = learner._jittered(labels[i])
        learner._keep(used, learner._record_rounds, [play], [shown], [weights[i]])
        learner._next += 1
        learner._apply(play, shown, weights[i])
        out[i] = learner.grid.points[play.level]
        if progress and (done % 500 == 499 or done + 1 == size):
            _show(done + 1, size, learner.error())
    return out


# ---- inside ------------------------------------------------------------------------------------------------------------
def _plays(learner: OnlineMulticalibrator, bits: Bits, given: Array | None) -> list[Play]:
    return [learner._play(np.flatnonzero(row), None if given is None else given.item(i)) for i, row in enumerate(bits)]


def _outcomes(learner: OnlineMulticalibrator, data: Any, y: Any, weight: Any, size: int) -> tuple[list[float], list[float]]:
    labels = _numbers(data, y, "y", size)
    if labels is None:
        raise InputError("y must be an array of outcomes, or the name of a column of data, got None.")
    lo, hi = learner.setup.labels
    outside = np.flatnonzero((labels < lo) | (labels > hi))
    if outside.size:
        raise InputError(
            f"y must lie in labels=({lo:g}, {hi:g}): {outside.size} values do not, the first at row {outside[0]} "
            f"({labels[outside[0]]:g}); make the learner with a wider range."
        )
    weights = _numbers(data, weight, "weight", size)
    if weights is None:
        return labels.tolist(), [1.0] * size
    if ((weights < 0) | (weights > 1)).any():
        raise InputError("weight must lie in [0, 1] in every row; divide all weights by the largest one possible.")
    return labels.tolist(), weights.tolist()


def _numbers(data: Any, values: Any, name: str, size: int) -> Array | None:
    if values is None:
        return None
    if isinstance(values, str):
        values = _column(data, values, name)
    if size == 0:
        return np.zeros(0)
    array = validate.vector(values, name)
    if array.size != size:
        raise InputError(f"{name} has {array.size} values but data has {size} rows; both must describe the same rows.")
    return array


def _column(data: Any, column: str, name: str) -> NDArray[Any]:
    if isinstance(data, Sequence):
        try:
            return np.asarray([row[column] for row in data])
        except (KeyError, TypeError, IndexError):
            raise InputError(f"{name}={column!r}: not every row of data has this feature.") from None
    if isinstance(data, np.ndarray):
        raise InputError(f"{name}={column!r} is the name of a column, but data is an array; pass the values instead.")
    frame = eager(data)
    if column not in frame.columns:
        raise InputError(f"{name}={column!r} is not a column of data; its columns: {frame.columns}.")
    return np.asarray(frame[column].to_numpy())


def _length(data: Any) -> int:
    return len(data) if isinstance(data, (Sequence, np.ndarray)) else len(eager(data))


def _parts(data: Any, size: int) -> Iterator[Any]:
    plain = isinstance(data, (Sequence, np.ndarray))
    source = data if plain else eager(data)
    for start in range(0, size, BLOCK):
        part = source[start : start + BLOCK]
        yield part if plain else part.to_native()


def _show(done: int, size: int, error: float) -> None:
    filled = 30 * done // size
    end = "\n" if done == size else ""
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {done:,}/{size:,} rounds, error {error:.2e}{end}")
    sys.stderr.flush()
