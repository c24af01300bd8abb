"""What a quantile costs beside a mean: CPU seconds of the default fit of the same rows in one process.

python benchmarks/quantile_fit.py --rows 1000000 --groups 50 --seeds 0 1

Labels are normal around the base with shifts by group. In the first kind of rows groups shift labels and nothing else; in the second
they spread them too, so that quantiles need more than a shift per group.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import multivalid as mv


def made(rows: int, groups: int, seed: int, spread: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, a base that is blind to the groups, and the groups: cuts of pairs of ten features."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 10)).astype(np.float32)
    members = np.empty((rows, groups), dtype=bool)
    for k in range(groups):
        first, second = rng.integers(0, 10, 2)
        above, below = rng.normal(0, 0.7, 2)
        members[:, k] = (x[:, first] > above) & (x[:, second] < below + 1)
    base = x @ rng.normal(0, 0.5, 10)
    shift = np.where(rng.random(groups) < 0.4, rng.normal(0, 0.5, groups), 0.0)
    wide = np.where(rng.random(groups) < 0.3, rng.normal(0, 0.3, groups), 0.0) if spread else np.zeros(groups)
    return base + members @ shift + np.exp(members @ wide) * rng.standard_normal(rows), base, members


def seconds(labels: np.ndarray, base: np.ndarray, members: np.ndarray, prop: mv.Property) -> float:
    """CPU seconds of one fit."""
    start = time.process_time()
    mv.multicalibrate(labels, base, groups=members, property=prop).certificate  # noqa: B018 - it belongs to the fit
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=50)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    given = parser.parse_args()
    print("| rows | seed | mean, CPU s | quantile .9, CPU s | ratio |\n|---|---|---|---|---|")
    for spread in (False, True):
        for seed in given.seeds:
            labels, base, members = made(given.rows, given.groups, seed, spread)
            mean = seconds(labels, base, members, mv.Mean())
            quantile = seconds(labels, base + 1.28, members, mv.Quantile(0.9))
            kind = "shifts and spreads" if spread else "shifts"
            print(f"| {kind} | {seed} | {mean:.2f} | {quantile:.2f} | {quantile / mean:.1f} |", flush=True)


if __name__ == "__main__":
    main()
