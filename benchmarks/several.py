"""Several quantiles and several classes beside their single fits: loss, worst group, and time, on rows not fitted.

python benchmarks/several.py --rows 50000
python benchmarks/several.py --census            marital status in four bands, where the census is at hand
python benchmarks/several.py --flights           delays of the demo, half of the rows at random fitted: the worst group of each quantile
python benchmarks/several.py --many 10000000     rows predicted by a fit of made-up quantiles, some at a time, and how many of them cross
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import multivalid as mv

TAUS = (0.1, 0.5, 0.9)
DRAWS = 10  # of labels from our own predictions, for which these have no fault


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
    each = [f"quantile:{tau}" for tau in TAUS]
    made, alone, spent = _timed(target, y[fit], said[fit], known, [(y[fit], said[fit, k], prop) for k, prop in enumerate(each)])
    after = made.predict(said[test], groups=new)
    single = np.sort(np.column_stack([one.predict(said[test, k], groups=new) for k, one in enumerate(alone)]), axis=1)
    print(f"quantiles: crossings {int(target.breaks(after).sum())}, {spent}")
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
    made, alone, spent = _timed(
        target, code[fit], base[fit], known, [((code[fit] == k) * 1.0, base[fit, k], "mean") for k in range(5)]
    )
    rest = np.column_stack([one.predict(base[test, k], groups=new) for k, one in enumerate(alone)])
    print(f"classes: {spent}")
    shown = (("input", base[test]), ("one v. rest, divided", target.mend(rest)), ("classes", made.predict(base[test], groups=new)))
    for name, found in (*shown, ("truth", truth[test])):
        gap = max(np.abs((found - truth[test])[g].mean(axis=0)).max() for g in new)
        worst = max(_error(found[:, k], truth[test][:, k], g) for k in range(5) for g in new)
        loss = target.losses(found, code[test].astype(float)).mean()
        print(
            f"  {name:<20} log loss {loss:.5f}, worst (group, class): error {worst:.3g}, mean off by {gap:.4f}, from the true share"
        )


def _timed(target: Any, labels: Any, said: Any, known: list[Any], each: list[tuple[Any, Any, str]]) -> tuple[Any, list[Any], str]:
    """The fit of all columns, the single fits, and the median of three ratios of CPU times; what is loaded once is loaded before."""
    mv.multicalibrate(labels[:3000], said[:3000], groups=[one[:3000] for one in known], property=target)
    ratios = []
    for _ in range(3):
        start = time.process_time()
        made = mv.multicalibrate(labels, said, groups=known, property=target)
        between = time.process_time()
        alone = [mv.multicalibrate(y, one, groups=known, property=prop) for y, one, prop in each]
        ratios.append((between - start) / (time.process_time() - between))
    return made, alone, f"CPU time {np.median(ratios):.2f} × {len(each)} single fits (median of {np.round(ratios, 2).tolist()})"


def flights(seed: int) -> None:
    """Debiased errors of the worst group beside those of three single fits, sorted, and what both lose; all months on both sides."""
    from versus.fans import flights as load

    parts = load()
    y, said, groups = (np.concatenate([parts[f"fit_{name}"], parts[f"check_{name}"]]) for name in ("y", "base", "groups"))
    fit, test = np.array_split(np.random.default_rng(seed).permutation(y.size), 2)
    target, known, new = mv.Quantiles(TAUS), list(groups[fit].T), list(groups[test].T)
    made = mv.multicalibrate(y[fit], said[fit], groups=known, property=target)
    alone = [mv.multicalibrate(y[fit], said[fit, k], groups=known, property=f"quantile:{tau}") for k, tau in enumerate(TAUS)]
    single = np.sort(np.column_stack([one.predict(said[test, k], groups=new) for k, one in enumerate(alone)]), axis=1)
    shown = (("single, sorted", single), ("several", made.predict(said[test], groups=new)))
    worst = {}
    for name, found in shown:
        audits = mv.audit(y[test], found, groups=new, property=target).parts
        worst[name] = np.array([one.table["debiased"].max() for one in audits])
        print(
            f"  {name:<16} pinball {target.losses(found, y[test]).mean():.4f}, worst group's debiased errors {worst[name].round(6)}"
        )
    print(f"flights, split {seed}: worst group {np.round(worst['several'] / worst['single, sorted'], 2)} × that of the single fits")


def many(rows: int, seed: int) -> None:
    """Predictions for wild columns, which cross as often as not."""
    rng, target = np.random.default_rng(seed), mv.Quantiles(TAUS)
    x, wide, groups = rng.normal(size=60_000), rng.random(60_000) < 0.4, rng.random((5, 60_000)) < 0.3
    spread = np.where(wide, 2.0, 0.5)
    y = x + spread * rng.normal(size=x.size) + 1.5 * (wide & groups[0] & groups[1])
    made = mv.multicalibrate(y, x[:, None] + spread[:, None] * np.array([-1.3, 0.0, 1.3]), groups=list(groups), property=target)
    crossed, start = 0, time.process_time()
    for first in range(0, rows, 1_000_000):
        size = min(1_000_000, rows - first)
        found = made.predict(rng.standard_t(2, size=(size, 3)), groups=list(rng.random((5, size)) < 0.3))
        crossed += int((np.diff(found, axis=1) < 0).any(axis=1).sum())
    print(
        f"{rows:,} rows predicted, {made.certificate.note.splitlines()[-1]} Rows that cross: {crossed}; {time.process_time() - start:.0f} s"
    )


def census(seed: int) -> None:
    """Marital status in four bands from a plain multinomial logistic regression; groups of `workloads.census`, marital status left out."""
    import pandas as pd
    from shared import data
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    path = data("kdd_census_income.parquet")
    if path is None:
        return
    rows = pd.read_parquet(path)
    numbers = ["age", "wage_per_hour", "capital_gains", "capital_losses", "dividends", "num_persons_worked_for_employer",
               "weeks_worked_in_year"]  # fmt: skip
    x, said = StandardScaler().fit_transform(np.log1p(rows[numbers].to_numpy(float))), rows["marital_status"].astype(str).str
    code = np.select([said.contains("Never"), said.contains("Widow"), said.contains("Divorced|Separated")], [0, 3, 2], 1)
    train, fit, test = np.split(np.random.default_rng(seed).permutation(len(rows)), [60_000, 200_000])
    base = LogisticRegression(max_iter=500).fit(x[train], code[train]).predict_proba(x)
    columns = {"sex": rows.sex, "race": rows.race, "education": rows.education, "occupation": rows.major_occupation,
               "worker": rows.class_of_worker, "age": pd.cut(rows.age, [-1, 18, 30, 40, 50, 60, 100]).astype(str),
               "time": rows.full_or_part_time, "citizenship": rows.citizenship}  # fmt: skip
    for a, b in (("sex", "race"), ("sex", "age"), ("sex", "education"), ("race", "age")):
        columns[f"{a} {b}"] = columns[a].astype(str) + "&" + columns[b].astype(str)
    masks = [(column == value).to_numpy() for column in columns.values() for value in column.unique()]
    groups = np.array([mask for mask in masks if mask[fit].mean() > 0.002])
    target, known, new = mv.Classes(range(4)), list(groups[:, fit]), list(groups[:, test])
    start = time.process_time()
    alone = [mv.multicalibrate((code[fit] == k) * 1.0, base[fit, k], groups=known) for k in range(4)]
    between = time.process_time()
    made = mv.multicalibrate(code[fit], base[fit], groups=known, property=target)
    end = time.process_time()
    rest = target.mend(np.column_stack([one.predict(base[test, k], groups=new) for k, one in enumerate(alone)]))
    ours = made.predict(base[test], groups=new)
    luck = np.random.default_rng(0)
    drawn = [(ours.cumsum(axis=1) > luck.random(len(test))[:, None]).argmax(axis=1) for _ in range(DRAWS)]
    print(
        f"census, split {seed}: time {(end - between) / (between - start):.2f} × four single fits. {made.certificate.note.splitlines()[-1]}"
    )
    everyone = np.ones(len(test), dtype=bool)

    def worst(found: np.ndarray, labels: np.ndarray) -> tuple[float, float, float]:
        """Log loss, and the worst error of a group and class, plain and less what chance has on average."""
        pairs = [
            (_error(found[:, k], (labels == k) * 1.0, g), _noise(found[:, k], found[:, k] * (1 - found[:, k]), g))
            for k in range(4)
            for g in (everyone, *new)
        ]
        loss = target.losses(found, labels.astype(float)).mean()
        return float(loss), max(e for e, _ in pairs), max(e - noise for e, noise in pairs)

    shown = [("one v. rest, divided", worst(rest, code[test])), ("classes", worst(ours, code[test]))]
    right = np.median([worst(ours, labels) for labels in drawn], axis=0)
    for name, (loss, plain, debiased) in [*shown, (f"exactly right, {DRAWS} draws", right)]:
        print(f"  {name:<26} log loss {loss:.5f}, worst (group, class) error {plain:.3g}, debiased {debiased:.3g}")


def _noise(found: np.ndarray, variance: np.ndarray, group: np.ndarray) -> float:
    """What `_error` has on average where the prediction is right."""
    level = np.minimum((found * 20).astype(int), 19)[group]
    rows, total = np.bincount(level, minlength=20), np.bincount(level, variance[group], minlength=20)
    return float((total / np.maximum(rows, 1)).sum() / group.size)


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
    parser.add_argument("--census", action="store_true")
    parser.add_argument("--flights", action="store_true")
    parser.add_argument("--many", type=int, default=0)
    asked = parser.parse_args()
    if asked.census:
        census(asked.seed)
    elif asked.flights:
        flights(asked.seed)
    elif asked.many:
        many(asked.many, asked.seed)
    else:
        quantiles(asked.rows, asked.seed)
        classes(asked.rows, asked.seed)
