"""Seeded data with overlapping groups, weights and ties."""

from __future__ import annotations

from typing import Any

import numpy as np


def binary(rows: int, seed: int = 0, groups: int = 4) -> dict[str, Any]:
    """Labels 0 and 1 whose chance depends on a score and on groups; the base knows only the score, and too confidently."""
    rng = np.random.default_rng(seed)
    score = rng.normal(0, 1, rows)
    members = rng.random((rows, groups)) < np.linspace(0.1, 0.5, groups)
    members[:, 1] |= members[:, 0]  # nested
    truth = 1 / (1 + np.exp(-(score + members @ np.linspace(-1.2, 1.2, groups))))
    return {
        "y": (rng.random(rows) < truth).astype(float),
        "base": 1 / (1 + np.exp(-1.5 * score)),
        "truth": truth,
        "groups": members,
        "weights": rng.integers(1, 4, rows).astype(float),
    }


def masks(groups: np.ndarray) -> list[np.ndarray]:
    """One boolean array per group."""
    return [np.ascontiguousarray(column) for column in groups.T]
