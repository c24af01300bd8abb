"""How long predictions take against replaying patches with boolean masks; both in this process.

Usage: python benchmarks/predict.py [rows, default 10,000,000]

Times are of the processor, so that other work on the machine counts less. The naive way gets its boolean masks and its rounding for
nothing, and need not turn levels into predictions at the end. Said with the compiled loop, where there is one, and with NumPy alone.
"""

from __future__ import annotations

import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext

import numpy as np

import multivalid as mv
from multivalid.batch.patches import replay
from multivalid.batch.predictor import LevelPredictor
from multivalid.batch.state import Patch
from multivalid.kernels import library

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
    tracemalloc.start()
    assert predictor.predict(predictions, members).size == rows
    above = tracemalloc.get_traced_memory()[1] / 1024**3
    tracemalloc.stop()

    masks = {patch.group: members.mask(patch.group) for patch in timed}  # unpacking is not held against the naive way
    level = grid.round(predictions)

    def naive() -> None:
        for group, source, target in timed:
            level[masks[group] & (level == source)] = target

    loops = {"NumPy alone": library.numpy_only} | ({"compiled": nullcontext} if library.available() else {})
    taken: dict[str, list[float]] = {name: [] for name in (*loops, "naive")}
    for _ in range(ROUNDS):  # turn and turn about, so that a busy moment of the machine hits all
        for name, loop in loops.items():
            with loop():
                taken[name].append(seconds(lambda: predictor.predict(predictions, members)))
        level[:] = grid.round(predictions)
        taken["naive"].append(seconds(naive) / TIMED * PATCHES)
    assert np.array_equal(level, replay(timed, grid.round(predictions), LEVELS, members))
    for name in loops:
        ratios = [pick(taken["naive"]) / pick(taken[name]) for pick in (min, statistics.median)]
        print(
            f"{rows:,} rows × {GROUPS} groups, {PATCHES} patches, {name}: {min(taken[name]):.3f} s, naive {min(taken['naive']):.1f} s "
            f"(timed on {TIMED}): {ratios[0]:.0f} × (best of {ROUNDS}; middle {ratios[1]:.0f} ×); {above:.2f} GB above the input"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
