"""What does an audit cost, compared with one plain NumPy pass over the same rows?

The plain pass does, for each group, two `bincount`s (weight and ΣV per level): the least that any audit has to do. The audit also
solves the property in every cell, tests every group and names the groups. Both run in one process, in turn; the ratio of the best
times is printed. Memory is the growth of the resident set, measured in a process of its own that runs only the audit.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import multivalid as mv


def workload(rows: int, groups: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    member = np.empty((rows, groups), dtype=bool)
    for start in range(0, rows, 10_000):  # in blocks, so that making the input does not set the peak of memory
        block = member[start : start + 10_000]
        block[:] = rng.random(block.shape) < np.linspace(0.02, 0.6, groups)
    prediction = rng.random(rows)
    label = (rng.random(rows) < prediction).astype(float)
    return label, prediction, member


def naive(label: np.ndarray, prediction: np.ndarray, member: np.ndarray, grid: mv.Grid, prop: mv.Property) -> np.ndarray:
    level = grid.round(prediction)
    v = prop.identify(prediction, label)
    error = np.zeros(member.shape[1])
    for g in range(member.shape[1]):
        inside = member[:, g]
        weight = np.bincount(level[inside], minlength=len(grid))
        total = np.bincount(level[inside], weights=v[inside], minlength=len(grid))
        error[g] = np.sum(total**2 / np.maximum(weight, 1)) / label.size
    return error


def timed(call) -> tuple[float, object]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def peak_megabytes() -> float:
    status = Path("/proc/self/status")
    if status.exists():  # on Linux, getrusage would start from the peak of the parent process
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--levels", type=int, default=50)
    parser.add_argument("--property", default="mean")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help="run the audit once and print how far memory grew, in MB")
    args = parser.parse_args()
    label, prediction, member = workload(args.rows, args.groups)
    grid, prop = mv.Grid.uniform(0, 1, args.levels), mv.parse(args.property)
    if args.memory:
        before = peak_megabytes()
        mv.audit(label, prediction, groups=[member], grid=grid, property=prop)
        print(round(peak_megabytes() - before))
        return
    plain, ours = [], []
    for _ in range(args.repeat):
        seconds, expected = timed(lambda: naive(label, prediction, member, grid, prop))
        plain.append(seconds)
        seconds, found = timed(lambda: mv.audit(label, prediction, groups=[member], grid=grid, property=prop))
        ours.append(seconds)
    difference = np.abs(found.table["error"][1:] - expected).max()
    grown = subprocess.run([sys.executable, __file__, "--memory", *sys.argv[1:]], check=True, capture_output=True, text=True).stdout
    print(f"{args.rows:,} rows × {args.groups} groups, {args.levels} levels, {args.property}")
    print(f"plain NumPy pass   {min(plain):6.2f} s")
    print(f"mv.audit           {min(ours):6.2f} s   ratio {min(ours) / min(plain):.2f}")
    print(f"memory above input {int(grown):6d} MB")
    print(f"largest difference of an error {difference:.1e}")


if __name__ == "__main__":
    main()
