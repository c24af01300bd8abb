"""The sharp learner's promise against streams that see its whole state and the number it publishes, and on every awkward stream we know.

    python benchmarks/online_attacks.py [runs] [rounds] [property ...]     (200 runs of 500 rounds take some minutes in all)

For each property: the largest R of a cell over what is promised for it, the largest error over `bound()`, both at every fiftieth round,
the largest W (never above 1.645) and the largest rise of W in one round that floors do not explain (rounding: 1e-12 at most).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from multivalid.online import OnlineMulticalibrator
from multivalid.online.sharp import bets
from multivalid.online.sharp.promise import cell_bounds
from tests.online.sharp.adversaries import ADVERSARIES, attack

PROPERTIES = ("mean", "quantile:0.1", "quantile:0.5", "quantile:0.9", "quantile:0.999", "expectile:0.8")
STEP = 50  # rounds between two looks at the promise


def used(learner: OnlineMulticalibrator) -> tuple[float, float, float]:
    """R over its bound in the worst cell, error over bound, and W."""
    engine = learner._engine
    above, below = cell_bounds(engine.tables, open_at_once=engine.setup.open_at_once, lost_rates=engine.lost_rates, extra=0.0)
    played = engine.tables.count > 0
    cells = np.maximum(engine.tables.sum[played] / above[played], -engine.tables.sum[played] / below[played])
    return float(cells.max()), learner.error() / learner.bound(), bets.total(engine.tables)


def attacked(spec: str, adversary: object, rounds: int, seed: int, labels: tuple[float, float]) -> np.ndarray:
    """The largest of (cell, error, W, rise) over one run."""
    learner, worst = OnlineMulticalibrator(spec, 3, labels=labels), np.zeros(4)
    for part in range(rounds // STEP):
        rise = attack(learner, adversary, STEP, seed=1000 * seed + part, groups=3)
        worst = np.maximum(worst, [*used(learner), rise])
    return worst


def show(name: str, worst: np.ndarray, seconds: float) -> None:
    cell, error, total, rise = worst
    verdict = "held" if cell <= 1 + 1e-9 and error <= 1 and total <= 1.645 and rise <= 1e-12 else "BROKEN"
    print(
        f"{name}: {verdict}; cell {cell:.3f}, error {error:.3f} of what is promised, W {total:.3f}, rise {rise:.0e} ({seconds:.0f} s)",
        flush=True,
    )


def attacks(runs: int, rounds: int, specs: Iterable[str]) -> None:
    for spec in specs:
        start, worst = time.process_time(), np.zeros(4)
        for run in range(runs):
            worst = np.maximum(worst, attacked(spec, ADVERSARIES[run % len(ADVERSARIES)], rounds, run, (-1.0, 3.0)))
        show(f"{spec}, {runs} runs of {rounds} rounds", worst, time.process_time() - start)


def replayed(name: str, spec: str, members: np.ndarray, y: np.ndarray) -> None:
    start = time.process_time()
    learner = OnlineMulticalibrator(spec, members.shape[1], labels=(0.0, 1.0))
    played = learner.replay(members, y)
    assert np.isfinite(played).all()
    show(f"{name}, {spec}", np.array([*used(learner), 0.0]), time.process_time() - start)


def awkward() -> None:
    rng = np.random.default_rng(3)
    for spec in PROPERTIES:
        start = time.process_time()
        worst = np.max([attacked(spec, adversary, 300, 7, (1e6, 1e6 + 1.0)) for adversary in ADVERSARIES], axis=0)
        show(f"labels in [1e6, 1e6 + 1], {spec}", worst, time.process_time() - start)
    half = rng.random((2_000_000, 1)) < 0.5
    atom = np.where(rng.random(200_000) < 0.6, 0.0, rng.random(200_000))
    replayed("six labels of ten at the lower end", "quantile:0.1", half[:200_000], atom)
    for spec in ("mean", "quantile:0.5", "quantile:0.9"):
        replayed("2,000,000 equal labels", spec, half, np.full(2_000_000, 0.37))
    replayed("1,000,000 rounds", "quantile:0.999", half[:1_000_000], rng.random(1_000_000))
    members = rng.random((20_000, 1000)) < 0.01
    members[:, :50] = False
    for group in range(50):
        members[rng.integers(0, 20_000, 3), group] = True
    for spec in ("mean", "quantile:0.9"):
        replayed("1,000 groups, 50 of them with three rows", spec, members, rng.beta(2, 5, 20_000))


if __name__ == "__main__":
    words = sys.argv[1:]
    attacks(int(words[0]) if words else 200, int(words[1]) if len(words) > 1 else 500, words[2:] or PROPERTIES)
    if not words[2:]:
        awkward()
