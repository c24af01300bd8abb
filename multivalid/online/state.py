"""A learner as JSON and back, exactly: floats are written so that they read back to the same bits."""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, Any

from multivalid.errors import ModelFileError
from multivalid.online import checks
from multivalid.online.draws import Draws
from multivalid.online.setups import setup_from_json
from multivalid.storage import read_json, write_json

if TYPE_CHECKING:
    from multivalid.online.learner import OnlineMulticalibrator

KIND = "multivalid.online"
VERSION = 2


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
    """What changes from round to round."""
    engine, pending = learner._engine, learner._pending
    return {
        "draws": learner._draws.used,
        "next": learner._next,
        "open": {str(number): engine.play_to_json(play) for number, play in learner._open.items()},
        "keys": {str(number): key for number, key in learner._key_of.items()},
        "pending": None if pending is None else [pending.active.tobytes().hex(), engine.play_to_json(pending)],
        "engine": engine.state(),
    }


def restore(learner: OnlineMulticalibrator, state: dict[str, Any]) -> None:
    """Put a fresh learner of the same settings into `state`."""
    engine, pending = learner._engine, state["pending"]
    engine.restore(state["engine"])
    learner._draws.rewind(int(state["draws"]))
    learner._next = int(state["next"])
    learner._open = {int(number): engine.play_from_json(play) for number, play in state["open"].items()}
    learner._key_of = {int(number): checks.key(key) or key for number, key in state["keys"].items()}
    learner._keys = {key: number for number, key in learner._key_of.items()}
    if not set(learner._key_of) <= set(learner._open) or len(learner._keys) != len(learner._key_of):
        raise ValueError("keys must name open tickets, each its own")
    learner._pending = None if pending is None else engine.play_from_json(pending[1])
    engine.reopen(learner._open.values())


def from_json(data: Any) -> OnlineMulticalibrator:
    """The learner that `to_json` described.

    Examples
    --------
    >>> from multivalid.online import OnlineMulticalibrator
    >>> learner = OnlineMulticalibrator("mean", groups=1)
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
        learner._prepare(setup_from_json(data["setup"]), Draws(data["seed"]))
        restore(learner, data["state"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, zlib.error) as error:
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
    >>> learner = online.OnlineMulticalibrator("mean", 1)
    >>> learner.learn_one([True], 0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learner.save(folder + "/state.json")
    ...     twin = online.load(folder + "/state.json")
    >>> twin.predict_one([True]) == learner.predict_one([True])
    True
    """
    return from_json(read_json(path))
