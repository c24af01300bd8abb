"""Several quantiles and several classes beside their single fits: loss, worst group, and time, on rows not fitted.

python benchmarks/several.py --rows 50000
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import multivalid as mv

TAUS = (0.1, 0.5, 0.9)


def quantiles(rows: int, seed: int) -> None:
    """Labels in (0, 1) whose spread depends on 30 groups; the input has one spread for everybody."""
    rng = np.random.default_rng(seed)
    groups = rng.random((2 * rows, 30)) < rng.uniform(0.05, 0.5, 30)
    loc, spread = rng.normal(size=2 * rows), 0.5 * np.exp(groups @ rng.normal(0, 0.3, 30))
    odds = loc + spread * rng.normal(size=2 * rows)
    y = 1 / (1 + np.exp(-odds))
    said = 1 / (1 + np.exp(-(loc[:, None] + np.quantile((odds - loc)[:rows], TAUS))))
    fit, test = slice(0, rows), slice(rows, None)
    target, known, new = mv.Quantiles(TAUS), list(groups[fit].T), list(groups[test].T)
    start = time.perf_counter()
    made = mv.multicalibrate(y[fit], said[fit], groups=known, property=target)
    between = time.perf_counter()
    alone = [mv.multicalibrate(y[fit], said[fit, k], groups=known, property=f"quantile:{tau}") for k, tau in enumerate(TAUS)]
    end = time.perf_counter()
    after = made.predict(said[test], groups=new)
    single = np.sort(np.column_stack([one.predict(said[test, k], groups=new) for k, one in enumerate(alone)]), axis=1)
    print(
        f"quantiles: crossings {int(target.breaks(after).sum())}, time {(between - start) / (end - between):.2f} × three single fits"
    )
    for name, found in (("input", said[test]), ("single, sorted", single), ("several", after)):
        gap = [max(abs(np.mean(y[test][g] <= found[g, k]) - tau) for g in new) for k, tau in enumerate(TAUS)]
        print(f"  {name:<16} pinball {target.losses(found, y[test]).mean():.6f}, worst group's coverage off by {np.round(gap, 4)}")


def classes(rows: int, seed: int) -> None:
    """Five classes with known probabilities that depend on 20 groups; the input does not know the groups."""
    rng = np.random.default_rng(seed)
    groups = rng.random((2 * rows, 20)) < rng.uniform(0.05, 0.5, 20)
    x = rng.normal(size=(2 * rows, 5))
    truth = _shares(x + groups @ rng.normal(0, 0.5, (20, 5)))
    code, base = (truth.cumsum(axis=1) > rng.random(2 * rows)[:, None]).argmax(axis=1), _shares(0.8 * x)
    fit, test = slice(0, rows), slice(rows, None)
    target, known, new = mv.Classes(range(5)), list(groups[fit].T), list(groups[test].T)
    start = time.perf_counter()
    made = mv.multicalibrate(code[fit], base[fit], groups=known, property=target)
    between = time.perf_counter()
    alone = [mv.multicalibrate((code[fit] == k) * 1.0, base[fit, k], groups=known) for k in range(5)]
    end = time.perf_counter()
    rest = np.column_stack([one.predict(base[test, k], groups=new) for k, one in enumerate(alone)])
    print(f"classes: time {(between - start) / (end - between):.2f} × five single fits")
    shown = (("input", base[test]), ("one v. rest, divided", target.mend(rest)), ("classes", made.predict(base[test], groups=new)))
    for name, found in (*shown, ("truth", truth[test])):
        gap = max(np.abs((found - truth[test])[g].mean(axis=0)).max() for g in new)
        worst = max(_error(found[:, k], truth[test][:, k], g) for k in range(5) for g in new)
        loss = target.losses(found, code[test].astype(float)).mean()
        print(
            f"  {name:<20} log loss {loss:.5f}, worst (group, class): error {worst:.3g}, mean off by {gap:.4f}, from the true share"
        )


def _error(found: np.ndarray, truth: np.ndarray, group: np.ndarray) -> float:
    """Σ over twenty levels of the prediction of Pr[level, group]·(mean distance from the truth)²."""
    level = np.minimum((found * 20).astype(int), 19)[group]
    rows, off = np.bincount(level, minlength=20), np.bincount(level, (found - truth)[group], minlength=20)
    return float((off**2 / np.maximum(rows, 1)).sum() / group.size)


def _shares(eta: np.ndarray) -> np.ndarray:
    up = np.exp(eta - eta.max(axis=1, keepdims=True))
    return up / up.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    quantiles(asked.rows, asked.seed)
    classes(asked.rows, asked.seed)
