"""How long a fit takes against the loop that recomputes every cell before every update; both in this process.

Usage: python benchmarks/batch.py [rows, default 1,000,000]

(a) 100 groups that are conjunctions of five four-valued columns: at most 1024 combinations. (b) 100 independent groups: nearly every
row is a combination of its own. The naive loop is timed on three updates and multiplied by the number of updates. Times are of the
processor, so that other work on the machine counts less.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any

import numpy as np

import multivalid as mv

GROUPS, LEVELS, UPDATES = 100, 50, 300


def conjunctions(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Groups over five columns with four values each."""
    columns = rng.integers(0, 4, (rows, 5), dtype=np.int8)
    out = np.ones((rows, GROUPS), dtype=bool)
    for g in range(GROUPS):
        for c in rng.choice(5, rng.integers(1, 4), replace=False):
            out[:, g] &= np.isin(columns[:, c], rng.choice(4, rng.integers(1, 4), replace=False))
    return out


def independent(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Groups drawn one by one."""
    out = np.empty((rows, GROUPS), dtype=bool)
    for g in range(GROUPS):
        out[:, g] = rng.random(rows, dtype=np.float32) < rng.uniform(0.1, 0.6)
    return out


def labels(rng: np.random.Generator, groups: np.ndarray, base: np.ndarray, prop: str) -> np.ndarray:
    """Outcomes on which the groups differ."""
    effect = rng.normal(0, 0.05, GROUPS)
    shift = np.zeros(base.size)
    for g in range(GROUPS):
        shift[groups[:, g]] += effect[g]
    truth = np.clip(base + shift - shift.mean(), 0.02, 0.98)
    if prop == "mean":
        return (rng.random(base.size) < truth).astype(float)
    return np.clip(truth + rng.normal(0, 0.1, base.size), 0, 1)


def naive_seconds(prop: Any, y: np.ndarray, base: np.ndarray, groups: np.ndarray, grid: mv.Grid, updates: int = 3) -> float:
    """Seconds per update of the obvious loop: all cells anew, the worst one moved to the level of least score."""
    points, level = grid.points, grid.round(base)
    masks = [np.ones(y.size, dtype=bool), *np.ascontiguousarray(groups.T)]
    start = time.process_time()
    for _ in range(updates):
        v = prop.identify(points[level], y)
        worst = (-1.0, 0, 0)
        for g, mask in enumerate(masks):
            at = level[mask]
            count = np.bincount(at, minlength=points.size)
            total = np.bincount(at, weights=v[mask], minlength=points.size)
            size = np.divide(total**2, count, out=np.zeros(points.size), where=count > 0)
            j = int(np.argmax(size))
            worst = max(worst, (float(size[j]), g, j))
        rows = masks[worst[1]] & (level == worst[2])
        level[rows] = np.argmin([prop.score(point, y[rows]).mean() for point in points])
    return (time.process_time() - start) / updates


def fit(y: np.ndarray, base: np.ndarray, groups: np.ndarray, prop: str) -> tuple[float, float, mv.Calibration]:
    """Seconds of a whole fit from a boolean array, seconds per update, and the fit; the threshold is low enough for many updates."""
    lipschitz = {"mean": 1.0, "quantile:0.9": 1.5}[prop]
    marks: list[tuple[int, float]] = []
    start = time.process_time()
    made = mv.multicalibrate(
        y, base, groups=groups, property=prop, mode="theorem", m=LEVELS, lipschitz=lipschitz,
        alpha=1.01 * 4 * lipschitz**2 / LEVELS**2, max_updates=UPDATES,
        progress=lambda updates, error, potential: marks.append((updates, time.process_time())),
    )  # fmt: skip
    seconds = time.process_time() - start
    (first, began), (last, ended) = marks[0], marks[-2]  # the last mark is the end, after the final check
    return seconds, (ended - began) / (last - first), made


def best(y: np.ndarray, base: np.ndarray, groups: np.ndarray, prop: str) -> tuple[float, float, mv.Calibration]:
    """The best of several, which other work on the machine disturbs least."""
    runs = [fit(y, base, groups, prop) for _ in range(6)]
    return min(run[0] for run in runs), min(run[1] for run in runs), runs[0][2]


def main(rows: int) -> None:
    """Print one line per case and property."""
    for name, make in (("(a) conjunctions", conjunctions), ("(b) distinct rows", independent)):
        for prop in ("mean", "quantile:0.9"):
            rng = np.random.default_rng(0)
            groups, base = make(rng, rows), rng.beta(2, 2, rows)
            y = labels(rng, groups, base, prop)
            seconds, step, made = best(y, base, groups, prop)
            updates = made.certificate.updates
            slow = naive_seconds(made.property, y, base, groups, made.grid) * updates
            print(
                f"{name}, {prop}: {updates} updates in {seconds:.2f} s, naive {slow:.0f} s: {slow / seconds:.0f} ×; "
                f"{step * 1e6:.0f} µs per update; peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2:.2f} GB",
                flush=True,
            )
            if make is conjunctions:
                few = rows // 10
                _, small, _ = best(y[:few], base[:few], groups[:few], prop)
                print(f"    {step / small:.2f} × the time per update of a tenth of the rows ({small * 1e6:.0f} µs)", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
