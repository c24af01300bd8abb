"""The year one flight at a time, and a watch over a model that nobody corrects."""

from __future__ import annotations

from typing import Any

import numpy as np

import multivalid as mv
from multivalid.demo import flights as data
from multivalid.demo.correct import SMALLEST
from multivalid.demo.telling import line, say, table

EVERY = 5  # the replay takes every fifth flight
RANGE = (-60.0, 360.0)  # minutes; the few flights beyond count as at the end


def replay(flights: Any) -> dict[str, Any]:
    """The year once more: the learner hears how late each flight was before it sees the next."""
    from multivalid.online import OnlineMulticalibrator

    stream = flights.iloc[::EVERY].reset_index(drop=True)
    stream["arr_delay"] = stream["arr_delay"].clip(*RANGE)
    groups = mv.Groups(["carrier", "origin", "hour", "month"], min_size=SMALLEST).fit(stream)
    learner = OnlineMulticalibrator(f"quantile:{data.TAU}", groups, labels=RANGE)
    stream["online"] = learner.replay(stream, "arr_delay", base="plain")
    monthly = {
        name: stream.assign(within=stream["arr_delay"] <= stream[column]).groupby("month")["within"].mean()
        for name, column in (("model", "plain"), ("online", "online"))
    }
    say(
        "8. Online",
        f"The plain model, every {EVERY}th flight of the year ({learner.rounds:,}), one by one, each outcome known before the next limit:",
    )
    for name, shares in monthly.items():
        line(f"{name:<7} flights within the limit, by month: {' '.join(f'{100 * share:.0f}' for share in shares)} %")
    prop = mv.Quantile(data.TAU)
    before, after = (mv.audit("arr_delay", name, data=stream, groups=groups, property=prop) for name in ("plain", "online"))
    assert before.score is not None  # every quantile has a score
    assert after.score is not None
    table(
        ("largest error of any group", before.error, after.error),
        ("mean score (pinball loss up to a constant)", before.score, after.score),
    )
    first, last = (max(abs(monthly[name] - data.TAU)) for name in ("model", "online"))
    line(f"farthest month from 90 %: {100 * first:.1f} points with the model, {100 * last:.1f} online")
    return {
        "rounds": learner.rounds, "worst_error": [before.error, after.error], "score": [before.score, after.score],
        "farthest_month": [float(first), float(last)], "monthly": {name: shares.tolist() for name, shares in monthly.items()},
    }  # fmt: skip


def watch(late: Any, texts: list[str]) -> dict[str, dict[str, str | None]]:
    """From July on, for the groups that were found: the share of each day's flights that exceeded the limit should be a tenth.

    A day is one round: flights of one day share their luck, and an alarm about one bad day would be no news.
    """
    say(
        "9. The watch",
        "From July on, over the groups that were found. Each day is one round: a tenth of its flights may exceed their limits. "
        "Were that so for all of them, any alarm would ever be raised in at most 5 % of cases:",
    )
    masks = list(mv.Groups(texts).fit(late).masks(late))[1:]  # the first is everyone
    alarms: dict[str, dict[str, str | None]] = {}
    for text, mask in zip(texts, masks, strict=True):
        alarms[text] = {}
        for when, column in (("before", "q90"), ("after", "corrected")):
            exceeded = (late["arr_delay"] > late[column])[mask].astype(float)
            days = exceeded.groupby(late["date"][mask]).mean()
            monitor = mv.Monitor("mean", groups=0, delta=0.05 / len(texts))
            monitor.update_many(
                np.zeros((len(days), 0), dtype=bool), np.full(len(days), 1 - data.TAU), days.to_numpy(), time=days.index.to_numpy()
            )
            alarm = next(iter(monitor.alarms), None)
            alarms[text][when] = None if alarm is None else str(np.datetime_as_string(alarm.time, "D"))
            since = "" if alarm is None else np.datetime_as_string(alarm.since_time, "D")
            verdict = "no alarm" if alarm is None else f"alarm on {alarms[text][when]}, by its own estimate since {since}"
            line(f"{text}, {when} the correction: {100 * days.mean():.1f} % exceed; {verdict}")
    return alarms
