"""The experiments behind the defaults of the practical mode; the result is in practical_defaults.md beside this file.

    python -m benchmarks.decisions.practical_defaults [settings] [patches] [real]

"settings" varies one default at a time through the public call, "patches" compares ways to move cells with the start left out,
"real" runs the default on real sets. Nothing here is timed to the millisecond: compare rows of one run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import multivalid as mv
from benchmarks import practical as bench
from benchmarks import shared
from multivalid.groups.membership import Membership
from multivalid.practical import fit as practical
from multivalid.practical import newton, start
from multivalid.practical.data import LinkRows, Matching
from multivalid.practical.link import choose_link
from multivalid.practical.shifts import ShiftRound, shift_round

W = bench.W
RUNS = [("mean", None), ("quantile", 11), ("census", None), ("census", 1), ("entropic2", 1)]


@contextmanager
def changed(**values: Any) -> Iterator[None]:
    """Constants of the fit set to other values for a while: MOST_PRODUCTS=16, …"""
    homes = {name: next(module for module in (start, newton, practical) if hasattr(module, name)) for name in values}
    before = {name: getattr(homes[name], name) for name in values}
    try:
        for name, value in values.items():
            setattr(homes[name], name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(homes[name], name, value)


SETTINGS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("default", {}, {}),
    ("m = 10", {}, {"m": 10}),
    ("m = 50", {}, {"m": 50}),
    ("uniform levels", {}, {"grid": mv.Grid.uniform(0, 1, 20)}),
    ("at most 16 products", {"MOST_PRODUCTS": 16}, {}),
    ("at most 64 products", {"MOST_PRODUCTS": 64}, {}),
    ("15 steps on large data too", {"LARGE_STEPS": 15}, {}),
]


def settings() -> None:
    """One default at a time."""
    print("| setting | " + " | ".join(f"{name} {'own' if seed is None else seed}" for name, seed in RUNS) + " |")
    print("|---|" + "---|" * len(RUNS), flush=True)
    for label, constants, options in SETTINGS:
        cells = []
        for name, seed in RUNS:
            with changed(**constants):
                found = bench.run(bench.TASKS[name], seed, **options)
            loss = next(found[key] for key in bench.LOSSES if key in found)
            cells.append(f"{found['max_error']:.2e} / {found['mean_error']:.2e} / {loss:.5f} / {found['cpu']:.1f} s")
        print(f"| {label} | " + " | ".join(cells) + " |", flush=True)


def overwritten(eta: Any, edges: Any) -> Any:
    """η with every level's own mean in place of its values: what a patch that overwrites a level leaves behind."""
    level = np.searchsorted(edges, eta, side="left")
    total = np.bincount(level, weights=eta, minlength=edges.size + 1)
    return (total / np.maximum(np.bincount(level, minlength=edges.size + 1), 1))[level]


def moved(d: dict[str, Any], prop: mv.Property, levels: int, spacing: str, overwrite: bool) -> Any:
    """Held-out predictions after ten rounds of guarded patches on the base itself, without a start."""
    link = choose_link(prop, d["y_fit"], d["base_fit"])
    fit_groups, test_groups = Membership.from_dense(d["g_fit"]), Membership.from_dense(d["g_test"])
    rows = LinkRows(d["y_fit"], np.ones(d["y_fit"].size), link.forward(d["base_fit"]), fit_groups)
    loss, eta, out = Matching(prop, link), rows.base, link.forward(d["base_test"])
    loss.widen(eta, rows, newton.SHARE)
    for _ in range(10):
        share = np.arange(1, levels) / levels
        edges = np.unique(np.quantile(eta, share) if spacing == "quantile" else link.forward(share))
        if overwrite:
            eta, out = overwritten(eta, edges), overwritten_like(eta, out, edges)
        made: ShiftRound = shift_round(eta, rows, loss, edges)
        if not made.shifts:
            break
        eta, out = made.apply(eta, fit_groups), made.apply(out, test_groups)
    return link.inverse(out)


def overwritten_like(eta: Any, other: Any, edges: Any) -> Any:
    """`other` with the means that the levels have in `eta`."""
    level = np.searchsorted(edges, eta, side="left")
    total, count = np.bincount(level, weights=eta, minlength=edges.size + 1), np.bincount(level, minlength=edges.size + 1)
    return (total / np.maximum(count, 1))[np.searchsorted(edges, other, side="left")]


