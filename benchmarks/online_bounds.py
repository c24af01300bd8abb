"""The promises of algorithms A and B on fixed, drifting and adaptive streams, many seeds; and how K₂ grows with T.

Run: python benchmarks/online_bounds.py [seeds] [rounds]      (20 seeds of 8,000 rounds take a few minutes)
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from multivalid.online import OnlineMulticalibrator
from tests.online.streams import KINDS, PROPERTIES, run


def main(seeds: int, rounds: int) -> None:
    failures = 0
    for algorithm in ("A", "B"):
        for spec, slope in PROPERTIES.items():
            for kind in KINDS:
                reached, promised = [], []
                for seed in range(seeds):
                    learner = OnlineMulticalibrator(spec, 7, m=20, algorithm=algorithm, lipschitz=slope, seed=seed)
                    for t, _ in enumerate(run(learner, kind, rounds, seed=1000 + seed)):
                        if t % 500 == 499:  # B promises all times together; A the expectation at each
                            failures += int(learner.error() > learner.bound())
                    reached.append(learner.error())
                    promised.append(learner.bound())
                print(
                    f"{algorithm} {spec:14} {kind:9} K2/T median {np.median(reached):.5f} worst {max(reached):.5f}  "
                    f"bound {np.median(promised):.4f}  held at the end {np.sum(np.less_equal(reached, promised))}/{seeds}",
                    flush=True,
                )
    print(f"violations at any checked time: {failures}")


def growth(seeds: int, share: float | None) -> None:
    """Algorithm B: worst K₂ / T^(1/3) over seeds with m = share·T^(1/3); share = L^(2/3) (what the bound asks for) when None."""
    for spec, slope in PROPERTIES.items():
        for kind in KINDS:
            ratios = []
            for total in (1000, 4000, 16000):
                k2 = []
                for seed in range(seeds):
                    steep = OnlineMulticalibrator(spec, 7, algorithm="B", lipschitz=slope).setup.lipschitz
                    m = round((steep ** (2 / 3) if share is None else share) * total ** (1 / 3))
                    learner = OnlineMulticalibrator(spec, 7, m=m, algorithm="B", lipschitz=slope, seed=seed)
                    for _ in run(learner, kind, total, seed=2000 + seed):
                        pass
                    k2.append(learner.error() * total)
                ratios.append(max(k2) / total ** (1 / 3))
            shown = " ".join(f"{r:.2f}" for r in ratios)
            print(
                f"{spec:14} {kind:9} m share {share or 'L^(2/3)'}: worst K2 / T^(1/3) at T = 1000, 4000, 16000: {shown}", flush=True
            )


if __name__ == "__main__":
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    growth(min(seeds, 5), None)
    growth(min(seeds, 5), 1.0)
    main(seeds, int(sys.argv[2]) if len(sys.argv) > 2 else 8000)
