"""Data for the tests of batch calibration: every property, asymmetric labels with ties, uneven weights, overlapping groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import multivalid as mv

# One of each name in the catalogue, and the kinds that have no name of their own.
BY_NAME = {
    "mean": "mean", "median": "median", "quantile": "quantile:0.9", "expectile": "expectile:0.8", "huber": "huber:0.2",
    "lp_quantile": "lp_quantile:3:0.7", "entropic": "entropic:1.5", "moment": "moment:2", "event": "event:0.2:0.6", "ratio": "ratio:2:1",
}  # fmt: skip
OTHERS = {
    "lp_quantile:1.5": mv.parse("lp_quantile:1.5:0.3"),
    "entropic negative": mv.parse("entropic:-2"),
    "shortfall": mv.Shortfall(np.expm1),
    "user's V": mv.Property.from_identification(lambda g, y: (y <= g) - 1 / 3 + 0.5 * (g - y)),
    "user's S": mv.Property.from_score(lambda g, y: (g - y) ** 4 / 4 + (g - y) ** 2, lipschitz=5.0),
}
PROPERTIES: dict[str, Any] = {**{name: mv.parse(text) for name, text in BY_NAME.items()}, **OTHERS}


@dataclass
class Problem:
    """Rows to calibrate; column 0 of `masks` is the population."""

    y: np.ndarray
    f: np.ndarray
    w: np.ndarray
    masks: np.ndarray

    @property
    def groups(self) -> np.ndarray:
        return self.masks[:, 1:]


def problem(seed: int, rows: int = 150, groups: int = 4, *, unweighted: float = 0.0) -> Problem:
    """Skewed labels in [0.05, 1], a third of them on ties; predictions off by group; weights up to 3, a share of
    them zero."""
    rng = np.random.default_rng(seed)
    masks = rng.random((rows, groups + 1)) < rng.uniform(0.2, 0.8, groups + 1)
    masks[:, 0] = True
    shift = (masks[:, 1:] * rng.normal(0, 0.2, groups)).sum(axis=1)
    y = np.clip(rng.beta(2, 4, rows) + shift + 0.1, 0.05, 1.0)
    tied = rng.random(rows) < 0.3
    y[tied] = np.clip(np.round(y[tied] * 8) / 8, 0.05, 1.0)
    f = rng.beta(2, 2, rows)
    w = rng.uniform(0.2, 3.0, rows) * (rng.random(rows) >= unweighted)
    w[0] = 1.0
    return Problem(y, f, w, masks)
