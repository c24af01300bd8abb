"""A monitor as JSON and back, exactly: floats are written so that they read back to the same bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from multivalid.errors import ModelFileError
from multivalid.online import members
from multivalid.online.evidence import COUNTS, NUMBERS
from multivalid.online.watch import Watch

if TYPE_CHECKING:
    from multivalid.online.monitor import Monitor, MonitorSetup

KIND, VERSION = "multivalid.monitor", 1


def to_json(monitor: Monitor) -> dict[str, Any]:
    """Settings and state as plain data."""
    return {"kind": KIND, "version": VERSION, "setup": monitor.setup.to_json(), "state": state_of(monitor)}


def from_json(data: Any) -> Monitor:
    """The monitor that `to_json` described.

    Examples
    --------
    >>> from multivalid.online.monitor import Monitor
    >>> monitor = Monitor("mean", groups=1)
    >>> monitor.update([True], 0.3, 1)
    >>> from_json(monitor.to_json()).rounds
    1
    """
    from multivalid.online.monitor import Monitor

    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise ModelFileError(f"this is not a saved monitor: its kind is not {KIND!r}.")
    if data.get("version") != VERSION:
        raise ModelFileError(
            f"the monitor was saved in version {data.get('version')!r} of the format; this library reads {VERSION}."
        )
    try:
        monitor = Monitor(**settings(data["setup"]))
        restore(monitor, data["state"])
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ModelFileError(f"the saved monitor is damaged: {error}.") from error
    return monitor


def settings(data: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a monitor from its saved settings."""
    made = {**data, "groups": members.from_json(data["groups"])}
    if data["labels"] is not None:
        made["labels"] = tuple(data["labels"])
    return made


def differences(stored: MonitorSetup, given: MonitorSetup) -> list[str]:
    """Settings that are not the same, in words."""
    mine, theirs = given.to_json(), stored.to_json()
    return [f"{name} ({theirs[name]} in the file, {mine[name]} now)" for name in mine if mine[name] != theirs[name]]


def state_of(monitor: Monitor) -> dict[str, Any]:
    """What changes from round to round."""
    return {
        "rounds": monitor._rounds,
        "outside": monitor._outside,
        "clock": None if monitor._clock is None else list(monitor._clock),
        "first": monitor._first,
        "watches": [_watch_to_json(watch) for watch in monitor._watches],
        "recent": [monitor._recent.member.tolist(), monitor._recent.value.tolist()] if monitor._rounds else None,
        "periods": monitor._periods.to_json(),
        "trace": [monitor._trace.stride, [list(point) for point in monitor._trace.points]],
    }


def restore(monitor: Monitor, state: dict[str, Any]) -> None:
    """Put a fresh monitor of the same settings into `state`; a `ValueError` says what cannot be."""
    monitor._rounds = rounds = whole(state["rounds"])
    monitor._outside = whole(state.get("outside", 0))
    if monitor._outside > rounds:
        raise ValueError(f"{monitor._outside} predictions out of range do not go with {rounds} rounds")
    clock = state["clock"]
    if clock is not None and clock[0] not in ("number", "date"):
        raise ValueError(f"{clock[0]!r} is not a kind of time")
    monitor._clock = None if clock is None else (clock[0], float(clock[1]))
    monitor._first = _numbers(state["first"], (len(state["first"]), len(monitor._watches))).tolist() if state["first"] else []
    if (len(monitor._first) == rounds) != (monitor._learning or rounds == 0) and monitor._learning:
        raise ValueError(f"{len(monitor._first)} first predictions do not go with {rounds} rounds")
    if len(state["watches"]) != len(monitor._watches):
        raise ValueError("the number of coordinates does not fit the property")
    for watch, data in zip(monitor._watches, state["watches"], strict=True):
        _restore_watch(watch, data, rounds)
    if state["recent"] is not None:
        recent = monitor._recent
        recent.member[:] = np.array(state["recent"][0], dtype=np.uint8).reshape(recent.member.shape)
        recent.value[:] = _numbers(state["recent"][1], recent.value.shape)
    monitor._periods.restore(state["periods"])
    stride, points = state["trace"]
    monitor._trace.stride = max(whole(stride), 1)
    monitor._trace.points = [
        (whole(at), float(time), _numbers(logs, (monitor._trace.groups,)).tolist()) for at, time, logs in points
    ]


def _watch_to_json(watch: Watch) -> dict[str, Any]:
    arrays = {name: getattr(watch.bets, name).ravel().tolist() for name in (*NUMBERS, *COUNTS)}
    return {"edges": None if watch.edges is None else watch.edges.tolist(), **arrays}


def _restore_watch(watch: Watch, data: dict[str, Any], rounds: int) -> None:
    if data["edges"] is not None:
        edges = _numbers(data["edges"], (watch.buckets - 1,))
        if (np.diff(edges) < 0).any():
            raise ValueError("edges of buckets must not fall")
        watch.set_edges(edges)
    for name in NUMBERS:
        kept = getattr(watch.bets, name)
        kept[...] = _numbers(data[name], (kept.size,)).reshape(kept.shape)
        if name not in ("sums", "begun_time", "alarm_time", "alarm_since_time") and (kept < 0).any():
            raise ValueError(f"{name} must not be negative")
    for name in COUNTS:
        kept = getattr(watch.bets, name)
        values = _numbers(data[name], (kept.size,))
        if (values != np.floor(values)).any() or (values < -1).any():
            raise ValueError(f"{name} must hold whole numbers")
        kept[...] = values.reshape(kept.shape)
    bets = watch.bets
    if (
        (bets.rounds > rounds).any()
        or bets.rounds[0] != rounds
        or (bets.begun > rounds).any()
        or (bets.alarm_round >= rounds).any()
    ):
        raise ValueError("counts of rounds contradict each other")
    if (bets.alarm_bet >= bets.wealth[0].size).any() or ((bets.alarm_bet < 0) != (bets.alarm_round < 0)).any():
        raise ValueError("an alarm names a bet that does not exist")


def _numbers(values: Any, shape: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.float64]]:
    array = np.array(values, dtype=np.float64)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"expected finite numbers of shape {shape}, got shape {array.shape}")
    return array


def whole(value: Any) -> int:
    """A count read from a file, or a `ValueError`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} is not a number of rounds")
    return value
