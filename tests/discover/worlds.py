"""Frames with every kind of column, and predictions that are off where the tests say."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd


def mixed_frame(rng, rows, zone=None):
    """Numbers (whole, skewed, with holes, with a frequent value), texts, a boolean with holes, a date and a time."""
    frame = pd.DataFrame({
        "age": rng.integers(18, 90, rows),
        "income": np.round(np.exp(rng.normal(10, 0.7, rows)), 2),
        "gain": np.where(rng.random(rows) < 0.7, 0.0, rng.exponential(1000, rows)),
        "score": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows)),
        "city": rng.choice(["Rome", "Oslo", "Bonn", "New York's \"edge\""], rows, p=[0.4, 0.3, 0.2, 0.1]),
        "member": pd.array(np.where(rng.random(rows) < 0.05, None, rng.random(rows) < 0.4), dtype="boolean"),
        "when": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300 * 86400, rows), unit="s"),
    })  # fmt: skip
    frame.loc[rng.random(rows) < 0.05, "city"] = None
    if zone is not None:
        frame["when"] = frame["when"].dt.tz_localize("UTC").dt.tz_convert(zone)
    frame["day"] = [dt.date(2024, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 300, rows)]
    return frame


def off_world(rows, seed, delta=0.35, weights=False):
    """A probability of .4 that is .4 + delta for people in Oslo from 50 on."""
    rng = np.random.default_rng(seed)
    frame = mixed_frame(rng, rows)
    slice_ = ((frame["age"] >= 50) & (frame["city"] == "Oslo")).to_numpy()
    frame["y"] = (rng.random(rows) < np.where(slice_, 0.4 + delta, 0.4)).astype(float)
    frame["p"] = 0.4
    frame["w"] = rng.exponential(1.0, rows) if weights else 1.0
    return frame, slice_
