"""The fan of several quantiles for a group: what was predicted beside what was observed, from the lowest predictions to the highest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.properties import Property
from multivalid.report.geometry import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Scale, spread, tick_text, ticks

GROUPS = 3  # groups with a fan
SLICES = 20  # most points along it
LEAST_ROWS = 50  # of a slice: the quantiles of fewer labels say little

Values = NDArray[np.float64]


def fan(
    group: str, keys: Sequence[str], properties: Sequence[Property], predictions: Values, labels: Values, weights: Values
) -> Any:
    """Slices of a group's rows by rank of the middle column: mean predictions and the labels' own quantiles, a column each."""
    order = np.argsort(predictions[:, predictions.shape[1] // 2], kind="stable")
    parts = np.array_split(order, int(np.clip(order.size // LEAST_ROWS, 1, SLICES)))
    middles = (np.cumsum([0, *(part.size for part in parts[:-1])]) + np.array([part.size for part in parts]) / 2) / order.size
    columns = []
    for k, (key, prop) in enumerate(zip(keys, properties, strict=True)):
        expected = [float(np.average(predictions[part, k], weights=weights[part])) for part in parts]
        seen = [float(prop.solve(labels[part], weights[part])) for part in parts]
        columns.append({"name": key, "predicted": expected, "observed": seen})
    return {"group": group, "rows": int(order.size), "rank": middles.tolist(), "columns": columns}


def drawn(found: dict[str, Any]) -> dict[str, Any]:
    """The same in picture units: a band for each outer pair of columns, and lines and points of what was observed."""
    columns = found["columns"]
    x = Scale(0.0, 1.0, LEFT, WIDTH - RIGHT)
    heights = [value for column in columns for name in ("predicted", "observed") for value in column[name]]
    y = Scale(*spread(heights), HEIGHT - BOTTOM, TOP)

    def line(values: Sequence[float]) -> list[str]:
        return [f"{x(at)},{y(value)}" for at, value in zip(found["rank"], values, strict=True)]

    pairs = [(columns[k], columns[-1 - k]) for k in range(len(columns) // 2)]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "frame": {"left": LEFT, "right": WIDTH - RIGHT, "top": TOP, "bottom": HEIGHT - BOTTOM},
        "x_ticks": [{"at": x(tick), "text": tick_text(tick, True)} for tick in ticks(0.0, 1.0, 4)],
        "y_ticks": [{"at": y(tick), "text": tick_text(tick, False)} for tick in ticks(y.lo, y.hi)],
        "bands": [" ".join([*line(high["predicted"]), *reversed(line(low["predicted"]))]) for low, high in pairs],
        "lines": [" ".join(line(column["predicted"])) for column in columns],
        "points": [
            {"x": x(at), "y": y(value)} for column in columns for at, value in zip(found["rank"], column["observed"], strict=True)
        ],
    }
