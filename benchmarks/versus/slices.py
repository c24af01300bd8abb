"""Who finds slices that were planted, and who speaks where nothing is off: `python slices.py METHOD`, one row of the table.

The data are those of benchmarks/found.py: 20,000 rows, ten columns, right probabilities but for three slices (or none).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from found import matched, planted

SEEDS = 20
TOP = 5  # slices that the methods without a test are asked for
Masks = list[np.ndarray]


def ours(frame: pd.DataFrame, base: np.ndarray, y: np.ndarray) -> Masks:
    """`mv.discover`."""
    import multivalid as mv

    found = mv.discover(y, base, data=frame)
    return list(mv.Groups(found.groups).fit(frame).masks(frame))[1:] if found.groups else []


def binned(frame: pd.DataFrame) -> pd.DataFrame:
    """Ten bins of equal size for numbers, text for everything."""
    cut = {name: pd.qcut(frame[name], 10, duplicates="drop") if frame[name].dtype.kind in "if" else frame[name] for name in frame}
    return pd.DataFrame({name: column.astype(str) for name, column in cut.items()})


def sliceline(frame: pd.DataFrame, base: np.ndarray, y: np.ndarray) -> Masks:
    """The package sliceline on squared errors: the top slices, no test."""
    from sliceline.slicefinder import Slicefinder

    texts = binned(frame)
    model = Slicefinder(alpha=0.95, k=TOP, max_l=2, min_sup=len(y) // 50, verbose=False).fit(texts, (y - base) ** 2)
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
