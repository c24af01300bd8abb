"""Many rows at once: mini-batches, and the replay of a history. Every value is checked before the first row is learned."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.groups.frames import enter
from multivalid.online.columns import column, numbers
from multivalid.online.times import read_times

if TYPE_CHECKING:
    from multivalid.online.learner import OnlineMulticalibrator

Array = NDArray[np.float64]
Bits = NDArray[np.bool_]
Index = NDArray[np.int64]
BLOCK = 4096


def predict_many(learner: OnlineMulticalibrator, data: Any, base: Any) -> Array:
    """All from the present state."""
    bits = learner.setup.members.rows(data)
    plays = _plays(learner, bits, _bases(learner, data, base, len(bits)))
    learner._pending_many = [(row.tobytes(), play) for row, play in zip(bits, plays, strict=True)]
    return np.array([play.prediction for play in plays], dtype=np.float64)


def learn_many(learner: OnlineMulticalibrator, data: Any, y: Any, weight: Any) -> None:
    """The outcomes of a batch, in order; kept together or not at all."""
    bits = learner.setup.members.rows(data)
    labels, weights = _outcomes(learner, data, y, weight, len(bits))
    used, engine = learner._draws.used, learner._engine
    pending = learner._pending_many
    if pending is not None and [key for key, _ in pending] == [row.tobytes() for row in bits]:
        plays = [play for _, play in pending]
    else:
        plays = _plays(learner, bits, None)
    shown = [engine.shown(label, learner._draws) for label in labels.tolist()]
    learner._keep(used, learner._record_rounds, plays, shown, weights.tolist())
    learner._pending_many = None
    learner._next += len(plays)
    for play in plays:
        engine.begin(play)
    for play, label, w in zip(plays, shown, weights.tolist(), strict=True):
        engine.settle(play, label, w)


def replay(learner: OnlineMulticalibrator, data: Any, y: Any, *, base: Any, weight: Any, time: str | None, progress: bool) -> Array:
    """Each row predicted, then learned; predictions come back in the order of `data`."""
    size = _length(data)
    labels, weights = _outcomes(learner, data, y, weight, size)
    given = _bases(learner, data, base, size)
    # Packed: one bit per row and group, so that even a long history fits.
    packed = [np.packbits(learner.setup.members.rows(part), axis=1) for part in _parts(data, size)]
    bits = np.concatenate(packed) if packed else np.zeros((0, 1), dtype=np.uint8)
    order = None if time is None else np.argsort(read_times(column(data, time, "time"), size)[0], kind="stable")
    out = np.empty(given.shape)
    for start in range(0, size, BLOCK):
        rows = slice(start, start + BLOCK) if order is None else order[start : start + BLOCK]
        members = np.unpackbits(bits[rows], axis=1, count=len(learner.groups)).view(bool)
        out[rows] = _replay_block(learner, members, given[rows], labels[rows], weights[rows])
        if progress:
            engine = learner._engine  # a durable learner answers nobody while a call is under way
            _show(min(start + BLOCK, size), size, float(engine.squared().max() / max(engine.weight, 1e-300)))
    return out


# ---- inside ------------------------------------------------------------------------------------------------------------
def _replay_block(learner: OnlineMulticalibrator, members: Bits, base: Array, labels: Array, weights: Array) -> Array:
    """At once where the algorithm can and nothing is to be recorded, else row by row."""
    out, done = np.empty(base.shape), 0
    while done < labels.size:
        made = None
        if not learner._keeps_rounds:
            part = slice(done, None)
            made = learner._engine.replay(members[part], base[part], labels[part], weights[part])
        if made is None:
            made = np.array([_one(learner, members[done].nonzero()[0], base[done], labels[done], weights[done])])
        else:
            learner._next += len(made)
        out[done : done + len(made)] = made
        done += len(made)
    return out


def _one(learner: OnlineMulticalibrator, active: Index, base: Any, label: float, weight: float) -> Any:
    used, engine = learner._draws.used, learner._engine
    play = engine.play(active, None if np.isnan(base).any() else engine.check_base(base), learner._draws)
    shown = engine.shown(float(label), learner._draws)
    learner._keep(used, learner._record_rounds, [play], [shown], [float(weight)])
    learner._next += 1
    engine.begin(play)
    engine.settle(play, shown, float(weight))
    return play.prediction


def _plays(learner: OnlineMulticalibrator, bits: Bits, given: Array | None) -> list[Any]:
    base = _bases(learner, None, None, len(bits)) if given is None else given
    return learner._engine.plays([np.flatnonzero(row) for row in bits], base, learner._draws) if len(bits) else []


def _bases(learner: OnlineMulticalibrator, data: Any, base: Any, size: int) -> Array:
    """One number per row, or one per row and level; NaN where no base is given."""
    columns = learner._engine.columns
    if columns == 1:
        return np.full(size, np.nan) if base is None else numbers(data, base, "base", size)
    if base is None:
        return np.full((size, columns), np.nan)
    parts = list(base) if isinstance(base, (list, tuple)) else list(np.asarray(base).T)
    if len(parts) != columns:
        raise InputError(f"base must have one column for each of the {columns} levels, got {len(parts)}.")
    return np.stack([numbers(data, part, "base", size) for part in parts], axis=1)


def _outcomes(learner: OnlineMulticalibrator, data: Any, y: Any, weight: Any, size: int) -> tuple[Array, Array]:
    labels = numbers(data, y, "y", size)
    learner._engine.check_labels(labels)
    if weight is None:
        return labels, np.ones(size)
    weights = numbers(data, weight, "weight", size)
    if ((weights < 0) | (weights > 1)).any():
        raise InputError("weight must lie in [0, 1] in every row; divide all weights by the largest one possible.")
    return labels, weights


def _length(data: Any) -> int:
    return len(data) if isinstance(data, (Sequence, np.ndarray)) else len(enter(data))


def _parts(data: Any, size: int) -> Iterator[Any]:
    plain = isinstance(data, (Sequence, np.ndarray))
    source = data if plain else enter(data)
    for start in range(0, size, BLOCK):
        part = source[start : start + BLOCK]
        yield part if plain else part.to_native()


def _show(done: int, size: int, error: float) -> None:
    filled = 30 * done // size
    end = "\n" if done == size else ""
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {done:,}/{size:,} rounds, error {error:.2e}{end}")
    sys.stderr.flush()
