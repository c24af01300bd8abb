"""Write the workloads as NumPy files: base predictions, groups and outcomes to calibrate on, and the same to judge on.

A stream has rows to judge on only, in the order in which they come, and the settings of our learner as JSON text.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import fans
import numpy as np
import tables

ROWS = 40_000
ROUNDS = 20_000


def made_up(quantile: bool, seed: int) -> dict[str, np.ndarray]:
    """Twelve overlapping groups with effects of their own, and one pair of groups that interact; the base knows none of them."""
    rng = np.random.default_rng(seed)
    rows = 2 * ROWS
    groups = rng.random((rows, 12)) < rng.uniform(0.05, 0.5, 12)
    signal, effect = rng.normal(size=rows), rng.normal(0, 0.35, 12)
    truth = signal + groups @ effect + 0.8 * (groups[:, 0] & groups[:, 1])
    if quantile:
        y = truth + np.exp(0.3 * groups[:, 2]) * rng.gumbel(size=rows)
        base = signal + 2.25  # the 0.9-quantile of the noise
    else:
        y = (rng.random(rows) < 1 / (1 + np.exp(-truth))).astype(float)
        base = 1 / (1 + np.exp(-signal))
    return halves(y, base, groups, np.arange(rows) < ROWS)


def flights() -> dict[str, np.ndarray]:
    """The flights of the demo: corrected on March to June, judged on July to December."""
    from multivalid import Groups, cross
    from multivalid.demo import flights as data

    rows = data.load()
    model = data.Limit(data.months(rows, data.MODEL_MONTHS))
    rows = rows[rows["month"] >= data.FIT_MONTHS[0]].reset_index(drop=True)
    early = (rows["month"] <= data.FIT_MONTHS[1]).to_numpy()
    family = Groups(["carrier", "origin", "hour", cross("origin", "carrier")], min_size=300).fit(rows[early].reset_index(drop=True))
    masks = np.stack(list(family.masks(rows))[1:], axis=1)
    return halves(rows["arr_delay"].to_numpy(float), model.predict(rows), masks, early)


def stream() -> dict[str, np.ndarray]:
    """Outcomes in [0, 1] whose spread depends on ten bits and jumps by half in the middle; the base is one limit for everybody."""
    rng = np.random.default_rng(3)
    bits = rng.random((ROUNDS, 10)) < np.linspace(0.1, 0.5, 10)
    spread = 0.2 * np.exp(bits @ rng.normal(0, 0.5, 10)) * np.where(np.arange(ROUNDS) < ROUNDS // 2, 1.0, 1.5)
    y = np.clip(np.abs(rng.normal(size=ROUNDS)) * spread, 0, 1)
    return in_order(y, np.full(ROUNDS, 0.2 * 1.645), np.hstack([bits, ~bits]), labels=(0.0, 1.0))


def flight_stream() -> dict[str, np.ndarray]:
    """Every fifth flight of the year, as in the demo."""
    from multivalid import Groups
    from multivalid.demo import flights as data
    from multivalid.demo.correct import SMALLEST
    from multivalid.demo.stream import EVERY, RANGE

    rows = data.load()
    model = data.Limit(data.months(rows, data.MODEL_MONTHS))
    rows = rows.iloc[::EVERY].reset_index(drop=True)
    family = Groups(["carrier", "origin", "hour", "month"], min_size=SMALLEST).fit(rows)
    masks = np.stack(list(family.masks(rows))[1:], axis=1)
    y = rows["arr_delay"].clip(*RANGE).to_numpy(float)
    return in_order(y, model.predict(rows), masks, labels=RANGE)


def in_order(y: np.ndarray, base: np.ndarray, groups: np.ndarray, **settings: Any) -> dict[str, np.ndarray]:
    """A stream."""
    return {"check_y": y, "check_base": base, "check_groups": groups, "settings": np.array(json.dumps(settings))}


def halves(y: np.ndarray, base: np.ndarray, groups: np.ndarray, first: np.ndarray) -> dict[str, np.ndarray]:
    """Rows to calibrate on and rows to judge on."""
    parts = {"fit": first, "check": ~first}
    return {f"{part}_{name}": v[rows] for part, rows in parts.items() for name, v in (("y", y), ("base", base), ("groups", groups))}


WORKLOADS = {
    "mean": lambda: made_up(False, 1),
    "quantile": lambda: made_up(True, 2),
    "flights": flights,
    "online": stream,
    "online flights": flight_stream,
    "columns mean": lambda: tables.made_up(False, 5),
    "columns quantile": lambda: tables.made_up(True, 6),
    "columns flights": tables.flights,
    "columns census": tables.census,
    "columns adult": tables.adult,
    "three quantiles": fans.made_up,
    "three quantiles flights": fans.flights,
}

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for workload in sys.argv[2:]:
        made = WORKLOADS[workload]()
        if made:  # empty where data are absent
            np.savez(folder / f"{workload}.npz", **made)
