"""What a monitor says: its alarms, its table, a few lines of text, and the content of its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multivalid import validate
from multivalid.errors import InputError
from multivalid.online.times import DATE, show_time
from multivalid.report.origin import made_with

if TYPE_CHECKING:
    from multivalid.online.monitor import GroupAlarm, Monitor

Array = NDArray[np.float64]


def off_now(evidence: Array, delta: float) -> NDArray[np.bool_]:
    """e-BH: the k largest of K values, for the largest k with all of them at least K/(k·delta).

    Examples
    --------
    >>> off_now(np.array([1.0, 35.0, 90.0]), 0.05)
    array([False,  True,  True])
    """
    order = np.argsort(-evidence, kind="stable")
    enough = np.flatnonzero(evidence[order] * np.arange(1, evidence.size + 1) >= evidence.size / delta)
    out = np.zeros(evidence.size, dtype=bool)
    if enough.size:
        out[order[: enough[-1] + 1]] = True
    return out


def alarms_of(monitor: Monitor) -> list[GroupAlarm]:
    """The alarms, in the order raised."""
    from multivalid.online.monitor import GroupAlarm

    found = []
    for watch in monitor._watches:
        bets = watch.bets
        for g in np.flatnonzero(bets.alarm_round >= 0).tolist():
            found.append(
                GroupAlarm(
                    monitor.groups[g], watch.coordinate.name, int(bets.alarm_round[g]) + 1, _moment(monitor, bets.alarm_time[g]),
                    int(bets.alarm_since[g]) + 1, _moment(monitor, bets.alarm_since_time[g]), watch.says(int(bets.alarm_bet[g])),
                    float(bets.evidence[g]),
                )
            )  # fmt: skip
    return sorted(found, key=lambda alarm: alarm.round)


def table_of(monitor: Monitor, last: int | None) -> dict[str, NDArray[Any]]:
    """One row per coordinate and group."""
    watches, setup = monitor._watches, monitor.setup
    if last is None:
        rows, sums = watches[0].bets.rounds, np.stack([watch.bets.sums for watch in watches])
    else:
        last = validate.count(last, "last")
        if last > setup.window:
            raise InputError(f"last must be at most window={setup.window}, got {last}; make the monitor with a larger window.")
        rows, sums = monitor._recent.sums(last, monitor.rounds)

    def each(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(watch.bets, name) for watch in watches])

    evidence = each("evidence")
    return {
        **_who(monitor, 1),
        "rows": np.tile(rows, len(watches)),
        "gap": _means(sums, rows).ravel(),
        "evidence": evidence,
        "peak": each("peak"),
        "off_now": off_now(evidence, setup.delta),
        "alarm": each("alarm_round") >= 0,
        "alarm_round": np.where(each("alarm_round") >= 0, each("alarm_round") + 1, 0),
        "since": np.where(each("alarm_round") >= 0, each("alarm_since") + 1, 0),
    }


def periods_of(monitor: Monitor) -> dict[str, NDArray[Any]]:
    """One row per period, coordinate and group."""
    if monitor.setup.period is None:
        raise InputError("by_period needs a monitor that was made with period=, for instance period='month'.")
    kept = sorted(monitor._periods.kept.items())
    size = len(monitor.groups) * len(monitor._watches)
    starts = [_moment(monitor, start) for start, _ in kept for _ in range(size)]
    return {
        "period": np.array(starts),
        **_who(monitor, len(kept)),
        "rows": np.concatenate([np.tile(rows, len(monitor._watches)) for _, (rows, _) in kept] or [np.zeros(0, dtype=np.int64)]),
        "gap": np.concatenate([_means(sums, rows).ravel() for _, (rows, sums) in kept] or [np.zeros(0)]),
    }


def summary_of(monitor: Monitor) -> str:
    """A few lines for a terminal."""
    setup, alarms = monitor.setup, monitor.alarms
    slack = f", tolerance {setup.tolerance:g}" if setup.tolerance else ""
    lines = [f"monitor of {setup.watched.target!r}: {monitor.rounds:,} rounds, {len(monitor.groups)} groups{slack}"]
    if not alarms:
        lines.append(
            f"  no alarm; if every group's predictions are right, the chance of ever raising one is at most {setup.delta:g}"
        )
    if monitor._outside:
        lines.append(f"  {_out_of_range(monitor)}")
    lines += [f"  ALARM {sentence(monitor, alarm)}" for alarm in alarms]
    table = table_of(monitor, None)
    named = {(alarm.group, alarm.coordinate) for alarm in alarms}
    for i in np.flatnonzero(table["off_now"]).tolist():
        if (table["name"][i], table["coordinate"][i]) not in named:
            lines.append(
                f"  off by e-BH at level {setup.delta:g}, without an alarm: {_name(table['name'][i], table['coordinate'][i])}"
            )
    return "\n".join(lines)


def sentence(monitor: Monitor, alarm: GroupAlarm) -> str:
    """One alarm as a sentence."""
    kind = None if monitor._clock is None else monitor._clock[0]
    at, since = f"round {alarm.round:,}", f"round {alarm.since:,}"
    if kind is not None:
        at, since = f"{at} ({_text(alarm.time, kind)})", f"{since} ({_text(alarm.since_time, kind)})"
    return f"{_name(alarm.group, alarm.coordinate)}: {alarm.says}; raised at {at}, most likely since {since} (an estimate)"


def content_of(monitor: Monitor, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Everything the page shows, ready for JSON."""
    table, alarms = table_of(monitor, None), monitor.alarms
    place = {(name, of): i for i, (name, of) in enumerate(zip(table["name"], table["coordinate"], strict=True))}
    points, setup = monitor._trace.points, monitor.setup
    kind = None if monitor._clock is None else monitor._clock[0]
    return {
        "kind": "multivalid.monitor_report", "version": 1,
        "title": f"Monitor of {setup.watched.target!r}",
        "verdict": _verdict(monitor, len(alarms)),
        "rounds": monitor.rounds, "delta": setup.delta, "tolerance": setup.tolerance,
        "threshold": setup.hypotheses / setup.delta,
        "alarms": [
            {
                **alarm.to_json(), "called": _name(alarm.group, alarm.coordinate), "sentence": sentence(monitor, alarm),
                "trace": [[rounds, logs[place[alarm.group, alarm.coordinate]]] for rounds, _, logs in points],
            }
            for alarm in alarms
        ],
        "groups": [
            {name: _plain(column[i]) for name, column in table.items()} | {"called": _name(table["name"][i], table["coordinate"][i])}
            for i in np.argsort(-table["evidence"], kind="stable").tolist()
        ],
        "time": None if kind is None or monitor._clock is None else {"kind": kind, "last": show_time(monitor._clock[1], kind)},
        "settings": {
            **settings, "property": repr(setup.watched.target), "rounds": monitor.rounds, "groups": list(monitor.groups),
            "level": setup.delta, "tolerance": setup.tolerance, **made_with(),
        },
    }  # fmt: skip


