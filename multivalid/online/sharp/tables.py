"""The state of the sharp learner as arrays with names; the compiled rounds and their NumPy twin work on the same ones, in place."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multivalid.errors import InputError
from multivalid.online.sharp.play import EXPERTS, LEARNERS

Array = NDArray[np.float64]

# Entries of `setting` and `running`, in the order of kernels/sharp.c.
(LO, LENGTH, LOWEST, LOW_VALUE, HIGH_VALUE, BOUND, STAKE, KIND, TAU) = range(9)
(ROUNDS, MISS, SQUARED, FLATNESS, BASES, BASE_MEAN, BASE_SQUARES, GUIDES, USED, START) = range(10)
KEPT, HATS = 1024, 10
# In the order of `sharp_t` in kernels/sharp.c.
NAMES = (
    "setting", "running", "edge", "kept", "up", "down", "owed", "weight", "far", "near", "played", "count", "sum", "square", "level",
    "rows", "slow", "fast", "slope", "hats", "seen", "regret", "spread",
)  # fmt: skip
BLOCKS = {"up": "bets", "far": "score_bets", "count": "cells", "slow": "parts"}  # by the first array in each


class Tables:
    """Everything that changes from round to round.

    Parameters
    ----------
    groups, buckets, rates, copies : int
        Sizes. A cell is a group and a bucket; it has two bets per rate in each copy.

    Notes
    -----
    `up` and `down` are bets that R of a cell grows, or falls, relative to what they started with; `owed` is Σ rate·(up − down) of a
    cell. `far` and `near` bet that the predictions are worse than the guide. `count`, `sum`, `square` are n, R and Q.
    What changes together lies together (`bets`, `score_bets`, `cells`, `parts`), so that NumPy reaches it with one call.
    """

    bets: Array
    score_bets: Array
    cells: Array
    parts: Array
    rate: Array  # of each bet, over the largest

    setting: Array
    running: Array
    edge: Array
    kept: Array
    up: Array
    down: Array
    owed: Array
    weight: Array
    far: Array
    near: Array
    played: Array
    count: Array
    sum: Array
    square: Array
    level: Array
    rows: Array
    slow: Array
    fast: Array
    slope: Array
    hats: Array
    seen: Array
    regret: Array
    spread: Array

    def __init__(self, groups: int, buckets: int, rates: int, copies: int) -> None:
        self.groups, self.buckets, self.rates, self.copies = groups, buckets, rates, copies
        cells, shifts = (groups, buckets), (groups, LEARNERS)
        shapes: dict[str, tuple[int, ...]] = {
            "setting": (9,), "running": (10,), "edge": (buckets - 1,), "kept": (KEPT,), "up": (copies, *cells, rates),
            "down": (copies, *cells, rates), "owed": (copies, *cells), "weight": (copies, *cells), "far": (copies, rates),
            "near": (copies, rates), "played": (copies,), "count": cells, "sum": cells, "square": cells, "level": cells,
            "rows": (groups,), "slow": shifts, "fast": shifts, "slope": shifts, "hats": (HATS, LEARNERS), "seen": (groups + HATS,),
            "regret": (EXPERTS,), "spread": (EXPERTS,),
        }  # fmt: skip
        for together in (("up", "down"), ("far", "near"), ("count", "sum", "square", "level"), ("slow", "fast", "slope")):
            block = np.zeros((len(together), *shapes[together[0]]))
            for name, part in zip(together, block, strict=True):
                setattr(self, name, part)
            setattr(self, BLOCKS[together[0]], block)
        for name in set(NAMES) - set(vars(self)):
            setattr(self, name, np.zeros(shapes[name]))
        self.bets.fill(1.0)
        self.score_bets.fill(1.0)
        self.rate = np.asarray(0.5 ** np.arange(rates), dtype=np.float64)
        self.edge[:] = np.arange(1, buckets) / buckets
        self.running[USED], self.running[START] = buckets, 0.5

    def to_json(self) -> dict[str, Any]:
        """Exact and short: the bytes of each array, packed."""
        return {name: base64.b64encode(zlib.compress(getattr(self, name).tobytes(), 1)).decode() for name in NAMES}

    def restore(self, data: dict[str, Any]) -> None:
        """Take over what `to_json` wrote, if it fits and is possible."""
        read = {}
        for name in NAMES:
            mine = getattr(self, name)
            unpacker = zlib.decompressobj()
            raw = unpacker.decompress(base64.b64decode(data[name], validate=True), mine.nbytes + 1)
            if len(raw) != mine.nbytes:
                raise InputError(f"{name} has another size than the settings say.")
            read[name] = np.frombuffer(raw, dtype=np.float64).reshape(mine.shape)
            if not np.isfinite(read[name]).all():
                raise InputError(f"{name} must hold finite numbers.")
        _check(read, self.buckets)
        for name, array in read.items():
            getattr(self, name)[...] = array


def _check(read: dict[str, Array], buckets: int) -> None:
    """What no run can lead to would make rounds read beyond their tables or bets change sign."""
    positive = ("up", "down", "far", "near")
    natural = ("weight", "played", "count", "square", "rows", "seen", "spread")
    if any((read[name] <= 0).any() for name in positive) or any((read[name] < 0).any() for name in natural):
        raise InputError("bets must be positive, and counts must not be negative.")
    running, setting = read["running"], read["setting"]
    used = running[USED]
    edges = read["edge"][: max(int(used) - 1, 0)]
    if not (1 <= used <= buckets and used == int(used)) or (np.diff(edges) <= 0).any() or (edges <= 0).any() or (edges >= 1).any():
        raise InputError("the edges of buckets must increase.")
    if not (0 <= running[GUIDES] < 2**62) or (running[[ROUNDS, MISS, SQUARED, FLATNESS, BASES, BASE_SQUARES]] < 0).any():
        raise InputError("counts must not be negative.")
    if (setting[[LENGTH, LOW_VALUE, HIGH_VALUE, BOUND, STAKE]] <= 0).any():
        raise InputError("the range and the bounds of V must be positive.")
