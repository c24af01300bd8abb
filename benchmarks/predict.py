"""How long predictions take against replaying patches with boolean masks; both in this process.

Usage: python benchmarks/predict.py [rows, default 10,000,000]

Times are of the processor, so that other work on the machine counts less.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

import multivalid as mv
from multivalid.batch.patches import replay
from multivalid.batch.predictor import LevelPredictor
from multivalid.batch.state import Patch

GROUPS, LEVELS, PATCHES = 100, 50, 500


def packed(rng: np.random.Generator, rows: int) -> mv.Membership:
    """The population and 99 groups, made one at a time: the dense table would take a gigabyte."""
    shares = [1.1, *rng.uniform(0.05, 0.6, GROUPS - 1)]
    return mv.Membership.from_masks((rng.random(rows, dtype=np.float32) < share for share in shares), rows)


def main(rows: int) -> None:
    """Print both times, their ratio, and the memory above the input."""
    rng = np.random.default_rng(0)
    members, predictions = packed(rng, rows), rng.random(rows)
    grid = mv.Grid.uniform(0, 1, LEVELS)
    patches = [Patch(*(int(v) for v in rng.integers(0, (GROUPS, LEVELS, LEVELS)))) for _ in range(PATCHES)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fast = np.inf
    for _ in range(3):
        start = time.process_time()
        values = LevelPredictor(grid, patches).predict(predictions, members)
        fast = min(fast, time.process_time() - start)
    above = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024**2

    start = time.process_time()
    level = grid.round(predictions)
    rounding = time.process_time() - start
    timed = patches[:10]
    masks = {patch.group: members.mask(patch.group) for patch in timed}  # unpacking is not held against the naive way
    start = time.process_time()
    for group, source, target in timed:
        level[masks[group] & (level == source)] = target
    each = (time.process_time() - start) / len(timed)
    slow = rounding + each * PATCHES
    assert np.array_equal(level, replay(timed, grid.round(predictions), LEVELS, members))
    assert values.size == rows
    print(
        f"{rows:,} rows × {GROUPS} groups, {PATCHES} patches: {fast:.2f} s, naive {slow:.1f} s (rounding {rounding:.1f} s, "
        f"{each * 1e3:.0f} ms per patch, timed on {len(timed)}): {slow / fast:.0f} ×; {above:.2f} GB above the input"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
