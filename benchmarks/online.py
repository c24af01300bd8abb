"""Cost per online round: CPU microseconds, flatness in time, memory, and durable rounds per second.

python benchmarks/online.py [rounds]
python benchmarks/online.py sharp        only the default algorithm: replay, its NumPy twin, and single rounds of dicts
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from multivalid.kernels import library
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


CONDITIONS = [*(f"age >= {age}" for age in (20, 30, 40, 50, 60)), 'region == "north"', 'region == "south"', "income > 3000",
              'age < 40 and region == "north"', 'sex == "f"']  # fmt: skip


def best(times: int, rounds: int, work: Callable[[], object]) -> float:
    """CPU microseconds per round, the best of some times."""
    took = []
    for _ in range(times):
        start = time.process_time()
        work()
        took.append((time.process_time() - start) / rounds * 1e6)
    return min(took)


def replayed(rows: int) -> Callable[[], object]:
    """Ten groups of which every row is in all, with everyone eleven; a base, a 90 % quantile."""
    rng = np.random.default_rng(0)
    base = rng.beta(2, 3, rows)
    y = np.clip(base + rng.normal(0, 0.1, rows), 0, 1)
    return lambda: OnlineMulticalibrator("quantile:0.9", 10, labels=(0, 1)).replay(np.ones((rows, 10), bool), y, base=base)


def single(rows: int) -> Callable[[], object]:
    """A dict with four features comes, ten conditions are looked at, its outcome comes."""
    rng = np.random.default_rng(0)
    columns = (
        rng.uniform(10, 80, rows),
        rng.choice(["north", "south", "east"], rows),
        rng.normal(3000, 800, rows),
        rng.choice(["f", "m"], rows),
    )
    dicts = [
        dict(zip(("age", "region", "income", "sex"), row, strict=True)) for row in zip(*(c.tolist() for c in columns), strict=True)
    ]
    labels = rng.random(rows).tolist()

    def work() -> None:
        learner = OnlineMulticalibrator("quantile:0.9", CONDITIONS, labels=(0, 1))
        for x, y in zip(dicts, labels, strict=True):
            learner.predict_one(x, 0.5)
            learner.learn_one(x, y)

    return work


def sharp() -> None:
    loop = "compiled" if library.available() else "NumPy, there is no compiled loop"
    print(f"sharp, replay, 11 active groups: {best(9, 40_000, replayed(40_000)):.2f} µs CPU per round ({loop})")
    with library.numpy_only():
        print(f"sharp, replay, NumPy twin: {best(9, 1_000, replayed(1_000)):.0f} µs")
    print(f"sharp, predict_one + learn_one, dict rows, 10 conditions: {best(7, 5_000, single(5_000)):.1f} µs")


def main(rounds: int) -> None:
    sharp()
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
    if sys.argv[1:] == ["sharp"]:
        sharp()
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
