"""The sharp learner on streams: score, largest debiased error, promise, beside what others reach without groups.

Run: python benchmarks/online_streams.py [folder with arch_sp500.csv and fpp2_elecdemand.csv]
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "benchmarks" / "versus"))
import workloads  # noqa: E402 - found through the line above
from online_rivals import RIVALS  # noqa: E402

import multivalid as mv  # noqa: E402


def columns(path: Path) -> dict[str, np.ndarray]:
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    return {name: np.array(column) for name, column in zip(rows[0], zip(*rows[1:], strict=True), strict=True)}


def electricity(folder: Path) -> dict[str, Any]:
    """Half-hourly demand: a day and a week before, plus a quantile of the misses over the first 1,500 rows; played from there on."""
    table = columns(folder / "fpp2_elecdemand.csv")
    demand, warm = table["Demand"].astype(float), table["Temperature"].astype(float)
    at = np.arange(336, demand.size)
    base = (demand[at - 48] + demand[at - 336]) / 2
    known = 1500 - 336  # of the first 1,500 rows those that have a week before them
    base = base + np.quantile((demand[at] - base)[:known], 0.9)
    at, base = at[known:], base[known:]
    parts = [(at % 48) // 4 == k for k in range(12)]
    bands = [(warm[at] >= a) & (warm[at] < b) for a, b in ((-50, 12), (12, 18), (18, 25), (25, 60))]
    groups = np.array([*parts, table["WorkDay"][at].astype(float) == 1, *bands]).T
    return {"y": demand[at], "base": base, "groups": groups, "tau": 0.9, "labels": (0.0, 12.0)}


def shares(folder: Path) -> dict[str, Any]:
    """Daily losses of an index in percent, value at risk by the volatility of the days before."""
    price = columns(folder / "arch_sp500.csv")["Adj Close"].astype(float)
    loss = -100 * np.diff(np.log(price))
    variance = np.ones(loss.size)
    for t in range(1, loss.size):
        variance[t] = 0.94 * variance[t - 1] + 0.06 * loss[t - 1] ** 2
    spread = np.sqrt(variance)
    groups = np.array([(spread >= a) & (spread < b) for a, b in ((0, 0.7), (0.7, 1.0), (1.0, 1.5), (1.5, 99))]).T
    return {"y": loss, "base": 1.645 * spread, "groups": groups, "tau": 0.95, "labels": (-15.0, 15.0)}


def already_right(rounds: int = 20_000, seed: int = 0) -> dict[str, Any]:
    """A base that is the truth."""
    rng = np.random.default_rng(seed)
    groups, scale = rng.random((rounds, 10)) < 0.3, rng.gamma(4.0, 0.05, rounds)
    y = np.clip(scale * rng.standard_normal(rounds) + 0.5, 0, 1)
    return {"y": y, "base": np.clip(0.5 + 1.2815515655 * scale, 0, 1), "groups": groups, "tau": 0.9, "labels": (0.0, 1.0)}


def from_versus(name: str) -> dict[str, Any]:
    made = workloads.WORKLOADS[name]()
    labels = (-60.0, 360.0) if "flights" in name else (0.0, 1.0)
    return {"y": made["check_y"], "base": made["check_base"], "groups": made["check_groups"], "tau": 0.9, "labels": labels}


def pinball(p: np.ndarray, y: np.ndarray, tau: float) -> float:
    return float(np.maximum(tau * (y - p), (tau - 1) * (y - p)).mean())


def report(name: str, d: dict[str, Any], rivals: bool = False) -> None:
    learner = mv.OnlineMulticalibrator(mv.Quantile(d["tau"]), d["groups"].shape[1], labels=d["labels"])
    played = learner.replay(d["groups"], d["y"], base=d["base"])
    found = mv.audit(d["y"], played, groups=list(d["groups"].T), property=mv.Quantile(d["tau"]))
    ours = pinball(played, d["y"], d["tau"])
    base = "" if d["base"] is None else f", base {pinball(d['base'], d['y'], d['tau']):.5g}"
    print(
        f"{name}: pinball {ours:.5g}{base}, score {found.score:.5g}, largest debiased error {found.table['debiased'].max():.2e}, "
        f"error by bucket {learner.error():.2e}, bound {learner.bound():.2e}"
    )
    if rivals:
        others = {rival: pinball(play(d["y"], d["base"], d["tau"]), d["y"], d["tau"]) for rival, play in RIVALS.items()}
        print(
            "   "
            + ", ".join(f"{rival} {value:.4g}" for rival, value in others.items())
            + f"; ours {ours / min(others.values()):.3f} × the best"
        )


def main(folder: Path | None) -> None:
    flights = from_versus("online flights")
    report("flights", flights)
    report("flights without a base", {**flights, "base": None})
    report("online", from_versus("online"))
    report("a base that is right", already_right())
    if folder is not None:
        report("electricity", electricity(folder), rivals=True)
        report("S&P 500", shares(folder), rivals=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
