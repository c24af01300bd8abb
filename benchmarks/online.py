"""Cost per online round: CPU microseconds, flatness in time, memory, and durable rounds per second.

Run: python benchmarks/online.py [rounds]
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
import tracemalloc

import numpy as np

from multivalid.online import OnlineMulticalibrator


def stream(rounds: int, groups: int = 100, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.random((rounds, groups)) < 0.2, rng.random(rounds)


def run(learner: OnlineMulticalibrator, rows: np.ndarray, labels: np.ndarray) -> float:
    values = labels.tolist()
    start = time.process_time()
    for x, y in zip(rows, values, strict=True):
        learner.predict_one(x)
        learner.learn_one(x, y)
    return (time.process_time() - start) / len(values) * 1e6


def main(rounds: int) -> None:
    rows, labels = stream(rounds)
    for prop in ("quantile:0.9", "mean", "expectile:0.8"):
        for algorithm in ("B", "A"):
            learner = OnlineMulticalibrator(prop, 100, m=50, algorithm=algorithm, seed=1)
            parts = [run(learner, r, y) for r, y in zip(np.array_split(rows, 4), np.array_split(labels, 4), strict=True)]
            print(
                f"{prop:14} {algorithm}: {np.mean(parts):5.1f} µs CPU per round; by quarter {' '.join(f'{p:.1f}' for p in parts)}"
            )

    learner = OnlineMulticalibrator("quantile:0.9", 100, m=50, seed=1)
    run(learner, rows[:2000], labels[:2000])
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    run(learner, rows[2000:7000], labels[2000:7000])
    print(f"memory held after 5,000 more rounds: {tracemalloc.get_traced_memory()[0] - before:+,} bytes")
    tracemalloc.stop()

    with tempfile.TemporaryDirectory() as folder:
        for sync in ("normal", "full"):
            with OnlineMulticalibrator.open(f"{folder}/{sync}.db", "quantile:0.9", 100, m=50, seed=1, sync=sync) as durable:
                n = min(rounds, 10_000 if sync == "normal" else 2_000)
                start = time.perf_counter()
                run(durable, rows[:n], labels[:n])
                print(f"durable, sync={sync}: {n / (time.perf_counter() - start):,.0f} rounds per second (predict_one + learn_one)")
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
