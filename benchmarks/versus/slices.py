"""Who finds slices that were planted, and who speaks where nothing is off: `python slices.py METHOD`, one row of the table.

20,000 rows, ten columns, right probabilities but for three slices (or none). NumPy and pandas alone: each method has its own environment.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

ROWS = 20_000
SEEDS = 20
TOP = 5  # slices that the methods without a test are asked for
Masks = list[np.ndarray]


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


def ours(frame: pd.DataFrame, base: np.ndarray, y: np.ndarray) -> Masks:
    """`mv.discover`."""
    import multivalid as mv

    found = mv.discover(y, base, data=frame)
    return list(mv.Groups(found.groups).fit(frame).masks(frame))[1:] if found.groups else []


def binned(frame: pd.DataFrame) -> pd.DataFrame:
    """Ten bins of equal size for numbers, text for everything; what is missing is a bin of its own."""
    cut = {name: pd.qcut(frame[name], 10, duplicates="drop") if frame[name].dtype.kind in "if" else frame[name] for name in frame}
    return pd.DataFrame({name: column.astype(object).where(column.notna(), "missing").astype(str) for name, column in cut.items()})


def sliceline(frame: pd.DataFrame, base: np.ndarray, y: np.ndarray) -> Masks:
    """The package sliceline on squared errors: the top slices, no test."""
    from sliceline.slicefinder import Slicefinder

    texts = binned(frame)
    model = Slicefinder(alpha=0.99, k=TOP, max_l=2, min_sup=len(y) // 50, verbose=False).fit(texts, (y - base) ** 2)
    masks = []
    for wanted in model.top_slices_:
        fixed = [(name, value) for name, value in zip(texts.columns, wanted, strict=True) if value is not None]
        masks.append(np.logical_and.reduce([(texts[name] == value).to_numpy() for name, value in fixed]))
    return masks


def pysubgroup(frame: pd.DataFrame, base: np.ndarray, y: np.ndarray) -> Masks:
    """The package pysubgroup on the residual, both signs: the top subgroups, no test."""
    import pysubgroup as ps

    masks: Masks = []
    for sign in (1, -1):
        rows = frame.assign(residual=sign * (y - base))
        task = ps.SubgroupDiscoveryTask(
            rows, ps.NumericTarget("residual"), ps.create_selectors(rows, ignore=["residual"], nbins=10), result_set_size=TOP, depth=2,
            qf=ps.StandardQFNumeric(0.5),
        )  # fmt: skip
        found = ps.BeamSearch().execute(task)
        masks += [np.asarray(one.covers(rows)) for _, one, _ in found.results]
    return masks


METHODS: dict[str, Callable[[pd.DataFrame, np.ndarray, np.ndarray], Masks]] = {
    "ours": ours, "sliceline": sliceline, "pysubgroup": pysubgroup,
}  # fmt: skip


def main(name: str) -> str:
    """Slices found, other slices reported per run, runs on null data with any report, CPU seconds per run."""
    spent, hits, others, silly = 0.0, 0, 0, 0
    for shift in (0.8, 0.0):
        for seed in range(SEEDS):
            frame, base, y, slices = planted(seed, shift)
            start = time.process_time()
            masks = METHODS[name](frame, base, y)
            spent += time.process_time() - start
            if shift:
                right, wrong = matched(masks, slices)
                hits, others = hits + right, others + wrong
            else:
                silly += bool(masks)
    return f"{hits} of {3 * SEEDS} | {others / SEEDS:.1f} | {silly} of {SEEDS} | {spent / SEEDS / 2:.2f}"


if __name__ == "__main__":
    print(main(sys.argv[1]))
