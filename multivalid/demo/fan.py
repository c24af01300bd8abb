"""Three quantiles of the delay at once: they never cross, and each is right for every group."""

from __future__ import annotations

from typing import Any

import numpy as np

import multivalid as mv
from multivalid.demo import flights as data
from multivalid.demo.telling import line, say

COLUMNS = ["q10", "q50", "q90"]


def fan(middle: Any, late: Any) -> dict[str, Any]:
    """Corrected on March to June, judged on July to December."""
    target = mv.Quantiles(list(data.LEVELS))
    fitted = mv.multicalibrate("arr_delay", COLUMNS, data=middle, groups=["carrier", "origin", "hour"], property=target)
    said = {"before": late[COLUMNS].to_numpy(), "after": fitted.predict(COLUMNS, data=late)}
    say("6. Three limits", "1, 5 and 9 of 10 flights should keep the limits q10, q50 and q90. July to December:")
    delays = late["arr_delay"].to_numpy()[:, None]
    numbers: dict[str, Any] = {}
    for when, columns in said.items():
        crossed = int((np.diff(columns, axis=1) < 0).any(axis=1).sum())
        within = (delays <= columns).mean(axis=0)
        numbers[when] = {"crossed": crossed, "within": within.tolist()}
        shares = ", ".join(f"{100 * share:.1f}" for share in within)
        line(f"{when:<6} kept by {shares} % of flights; limits cross in {crossed:,} of {len(late):,} rows")
    return numbers
