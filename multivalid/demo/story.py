"""The demo, told in a terminal: two models, an audit, groups found, a correction, a check, several limits, a stream, a watch."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from multivalid.demo import flights as data
from multivalid.demo.correct import correct
from multivalid.demo.fan import fan
from multivalid.demo.picture import draw
from multivalid.demo.risk import risk
from multivalid.demo.stream import replay, watch
from multivalid.demo.telling import say

FOLDER = "demo-output"


def main(arguments: list[str]) -> int:
    """Run the demo; the folder to write to may be given."""
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-")):
        sys.stderr.write("usage: python -m multivalid.demo [folder]\n")
        return 2
    run(Path(arguments[0] if arguments else FOLDER))
    return 0


def run(folder: Path) -> dict[str, Any]:
    """Tell the story, write pages, picture and model into `folder`, and return the numbers that were printed."""
    start = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    flights = data.load()
    early = data.months(flights, data.MODEL_MONTHS)
    say(
        "1. Two models",
        f"{len(flights):,} flights from New York in 2013. Fitted on January and February ({len(early):,} flights), both give each flight a "
        f"limit before it leaves: 9 of 10 should not be later than that. The plain one is linear in the queue at the airport and the hour; "
        f"the boosted one is gradient boosting on all that is known.",
    )
    plain, boosted = data.Limit(early), data.Boosted(early)
    flights = flights.assign(plain=plain.predict(flights), tail=plain.tail(flights), **boosted.predict(flights))
    middle, late = (data.months(flights, span) for span in (data.FIT_MONTHS, data.CHECK_MONTHS))
    numbers = correct(middle, late, folder)
    numbers["fan"] = fan(middle, late)
    numbers["pair"] = risk(middle, late, folder)
    numbers["online"] = replay(flights)
    numbers["alarms"] = watch(late, numbers["found"])
    before, after = numbers.pop("audits")
    draw(before, after, numbers["online"]["monthly"], folder / "picture.png")
    say(
        "Done",
        f"in {time.perf_counter() - start:.0f} s. Open {folder / 'report.html'} in a browser, picture.png and pair.html beside it. The "
        f"pages' numbers are in report.report.json and pair.report.json; the correction is in model.json (mv.load reads it).",
    )
    return numbers
