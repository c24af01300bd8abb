"""Groups that nobody named: how many of the planted ones `discover` finds, and how often it speaks where nothing is off.

python benchmarks/found.py [seeds]
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pandas as pd

ROWS = 20_000


def columns(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Numbers, one of them with holes, and categories."""
    frame = pd.DataFrame({f"x{j}": rng.normal(size=rows) for j in range(5)})
    frame["age"] = rng.integers(18, 90, rows)
    for j, k in enumerate((2, 4, 8, 15)):
        frame[f"c{j}"] = rng.choice([f"v{i}" for i in range(k)], rows, p=rng.dirichlet(np.full(k, 3.0)))
    frame.loc[rng.random(rows) < 0.1, "x4"] = np.nan
    return frame


def planted(seed: int, shift: float) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, list[np.ndarray]]:
    """Right probabilities, but for three slices of two conditions whose log-odds are moved."""
    rng = np.random.default_rng(seed)
    frame = columns(rng, ROWS)
    slices: list[np.ndarray] = []
    while len(slices) < 3:
        value = rng.choice(frame["c2"].unique())
        mask = ((frame["c2"] == value) & (frame[f"x{rng.integers(4)}"] < rng.normal())).to_numpy()
        if 0.02 <= mask.mean() <= 0.12:
            slices.append(mask)
    z = 0.8 * frame["x0"].to_numpy() - 0.3
    moved = z + sum(rng.choice([-1, 1]) * shift * mask for mask in slices)
    return frame, 1 / (1 + np.exp(-z)), (rng.random(ROWS) < 1 / (1 + np.exp(-moved))).astype(float), slices


def matched(masks: list[np.ndarray], slices: list[np.ndarray]) -> tuple[int, int]:
    """How many slices some mask matches, and how many masks match none: alike is a Jaccard index of at least one half."""
    alike = np.array([[(m & s).sum() / max((m | s).sum(), 1) >= 0.5 for m in masks] for s in slices]).reshape(
        len(slices), len(masks)
    )
    return int(alike.any(axis=1).sum()), int((~alike.any(axis=0)).sum())


def main(seeds: int) -> None:
    """One line with slices, one without."""
    import multivalid as mv

    for shift in (0.8, 0.0):
        hits = false = found_any = 0
        total, spent = 0, time.process_time()
        for seed in range(seeds):
            frame, base, labels, slices = planted(seed, shift)
            found = mv.discover(labels, base, data=frame)
            masks = list(mv.Groups(found.groups).fit(frame).masks(frame))[1:] if found.groups else []
            found_here, others = matched(masks, slices)
            hits, total = hits + found_here, total + len(slices)
            false, found_any = false + others, found_any + bool(masks)
        spent = (time.process_time() - spent) / seeds
        print(
            f"shift {shift}: {hits} of {total} slices found, {false} others, something reported in {found_any} of {seeds}, "
            f"{spent:.2f} CPU s each"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