def _verdict(monitor: Monitor, alarms: int) -> str:
    found = f"{alarms} alarm{'s' if alarms > 1 else ''}" if alarms else "No alarm"
    return (
        f"{found} in {len(monitor.groups)} groups, {monitor.rounds:,} rounds. While the predictions of every group are right, "
        f"the chance of ever raising one is at most {monitor.setup.delta:g}."
        + (f" {_out_of_range(monitor)}." if monitor._outside else "")
    )


def _out_of_range(monitor: Monitor) -> str:
    """What happened to predictions that no label could bear out."""
    count, ends = monitor._outside, monitor.setup.watched.coordinates[0].range  # those of a pair have no ends
    return f"{count:,} prediction{'s' if count > 1 else ''} outside ({ends.lo:g}, {ends.hi:g}) judged as the nearer end of it"


def _who(monitor: Monitor, times: int) -> dict[str, NDArray[Any]]:
    names = [name for _ in monitor._watches for name in monitor.groups]
    of = [watch.coordinate.name for watch in monitor._watches for _ in monitor.groups]
    return {"name": np.array(names * times, dtype=object), "coordinate": np.array(of * times, dtype=object)}


def _name(group: str, coordinate: str) -> str:
    return f"{group}, {coordinate}" if coordinate else group


def _means(sums: Array, rows: NDArray[np.int64]) -> Array:
    return np.where(rows > 0, sums / np.maximum(rows, 1), np.nan)


def _moment(monitor: Monitor, time: float) -> Any:
    if monitor._clock is None:
        return None
    return np.datetime64(round(float(time)), "us") if monitor._clock[0] == DATE else float(time)


def _text(time: Any, kind: str) -> str:
    return show_time(float(time.astype(np.int64)) if kind == DATE else time, kind)


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value
