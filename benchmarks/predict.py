"""How long predictions take against replaying patches with boolean masks; both in this process.

Usage: python benchmarks/predict.py [rows, default 10,000,000]

Times are of the processor, so that other work on the machine counts less. The naive way gets its boolean masks and its rounding for nothing,
and need not turn levels into predictions at the end.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

import multivalid as mv
from multivalid.batch.patches import replay
from multivalid.batch.predictor import LevelPredictor
from multivalid.batch.state import Patch

GROUPS, LEVELS, PATCHES = 100, 50, 500
TIMED, ROUNDS = 10, 9  # patches that the naive way is timed on, and how often both are


def packed(rng: np.random.Generator, rows: int) -> mv.Membership:
    """The population and 99 groups, made one at a time: the dense table would take a gigabyte."""
    shares = [1.1, *rng.uniform(0.05, 0.6, GROUPS - 1)]
    return mv.Membership.from_masks((rng.random(rows, dtype=np.float32) < share for share in shares), rows)


def seconds(work: Callable[[], object]) -> float:
    """Seconds of the processor."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main(rows: int) -> None:
    """Print both times, their ratio, and the memory above the input."""
    rng = np.random.default_rng(0)
    members, predictions = packed(rng, rows), rng.random(rows)
    grid = mv.Grid.uniform(0, 1, LEVELS)
    patches = [Patch(*(int(v) for v in rng.integers(0, (GROUPS, LEVELS, LEVELS)))) for _ in range(PATCHES)]
    predictor, timed = LevelPredictor(grid, patches), patches[:TIMED]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert predictor.predict(predictions, members).size == rows
    above = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024**2

    masks = {patch.group: members.mask(patch.group) for patch in timed}  # unpacking is not held against the naive way
    level = grid.round(predictions)

    def naive() -> None:
        for group, source, target in timed:
            level[masks[group] & (level == source)] = target

    # Turn and turn about, so that a busy moment of the machine hits both; the first round, on memory never used before, counts too.
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(seconds(lambda: predictor.predict(predictions, members)))
        level[:] = grid.round(predictions)
        theirs.append(seconds(naive) / TIMED * PATCHES)
    assert np.array_equal(level, replay(timed, grid.round(predictions), LEVELS, members))
    for name, pick in (("best", min), ("middle", statistics.median)):
        fast, slow = pick(ours), pick(theirs)
        print(
            f"{rows:,} rows × {GROUPS} groups, {PATCHES} patches, {name} of {ROUNDS}: {fast:.3f} s, naive {slow:.1f} s "
            f"({slow / PATCHES * 1e3:.1f} ms per patch, timed on {TIMED}): {slow / fast:.0f} ×; {above:.2f} GB above the input"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
