"""Algorithm 3 on a million rows, 100 groups and 50 × 50 levels, against the same algorithm in plain NumPy.

    python benchmarks/joint.py [rows]

The naive version keeps two level indices per row and, before each update, fills the table of cells with one bincount per group: no
loop over cells, so this is NumPy as one would write it. It is given the same thresholds and makes the same updates; because it needs
about a second for each on a million rows, it makes the first `NAIVE_UPDATES` of them and is charged for those alone (its set-up and
its final check, which ours pays, are left out). Both run in one process, one after the other.
"""

import sys
import time

import numpy as np

import multivalid as mv
from multivalid.joint.plan import make_plan
from multivalid.properties import MeanVariance
from multivalid.sources.rows import open_rows

NAIVE_UPDATES = 6
LEVELS = 50


def problem(rows, seed=0):
    """Labels in [0, 1] whose mean and variance depend on three categories; 100 groups: their values, and pairs of values."""
    rng = np.random.default_rng(seed)
    region, product, age = rng.integers(0, 16, rows), rng.integers(0, 12, rows), rng.integers(0, 8, rows)
    center = 1 / (1 + np.exp(-(0.8 * rng.standard_normal(16)[region] + 0.8 * rng.standard_normal(12)[product])))
    size = np.exp(rng.standard_normal(8))[age]
    y = rng.beta(center * size, (1 - center) * size)
    said = np.stack([np.clip(0.5 + 0.1 * rng.standard_normal(rows), 0, 1), rng.choice([0.05, 0.1, 0.15, 0.2], rows)], axis=1)
    groups = [region == k for k in range(16)] + [product == k for k in range(12)] + [age == k for k in range(8)]
    return y, said, groups + [(region == i) & (age == j) for i in range(16) for j in range(4)]


def naive_updates(pair, y, said, groups, plan, updates):
    """The first updates of Algorithm 3: (side, group, first, second, target)."""
    grids, width, n = plan.grids, len(plan.grids[1]), y.size
    level = [grids[0].round(said[:, 0]), grids[1].round(said[:, 1])]
    masks = [np.ones(n, dtype=bool), *groups]
    made = []
    for side in (0, 1):
        rule = plan.rules[side]
        while len(made) < updates:
            place = level[0] * width + level[1]
            points = [grids[k].points[level[k]] for k in (0, 1)]
            v = pair.first.identify(points[0], y) if side == 0 else pair.identify_second(points[0], points[1], y)
            mass = np.stack([np.bincount(place[m], minlength=len(grids[0]) * width) for m in masks], axis=1) / n
            sums = np.stack([np.bincount(place[m], weights=v[m], minlength=mass.shape[0]) for m in masks], axis=1) / n
            priority = rule.priority(mass, sums)
            at, group = np.unravel_index(np.argmax(priority), priority.shape)
            if priority[at, group] < 0:
                break
            cell = np.flatnonzero((place == at) & masks[group])
            if side == 0:
                scores = [pair.first.score(p, y[cell]).sum() for p in grids[0].points]
            else:
                scores = [pair.score_second(points[0][cell], p, y[cell]).sum() for p in grids[1].points]
            target = int(np.argmin(scores))
            made.append((side, int(group), int(at) // width, int(at) % width, target))
            level[side][cell] = target
    return made


def main(rows=1_000_000):
    pair = MeanVariance()
    y, said, groups = problem(rows)
    wall, cpu = time.perf_counter(), time.process_time()
    fitted = mv.multicalibrate(y, said, groups=groups, property=pair, mode="theorem", m=LEVELS)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    total = sum(fitted.certificate.updates)
    print(fitted.certificate)
    print(f"{rows:,} rows, {len(fitted.groups)} groups, {LEVELS}×{LEVELS} levels, {total} updates")
    print(f"multivalid: {wall:.2f} s wall, {cpu:.2f} s of one core, from arrays to a certified fit")
    gathered = open_rows(y, said, groups=groups, width=2)
    plan = make_plan(gathered, pair, mode="theorem", grid=None, m=LEVELS, alpha=None, lipschitz=None)
    slow, busy = time.perf_counter(), time.process_time()
    made = naive_updates(pair, y, said, groups, plan, min(NAIVE_UPDATES, total))
    slow, busy = ((now - then) / len(made) * total for now, then in ((time.perf_counter(), slow), (time.process_time(), busy)))
    same = made == [tuple(patch) for patch in fitted.patches[: len(made)]]
    print(f"naive NumPy: {slow:.1f} s wall, {busy:.1f} s of one core at its pace; first {len(made)} updates the same: {same}")
    print(f"ratio {slow / wall:.0f}× wall, {busy / cpu:.0f}× of one core")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