def patches() -> None:
    """Shift or overwrite, how many levels, spaced how: patches alone, so that the difference shows."""
    print("| patches alone | mean | quantile | census |\n|---|---|---|---|", flush=True)
    tasks = [bench.TASKS[name] for name in ("mean", "quantile", "census")]
    data = [task.make(None) for task in tasks]
    for overwrite in (False, True):
        for spacing in ("quantile", "uniform"):
            for levels in (10, 20, 50):
                cells = []
                for task, d in zip(tasks, data, strict=True):
                    found = task.quality(moved(d, task.prop, levels, spacing, overwrite), d["y_test"], d["g_test"])
                    cells.append(f"{found['max_error']:.2e} / {next(found[key] for key in bench.LOSSES if key in found):.4f}")
                kind = "overwrite" if overwrite else "shift"
                print(f"| {kind}, {levels} {spacing} levels | {' | '.join(cells)} |", flush=True)


def judge(label: str, prop: mv.Property, y: Any, base: Any, groups: Any, fit: Any, test: Any, span: tuple[float, float]) -> None:
    """One split of a real set."""
    fitted = mv.multicalibrate(y[fit], base[fit], groups=groups[fit], property=prop)
    final = fitted.predict(base[test], groups=[groups[test]])
    everyone = np.column_stack([groups[test], np.ones(test.size, bool)])
    error = [W.error(p, y[test], everyone, prop.identify, lo=span[0], hi=span[1])["max_error"] for p in (base[test], final)]
    score = [float(np.mean(prop.score(p, y[test]))) for p in (base[test], final)]
    kind = fitted.predictor.link.kind
    print(f"| {label} | {kind} | {error[0]:.3e} → {error[1]:.3e} | {score[0]:.6g} → {score[1]:.6g} |", flush=True)


def real() -> None:
    """Two real sets, four random splits each."""
    import pandas as pd

    print("| set, split | link | held-out error, base → default | held-out score |\n|---|---|---|---|", flush=True)
    path = shared.data("cas_norauto.parquet")
    if path:
        d = pd.read_parquet(path)
        regions = [d.GeoRegion == v for v in d.GeoRegion.unique()]
        columns = [d.Male == 1, d.Young == 1, *(d.DistLimit == v for v in d.DistLimit.unique()), *regions]
        groups = np.column_stack([*columns, *(region & (d.Young == 1) for region in regions)])
        exposure = d.Expo.to_numpy()
        for target in ("ClaimAmount", "NbClaim"):
            y = d[target].to_numpy(float)
            for seed in range(4):
                train, fit, test = np.split(np.random.default_rng(seed).permutation(len(d)), [30_000, 110_000])
                base = np.maximum(exposure, 0.02) * y[train].sum() / exposure[train].sum()
                judge(f"norauto {target} {seed}", mv.Mean(), y, base, groups, fit, test, (0.0, float(np.quantile(base, 0.999))))
    path = shared.data("fpp2_elecdemand.csv")
    if path:
        d = pd.read_csv(path)
        y, n = d.Demand.to_numpy(float), len(d)
        hour, warmth, work = (np.arange(n) % 48) // 2, d.Temperature.to_numpy(float), d.WorkDay.to_numpy() == 1
        bands = [(warmth > a) & (warmth <= b) for a, b in ((-9, 8), (8, 12), (12, 16), (16, 20), (20, 25), (25, 60))]
        groups = np.column_stack([*(hour == h for h in range(24)), work, ~work, *bands])
        features = np.column_stack([np.ones(n), warmth, warmth**2])
        for seed in range(4):
            train, fit, test = np.split(np.random.default_rng(seed).permutation(n), [3_000, 10_000])
            base = features @ np.linalg.lstsq(features[train], y[train], rcond=None)[0]
            base = base + np.quantile(y[train] - base[train], 0.9)
            judge(f"elecdemand {seed}", mv.Quantile(0.9), y, base, groups, fit, test, (float(base.min()), float(base.max())))


if __name__ == "__main__":
    for part in sys.argv[1:] or ["settings", "patches", "real"]:
        {"settings": settings, "patches": patches, "real": real}[part]()
