"""A learner as JSON and back, exactly: floats are written so that they read back to the same bits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from multivalid.errors import ModelFileError
from multivalid.online.draws import Draws
from multivalid.online.play import Play
from multivalid.online.setup import Setup
from multivalid.storage import read_json, write_json

if TYPE_CHECKING:
    from multivalid.online.learner import OnlineMulticalibrator

KIND = "multivalid.online"
VERSION = 1


def to_json(learner: OnlineMulticalibrator) -> dict[str, Any]:
    """Settings and state as plain data."""
    return {
        "kind": KIND,
        "version": VERSION,
        "setup": learner.setup.to_json(),
        "seed": learner._draws.seed,
        "state": state_of(learner),
    }


def state_of(learner: OnlineMulticalibrator) -> dict[str, Any]:
    """What changes from round to round; only cells that were played are written."""
    t = learner._transcript
    cells = np.flatnonzero(t.n.ravel())
    return {
        "draws": learner._draws.used,
        "rounds": t.rounds,
        "weight": t.weight,
        "rows": t.rows.tolist(),
        "cells": cells.tolist(),
        "n": t.n.ravel()[cells].tolist(),
        "r": t.r.ravel()[cells].tolist(),
        "weights": learner._weights.state(),
        "guide": [learner._guide.shift.tolist(), learner._guide.spent.tolist()],
        "next": learner._next,
        "late": learner._late,
        "open": {str(number): play_to_json(play) for number, play in learner._open.items()},
        "pending": None if learner._pending is None else [learner._pending[0].hex(), play_to_json(learner._pending[1])],
    }


def restore(learner: OnlineMulticalibrator, state: dict[str, Any]) -> None:
    """Put a fresh learner of the same settings into `state`."""
    t = learner._transcript
    t.rounds, t.weight = int(state["rounds"]), float(state["weight"])
    t.rows[:] = state["rows"]
    cells = np.asarray(state["cells"], dtype=np.intp)
    t.n.ravel()[cells] = state["n"]
    t.r.ravel()[cells] = state["r"]
    if not (np.isfinite(t.n).all() and np.isfinite(t.r).all() and (t.n >= 0).all()):
        raise ValueError("cells must hold finite numbers")
    learner._weights.restore(state["weights"])
    learner._guide.shift[:], learner._guide.spent[:] = state["guide"]
    learner._draws.rewind(int(state["draws"]))
    learner._next, learner._late = int(state["next"]), int(state["late"])
    learner._open = {int(number): play_from_json(play, t.n.shape) for number, play in state["open"].items()}
    pending = state["pending"]
    learner._pending = None if pending is None else (bytes.fromhex(pending[0]), play_from_json(pending[1], t.n.shape))


def from_json(data: Any) -> OnlineMulticalibrator:
    """The learner that `to_json` described.

    Examples
    --------
    >>> from multivalid.online import OnlineMulticalibrator
    >>> learner = OnlineMulticalibrator("mean", groups=1, m=4, seed=1)
    >>> learner.learn_one([True], 1.0)
    >>> from_json(to_json(learner)).rounds
    1
    """
    from multivalid.online.learner import OnlineMulticalibrator

    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise ModelFileError(f"this is not a saved online learner: its kind is not {KIND!r}.")
    if data.get("version") != VERSION:
        raise ModelFileError(
            f"the learner was saved in version {data.get('version')!r} of the format; this library reads {VERSION}."
        )
    learner = OnlineMulticalibrator.__new__(OnlineMulticalibrator)
    try:
        learner._prepare(Setup.from_json(data["setup"]), Draws(data["seed"]))
        restore(learner, data["state"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"the saved learner is damaged: {error}.") from error
    return learner


def save(learner: OnlineMulticalibrator, path: str | os.PathLike[str]) -> None:
    """Write `to_json` whole or not at all, with a checksum."""
    write_json(path, to_json(learner))


def load(path: str | os.PathLike[str]) -> OnlineMulticalibrator:
    """The learner saved at `path`, as `multivalid.load` reads it too; it goes on exactly where the saved one stood.

    Examples
    --------
    >>> import tempfile, multivalid.online as online
    >>> learner = online.OnlineMulticalibrator("mean", 1, seed=3)
    >>> learner.learn_one([True], 0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learner.save(folder + "/state.json")
    ...     twin = online.load(folder + "/state.json")
    >>> twin.predict_one([True]) == learner.predict_one([True])
    True
    """
    return from_json(read_json(path))


def play_to_json(play: Play) -> list[Any]:
    """A round that was asked, as a list."""
    return [play.active.tolist(), play.level, play.guess, play.seen]


def play_from_json(data: Any, shape: tuple[int, ...]) -> Play:
    """The round that `play_to_json` described."""
    active, level, guess, seen = data
    play = Play(np.asarray(active, dtype=np.intp), int(level), None if guess is None else float(guess), int(seen))
    if not (0 <= play.level < shape[0] and play.active.size and play.active.min() >= 0 and play.active.max() < shape[1]):
        raise ValueError("a round names a group or level that does not exist")
    return play
