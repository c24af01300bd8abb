"""Rows to fit and rows to hold out: one fifth where rows are many, else all five fifths in turn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDS = 5
ONE_SPLIT = 20_000  # with at least this many rows one held-out fifth decides; with fewer all five folds do


def folds(rows: int, blocks: NDArray[Any] | None, seed: int, count: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows to fit and rows to hold out, both shuffled, of the first `count` of five folds; where rows belong together, blocks are held
    out whole, and their rows stand together."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(rows)
    if blocks is None:
        place = np.arange(rows) * FOLDS // rows
        return [(order[place != k], order[place == k]) for k in range(count)]
    _, number = np.unique(blocks, return_inverse=True)
    place = (rng.permutation(int(number.max()) + 1) % FOLDS)[number[order]]
    parts = [(order[place != k], order[place == k]) for k in range(count)]
    return [(fitting, held[np.argsort(number[held], kind="stable")]) for fitting, held in parts]
