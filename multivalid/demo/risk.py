"""Value at risk and conditional value at risk of the delay, calibrated together because the second cannot be alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import multivalid as mv
from multivalid.demo import flights as data
from multivalid.demo.correct import SETTINGS, SMALLEST
from multivalid.demo.telling import say, table


def risk(middle: Any, late: Any, folder: Path) -> dict[str, Any]:
    """The plain model's limit and tail, corrected on March to June, judged on July to December."""
    pair = mv.QuantileCVaR(data.TAU)
    groups = mv.Groups(["carrier", "origin"], min_size=SMALLEST).fit(middle)
    fitted = mv.multicalibrate("arr_delay", ["plain", "tail"], data=middle, groups=groups, property=pair)
    before, after = (
        mv.audit("arr_delay", said, data=late, groups=groups, property=pair)
        for said in (["plain", "tail"], fitted.predict(["plain", "tail"], data=late))
    )
    after.report(
        folder / "pair.html", before=before, certificate=fitted.certificate, settings=SETTINGS,
        title="Arrival delay of flights from New York, July to December 2013: 0.9-quantile and mean of the latest tenth",
    )  # fmt: skip
    errors = [one.gamma_errors for one in (before, after)]
    say(
        "7. Risk pairs",
        "How late are the latest tenth on average? That mean (CVaR) cannot be calibrated alone; with the limit it can. The plain model:",
    )
    table(
        *((f"largest error of the {name}, minutes²", errors[0][k], errors[1][k]) for k, name in enumerate(("limit", "tail mean")))
    )
    return {"first": [one[0] for one in errors], "second": [one[1] for one in errors]}
